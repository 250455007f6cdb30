// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm_data.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

/// Products of 8-bit floats.
namespace quadrille::kernels::gemm {
namespace {

using core::DataKind;
using core::DataType;
using test::DeviceArray;
using test::KernelMode;

Variant<Problem> const& variant() {
  return test::row(variants(), "wgmma_promoted", device::Kind::cuda);
}

/// Tiles of each width that are not full, several of a block, more stages than a ring has; types and layouts
/// take turns in the interpreter.
TEST(GemmPromoted, EqualsReference) {
  bool const is_gpu = test::kernel_mode() == KernelMode::gpu;
  std::vector<Case> cases{{1, 1, 1},
                          {130, 150, 40, -0.75, 0.5},
                          {9, 300, 264, 1, 1},
                          {20, 190, 900},
                          {140, 100, 130, 2, -1}};
  if (is_gpu) {
    for (Case const& more : {Case{1027, 2051, 333, 2, -1}, {300, 200, 20490}}) {
      cases.push_back(more);
    }
  }
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    std::size_t turn = 0;
    for (Case const& spec : cases) {
      for (Types const& types : variant().types) {
        for (Layout const layout : kLayouts) {
          // 4 types and 4 layouts.
          bool const is_turn = turn++ % 5 == 0;
          if (!is_gpu && !is_turn) continue;
          expect_product(variant(), types, spec, layout, device, stream, {},
                         turn % 2 == 0 ? kUnaligned : Shifts{});
        }
      }
    }
  });
}

TEST(GemmPromoted, TakesEmptyExtents) {
  Types const types{DataType::e4m3, core::Compute::f32, DataType::bf16};
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (Case const& spec : {Case{0, 8, 8}, {8, 0, 8}, {8, 16, 0, 1, -2}}) {
      expect_product(variant(), types, spec, Layout::nt, device, stream);
    }
  });
}

/// Each element by the factors of its own blocks, of which two differ by a half and more.
TEST(GemmPromoted, MultipliesByTheFactorsOfBlocks) {
  bool const is_gpu = test::kernel_mode() == KernelMode::gpu;
  std::int64_t const m = is_gpu ? 1030 : 130, n = is_gpu ? 2070 : 300, k = is_gpu ? 1400 : 300;
  std::int64_t const blocks = (k + kScaled - 1) / kScaled, columns = (n + kScaled - 1) / kScaled,
                     ld = (blocks + 3) / 4 * 4, a_ld = (m + 3) / 4 * 4;
  std::vector<core::e4m3> const a = stored<core::e4m3>(m, k, 1, false, 16 - k % 16),
                                b = stored<core::e4m3>(k, n, 2, true, 16 - k % 16);
  std::int64_t const row = k + 16 - k % 16;
  std::vector<float> a_scales, b_scales;
  for (std::int64_t e = 0; e < blocks * a_ld; ++e) {
    a_scales.push_back(std::ldexp(1.0F + static_cast<float>(e % 7) / 8, static_cast<int>(e % 5)));
  }
  for (std::int64_t e = 0; e < columns * ld; ++e) {
    b_scales.push_back(std::ldexp(1.0F + static_cast<float>(e % 3) / 8, static_cast<int>(e % 4)));
  }
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    DeviceArray<core::e4m3> const on_a{device, stream, a}, on_b{device, stream, b};
    DeviceArray<float> const of_a{device, stream, a_scales}, of_b{device, stream, b_scales},
        on_c{device, stream, m * n};
    Problem problem{.a = {on_a.data(), DataType::e4m3, m, k, row},
                    .b = {on_b.data(), DataType::e4m3, n, k, row},
                    .c = {on_c.data(), DataType::f32, m, n, n},
                    .transpose_b = true,
                    .a_scales = {of_a.data(), DataType::f32, blocks, m, a_ld},
                    .b_scales = {of_b.data(), DataType::f32, columns, blocks, ld}};
    variant().launch(problem, stream);
    stream.synchronize();

    std::vector<float> const c = on_c.download();
    ErrorBound const bound{{DataType::e4m3, core::Compute::f32, DataType::f32}, k};
    int wrong = 0;
    for (std::int64_t i = 0; i < m; i += is_gpu ? 37 : 3) {
      for (std::int64_t j = 0; j < n && wrong < 3; ++j) {
        double sum = 0, weight = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          auto const x = static_cast<double>(a[static_cast<std::size_t>(i * row + l)]) *
                         a_scales[static_cast<std::size_t>(l / kScaled * a_ld + i)];
          auto const y = static_cast<double>(b[static_cast<std::size_t>(j * row + l)]) *
                         b_scales[static_cast<std::size_t>(j / kScaled * ld + l / kScaled)];
          sum += x * y;
          weight += std::abs(x * y);
        }
        auto const got = static_cast<double>(c[static_cast<std::size_t>(i * n + j)]);
        if (std::abs(got - sum) <= bound(weight, sum, 0)) continue;
        ++wrong;
        ADD_FAILURE() << "C(" << i << ", " << j << ") is " << got << ", expected " << sum;
      }
    }
    EXPECT_TRUE(on_c.intact());
  });
}

}  // namespace
}  // namespace quadrille::kernels::gemm
