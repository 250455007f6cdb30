// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm_weights.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <vector>

/// Products of weights in 8 or 4 bits on GPUs.
namespace quadrille::kernels::gemm {
namespace {

using test::KernelMode;

/// Each number of tiles of rows, parts of tiles, groups that are not full, more groups than warps.
TEST(GemmDequantised, EqualsTheFormula) {
  bool const is_gpu = test::kernel_mode() == KernelMode::gpu;
  Variant<Problem> const& row = test::row(variants(), "dequantised", device::Kind::cuda);
  std::vector<Case> cases{{1, 8, 32},       {8, 40, 160, 0.5, -2},   {13, 24, 2304, 1, 1},
                          {27, 40, 96},     {40, 72, 288, -1, 0.25}, {0, 8, 32},
                          {3, 8, 0, 1, 0.5}};
  if (is_gpu) {
    for (Case const& more : {Case{1, 4096, 4096}, {16, 1000, 5120}, {70, 520, 1056, 2, -1}}) {
      cases.push_back(more);
    }
  }
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (Case const& spec : cases) {
      for (Weights const weights : {Weights::i8, Weights::i4}) {
        expect_weights<core::f16, core::f16>(row, weights, spec, device, stream);
        expect_weights<core::f16, float>(row, weights, spec, device, stream);
      }
    }
  });
}

}  // namespace
}  // namespace quadrille::kernels::gemm
