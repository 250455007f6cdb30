// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conv2d/conv2d.hpp"
#include "support/kernel_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// Convolutions with known results.
namespace quadrille::kernels::conv2d {

inline constexpr DataLayout kLayouts[] = {DataLayout::nchw, DataLayout::nhwc};

/// Strides 1 to 3, padding 0 to 3, dilation 1 and 2, groups, 1 x 1, filters larger than the image, line
/// and column filters, extents around tiles, and nothing at all.
inline std::vector<Shape> const kShapes{
    {.n = 2, .c = 3, .h = 9, .w = 11, .k = 5, .r = 3, .s = 3},
    {.n = 1, .c = 3, .h = 17, .w = 70, .k = 33, .r = 3, .s = 3, .stride = 2},
    {.n = 2, .c = 4, .h = 13, .w = 12, .k = 8, .r = 3, .s = 3, .stride = 3, .padding = 1},
    {.n = 1, .c = 1, .h = 8, .w = 7, .k = 16, .r = 5, .s = 4, .padding = 2},
    {.n = 1, .c = 2, .h = 21, .w = 23, .k = 7, .r = 7, .s = 7, .stride = 2, .padding = 3},
    {.n = 2, .c = 6, .h = 9, .w = 10, .k = 4, .r = 3, .s = 2, .padding = 2, .dilation = 2},
    {.n = 1, .c = 8, .h = 12, .w = 9, .k = 12, .r = 3, .s = 3, .padding = 1, .groups = 4},
    {.n = 2,
     .c = 6,
     .h = 7,
     .w = 7,
     .k = 6,
     .r = 3,
     .s = 3,
     .stride = 2,
     .padding = 1,
     .groups = 6},
    {.n = 3, .c = 17, .h = 5, .w = 6, .k = 9, .r = 1, .s = 1},
    {.n = 1, .c = 5, .h = 9, .w = 9, .k = 3, .r = 1, .s = 1, .stride = 2, .padding = 1},
    {.n = 1, .c = 3, .h = 3, .w = 2, .k = 4, .r = 5, .s = 6, .padding = 3},
    {.n = 1, .c = 3, .h = 4, .w = 4, .k = 4, .r = 3, .s = 3, .padding = 3, .dilation = 2},
    {.n = 1, .c = 2, .h = 1, .w = 40, .k = 3, .r = 1, .s = 9, .dilation = 2},
    {.n = 1, .c = 16, .h = 11, .w = 13, .k = 136, .r = 3, .s = 3, .padding = 1},
    {.n = 1, .c = 32, .h = 14, .w = 11, .k = 40, .r = 2, .s = 2, .stride = 2},
    {.n = 2,
     .c = 40,
     .h = 6,
     .w = 7,
     .k = 24,
     .r = 3,
     .s = 3,
     .stride = 1,
     .padding = 1,
     .groups = 2},
    // Whole vectors of channels.
    {.n = 3, .c = 8, .h = 8, .w = 11, .k = 5, .r = 3, .s = 3},
    {.n = 1, .c = 72, .h = 9, .w = 8, .k = 24, .r = 2, .s = 3, .stride = 2, .padding = 1},
    {.n = 2, .c = 16, .h = 13, .w = 10, .k = 16, .r = 3, .s = 2, .stride = 3, .padding = 2},
    {.n = 1, .c = 8, .h = 7, .w = 9, .k = 8, .r = 3, .s = 3, .padding = 3, .dilation = 2},
    {.n = 2, .c = 8, .h = 3, .w = 2, .k = 8, .r = 4, .s = 3, .padding = 2},
    {.n = 2, .c = 32, .h = 6, .w = 5, .k = 48, .r = 1, .s = 2, .padding = 1, .groups = 2},
    {.n = 0, .c = 3, .h = 5, .w = 5, .k = 4, .r = 3, .s = 3},
    {.n = 2, .c = 3, .h = 5, .w = 5, .k = 0, .r = 3, .s = 3},
    {.n = 2, .c = 0, .h = 5, .w = 5, .k = 4, .r = 3, .s = 3},
};

inline std::string text_of(Shape const& z) {
  std::string text;
  for (std::int64_t const x :
       {z.n, z.c, z.h, z.w, z.k, z.r, z.s, z.stride, z.padding, z.dilation, z.groups}) {
    text += " " + std::to_string(x);
  }
  return text;
}

template <class T>
std::vector<T> random(device::MatrixView const& view, std::uint64_t tag) {
  std::vector<T> values(static_cast<std::size_t>(view.rows * view.cols));
  for (std::size_t e = 0; e < values.size(); ++e) {
    values[e] = core::generate<T>(core::DataKind::uniform, 1, tag, 0, static_cast<std::int64_t>(e));
  }
  return values;
}

/// One output, and the sum of the magnitudes of its terms.
struct Sum {
  double value = 0, weight = 0;
};

/// All outputs as they lie in memory. Every pixel is added to the outputs that see it: not the way of
/// any kernel.
template <class T>
std::vector<Sum> sums_of(Problem const& problem, std::vector<T> const& x, std::vector<T> const& w) {
  Shape const& z = problem.shape;
  bool const nchw = problem.layout == DataLayout::nchw;
  auto const at = [&](std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t v,
                      std::int64_t channels, std::int64_t rows, std::int64_t cols) {
    return static_cast<std::size_t>(nchw ? ((n * channels + c) * rows + h) * cols + v
                                         : ((n * rows + h) * cols + v) * channels + c);
  };
  std::vector<Sum> sums(static_cast<std::size_t>(problem.y.rows * problem.y.cols));
  std::int64_t const channels = z.c / z.groups, filters = z.k / z.groups;
  for (std::int64_t n = 0; n < z.n; ++n) {
    for (std::int64_t c = 0; c < z.c; ++c) {
      for (std::int64_t h = 0; h < z.h; ++h) {
        for (std::int64_t v = 0; v < z.w; ++v) {
          auto const pixel = static_cast<double>(x[at(n, c, h, v, z.c, z.h, z.w)]);
          for (std::int64_t i = 0; i < z.r; ++i) {
            for (std::int64_t j = 0; j < z.s; ++j) {
              std::int64_t const down = h + z.padding - i * z.dilation;
              std::int64_t const across = v + z.padding - j * z.dilation;
              if (down < 0 || across < 0 || down % z.stride != 0 || across % z.stride != 0)
                continue;
              std::int64_t const p = down / z.stride, q = across / z.stride;
              if (p >= z.out_h() || q >= z.out_w()) continue;
              std::int64_t const group = c / channels;
              for (std::int64_t k = group * filters; k < (group + 1) * filters; ++k) {
                double const term =
                    pixel * static_cast<double>(w[at(k, c % channels, i, j, channels, z.r, z.s)]);
                Sum& sum = sums[at(n, k, p, q, z.k, z.out_h(), z.out_w())];
                sum.value += term;
                sum.weight += std::abs(term);
              }
            }
          }
        }
      }
    }
  }
  return sums;
}

template <class T>
void expect_sums(Problem const& problem, std::vector<Sum> const& sums, std::vector<T> const& y) {
  gemm::ErrorBound const bound = error_bound(problem);
  ASSERT_EQ(sums.size(), y.size());
  int wrong = 0;
  for (std::size_t e = 0; e < y.size() && wrong < 3; ++e) {
    auto const got = static_cast<double>(y[e]);
    double const allowed = bound(sums[e].weight, sums[e].value, 0);
    if (!(std::abs(got - sums[e].value) <= allowed)) {
      ++wrong;
      ADD_FAILURE() << "output " << e << " is " << got << ", expected " << sums[e].value
                    << ", allowed " << allowed;
    }
  }
}

/// A problem with its tensors on the host, and what is right.
template <class T>
struct Known {
  Problem problem;
  std::vector<T> x, w;
  std::vector<Sum> sums;
};

/// Computed once for all variants and schedules.
template <class T>
Known<T> const& known(Shape const& shape, DataLayout layout) {
  static std::map<std::string, Known<T>> all;
  auto const [found, is_new] = all.try_emplace(std::string{core::to_text(layout)} + text_of(shape));
  Known<T>& one = found->second;
  if (is_new) {
    one.problem = unallocated(shape, layout, core::type_of<T>());
    one.x = random<T>(one.problem.x, 1);
    one.w = random<T>(one.problem.w, 2);
    one.sums = sums_of(one.problem, one.x, one.w);
  }
  return one;
}

/// Elements that tensors lie behind an aligned address.
struct Offsets {
  std::int64_t x = 0, w = 0, y = 0;
};

/// False where the variant does not take the problem.
template <class T>
bool expect_right(device::Device& device, device::StreamView stream,
                  Variant<Problem> const& variant, Shape const& shape, DataLayout layout,
                  core::Compute compute, Offsets const& offsets = {}) {
  SCOPED_TRACE(testing::Message() << variant.name << " " << core::to_text(core::type_of<T>()) << ":"
                                  << core::to_text(compute) << " " << core::to_text(layout)
                                  << text_of(shape) << " offsets " << offsets.x << offsets.w
                                  << offsets.y);
  Known<T> const& one = known<T>(shape, layout);
  Problem problem = one.problem;
  problem.compute = compute;
  test::DeviceArray<T> const x{device, stream, one.x, offsets.x},
      w{device, stream, one.w, offsets.w};
  test::DeviceArray<T> const y{device, stream, static_cast<std::int64_t>(one.sums.size()),
                               offsets.y};
  problem.x.data = x.data();
  problem.w.data = w.data();
  problem.y.data = y.data();
  if (!variant.unsupported_reason(problem).empty()) return false;
  std::size_t const bytes = variant.scratch_bytes(problem, device.facts());
  test::DeviceArray<std::uint32_t> const scratch{device, stream,
                                                 static_cast<std::int64_t>(bytes / 4)};
  constexpr std::size_t kCounterBytes = gemm::kScratchCounters * sizeof(std::uint32_t);
  stream.fill(scratch.data(), 0, std::min(bytes, kCounterBytes));
  problem.scratch = scratch.data();
  problem.scratch_bytes = bytes;

  variant.launch(problem, stream);
  stream.synchronize();

  expect_sums<T>(problem, one.sums, y.download());
  EXPECT_TRUE(y.intact() && scratch.intact());
  return true;
}

}  // namespace quadrille::kernels::conv2d
