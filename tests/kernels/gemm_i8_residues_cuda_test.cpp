// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "gemm/gemm_moduli.hpp"
#include "kernels/gemm_data.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

/// Products of f64 and f32 by residues of eight bits. gemm_test has their arithmetic.
namespace quadrille::kernels::gemm {
namespace {

using core::Compute;
using core::DataType;
using test::DeviceArray;
using test::KernelMode;

constexpr Types kF64{DataType::f64, Compute::emulated}, kF32{DataType::f32, Compute::emulated};

Variant<Problem> const& variant() {
  return test::row(variants(), "i8_residues", device::Kind::cuda);
}

/// Tiles, lines and pieces that are not full, and several of each; each layout.
TEST(GemmI8Residues, EqualsReferenceInEveryLayout) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    if (test::kernel_mode() == KernelMode::gpu) {
      for (Types const& types : variant().types) {
        for (Layout const layout : kLayouts) {
          for (Case const& spec : {Case{1, 1, 1},
                                   {300, 517, 130, -0.75, 0.5},
                                   {1000, 904, 1104},
                                   {2051, 33, 4097, 2, 1},
                                   {8, 8, kMaxEmulatedK}}) {
            expect_product(variant(), types, spec, layout, device, stream, {}, kUnaligned);
          }
        }
      }
      return;
    }
    expect_product(variant(), kF32, {130, 37, 150, -0.75, 0.5}, Layout::nn, device, stream, {},
                   kUnaligned);
    expect_product(variant(), kF32, {9, 262, 16}, Layout::tt, device, stream);
    expect_product(variant(), kF64, {33, 30, 19, 2, -1}, Layout::tn, device, stream, {},
                   kUnaligned);
  });
}

TEST(GemmI8Residues, TakesEmptyExtents) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    for (Case const& spec : {Case{0, 8, 8}, {8, 0, 8}, {8, 16, 0}, {8, 16, 0, 1, -2}}) {
      expect_product(variant(), kF64, spec, Layout::nn, device, stream);
    }
  });
}

/// C of 8 x 8 x k by so many moduli.
std::vector<double> product(std::vector<double> const& a, std::vector<double> const& b,
                            std::int64_t k, int moduli, device::Device& device,
                            device::StreamView stream) {
  DeviceArray<double> const on_a{device, stream, a}, on_b{device, stream, b},
      on_c{device, stream, 64};
  Problem problem{.a = {on_a.data(), DataType::f64, 8, k, k},
                  .b = {on_b.data(), DataType::f64, k, 8, 8},
                  .c = {on_c.data(), DataType::f64, 8, 8, 8},
                  .compute = Compute::emulated,
                  .moduli = moduli};
  Scratch const scratch{variant(), problem, device, stream};
  variant().launch(problem, stream);
  stream.synchronize();
  EXPECT_TRUE(scratch.is_right() && on_c.intact());
  return on_c.download();
}

/// Rows and columns from the largest numbers to subnormal ones, with infinities and NaN.
TEST(GemmI8Residues, TakesRowsAndColumnsOfAnyScale) {
  constexpr std::int64_t kDepth = 40;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr int kScales[] = {0, 1000, -1000, -1060, 500, -501, 0, 0};
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    std::vector<double> a = stored<double>(8, kDepth, 1, false, 0),
                        b = stored<double>(kDepth, 8, 2, false, 0);
    for (std::size_t i = 0; i < 8; ++i) {
      for (std::size_t l = 0; l < kDepth; ++l) {
        a[i * kDepth + l] = i == 6 ? 0 : std::ldexp(a[i * kDepth + l], kScales[i]);
        b[l * 8 + i] = std::ldexp(b[l * 8 + i], -kScales[i] / 2);
      }
    }
    a[7 * kDepth + 3] = kInfinity;
    b[3 * 8 + 7] = std::nan("");

    std::vector<double> const c = product(a, b, kDepth, 0, device, stream);

    ErrorBound const bound{DataType::f64, Compute::emulated, kDepth};
    for (std::size_t i = 0; i < 8; ++i) {
      for (std::size_t j = 0; j < 8; ++j) {
        if (i == 7 || j == 7) {
          EXPECT_TRUE(std::isnan(c[i * 8 + j])) << i << ", " << j;
          continue;
        }
        long double sum = 0, a_squares = 0, b_squares = 0;
        for (std::size_t l = 0; l < kDepth; ++l) {
          long double const x = a[i * kDepth + l], y = b[l * 8 + j];
          sum += x * y;
          a_squares += x * x;
          b_squares += y * y;
        }
        auto const want = static_cast<double>(sum);
        if (std::isinf(want)) {
          EXPECT_EQ(c[i * 8 + j], want) << i << ", " << j;
          continue;
        }
        auto const norms = static_cast<double>(std::sqrt(a_squares) * std::sqrt(b_squares));
        EXPECT_LE(std::abs(static_cast<double>(c[i * 8 + j] - sum)), bound(norms, want, 0))
            << i << ", " << j;
      }
    }
  });
}

/// Whole numbers exactly, by as many moduli as hold them; with one less not.
TEST(GemmI8Residues, IsExactForWholeNumbersThatItsModuliHold) {
  constexpr std::int64_t kDepth = 200;
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    std::vector<double> a, b;
    for (std::int64_t e = 0; e < 8 * kDepth; ++e) {
      a.push_back(static_cast<double>(e % 2001 - 1000));
      b.push_back(static_cast<double>(e % 1999 - 1000));
    }
    auto const wrong = [&](int moduli) {
      std::vector<double> const c = product(a, b, kDepth, moduli, device, stream);
      int count = 0;
      for (std::size_t i = 0; i < 8; ++i) {
        for (std::size_t j = 0; j < 8; ++j) {
          double sum = 0;
          for (std::size_t l = 0; l < kDepth; ++l) sum += a[i * kDepth + l] * b[l * 8 + j];
          count += c[i * 8 + j] == sum ? 0 : 1;
        }
      }
      return count;
    };
    // Norms below 2^14.
    EXPECT_EQ(wrong(4), 0);
    EXPECT_GT(wrong(3), 32);
  });
}

TEST(GemmI8Residues, RefusesWhatItCannotHold) {
  device::MatrixView const a{nullptr, DataType::f32, 8, kMaxEmulatedK + 1, kMaxEmulatedK + 1},
      b{nullptr, DataType::f32, kMaxEmulatedK + 1, 8, 8}, c{nullptr, DataType::f32, 8, 8, 8};
  EXPECT_EQ(variant().unsupported_reason({.a = a, .b = b, .c = c, .compute = Compute::emulated}),
            "takes k up to 65536, not 65537");
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    DeviceArray<float> const x{device, stream, 64};
    device::MatrixView const view{x.data(), DataType::f32, 8, 8, 8};
    EXPECT_FAILS(
        variant().launch({.a = view, .b = view, .c = view, .compute = Compute::emulated}, stream),
        "bytes of scratch memory for residues");
  });
}

}  // namespace
}  // namespace quadrille::kernels::gemm
