// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm_groups.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <vector>

/// Products of groups of rows by wgmma.
namespace quadrille::kernels::gemm {
namespace {

using test::KernelMode;

Variant<Problem> const& variant() {
  return test::row(variants(), "wgmma_grouped", device::Kind::cuda);
}

/// Groups of several tiles, of parts of one, without rows, the first and the last among them; a block that
/// has a whole tile and then a part of one; C that
/// tensor copies store and C that they do not.
TEST(GemmGrouped, EqualsTheFormula) {
  bool const is_gpu = test::kernel_mode() == KernelMode::gpu;
  std::vector<std::int64_t> const uneven{0, 130, 1, 64, 0, 7, 128, 0};
  std::vector<std::int64_t> many;
  for (std::int64_t g = 0; g < 90; ++g) many.push_back(g * 37 % 300);
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    auto const& row = variant();
    // Rows of A and B are whole pieces of 16 bytes; k is not.
    expect_groups<core::f16>(row, uneven, {0, 136, 77, 2, -1}, Layout::nt, device, stream, {3, 8});
    expect_groups<core::bf16, float>(row, uneven, {0, 201, 20}, Layout::nt, device, stream, {4, 3});
    expect_groups<core::e4m3, core::bf16>(row, uneven, {0, 72, 300, 1, 0.5}, Layout::nt, device,
                                          stream, {4, 8});
    expect_groups<core::bf16>(row, uneven, {0, 16, 0, 1, -2}, Layout::nt, device, stream, {8, 0});
    if (!is_gpu) return;
    expect_groups<core::e5m2, float>(row, many, {0, 200, 500}, Layout::nt, device, stream, {12, 4});
    expect_groups<core::f16, float>(row, many, {0, 520, 300}, Layout::nt, device, stream, {4, 4});
    expect_groups<core::bf16>(row, many, {0, 1000, 256}, Layout::nt, device, stream, {0, 0});
  });
}

TEST(GemmGrouped, LeavesOneProductToOthers) {
  Problem problem;
  problem.a = problem.b = problem.c = {nullptr, core::DataType::bf16, 64, 64, 64};
  problem.transpose_b = true;
  EXPECT_EQ(variant().unsupported_reason(problem), "takes groups alone");
}

}  // namespace
}  // namespace quadrille::kernels::gemm
