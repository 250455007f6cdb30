// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/kernel_text.hpp"

#include "device/known_devices.hpp"

#include <gtest/gtest.h>

namespace quadrille::device {
namespace {

TEST(KernelText, IsReadAsItWasWritten) {
  KernelFacts const kernel{.name = "gemm_kernel<(Tile)1, A: grid <float> >",
                           .grid = {128, 64, 2},
                           .block = {32, 8, 1},
                           .registers = 40,
                           .shared_bytes = 8449,
                           .local_bytes = 16,
                           .resident_blocks = 3};
  std::string const text = to_text(kernel, known_device("H100 SXM")->facts);

  auto const read = kernel_from_text(text);

  ASSERT_TRUE(read) << text;
  EXPECT_EQ(read->name, kernel.name);
  EXPECT_EQ(read->grid, kernel.grid);
  EXPECT_EQ(read->block, kernel.block);
  EXPECT_EQ(read->registers, kernel.registers);
  EXPECT_EQ(read->shared_bytes, kernel.shared_bytes);
  EXPECT_EQ(read->resident_blocks, kernel.resident_blocks);
  EXPECT_TRUE(text.starts_with(launch_text(kernel.name, kernel.grid, kernel.block))) << text;
  EXPECT_TRUE(text.ends_with("(38 % of its threads), 41.37 waves, 16 B of local memory")) << text;
}

TEST(KernelText, OfOtherTextsIsNone) {
  EXPECT_FALSE(kernel_from_text(""));
  EXPECT_FALSE(kernel_from_text("gemm_naive_kernel: grid 128x128x1, block 32x32x1"));
  EXPECT_FALSE(kernel_from_text("gemm_naive_kernel"));
}

}  // namespace
}  // namespace quadrille::device
