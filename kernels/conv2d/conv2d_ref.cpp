// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution as in the textbook: what every other variant is compared with.
///
///   y(n, k, p, q) = sum_{c, i, j} x(n, c, p u + i d - o, q u + j d - o) w(k, c, i, j)
///
/// Technique    seven loops in the order of the formula, with stride u, dilation d and padding o; not
///              meant to be fast
/// Shapes       nchw or nhwc, any extents; taps outside of the image are 0
/// Work         2 n k p q (c / groups) r s flop, one thread
/// Launch       serial, on the stream's own thread
/// Accuracy     one rounding of the f64 sum
#include "conv2d/conv2d.hpp"
#include "device/device.hpp"

namespace quadrille::kernels::conv2d {
namespace {

/// Where an element of a tensor with these extents lies: image or filter n, channel c, row h, column w.
struct Place {
  DataLayout layout;
  std::int64_t channels, rows, cols;
  std::int64_t operator()(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    return layout == DataLayout::nchw ? ((n * channels + c) * rows + h) * cols + w
                                      : ((n * rows + h) * cols + w) * channels + c;
  }
};

template <class T>
void convolve(Problem const& problem) {
  Shape const& z = problem.shape;
  auto const* x = problem.x.as<T>();
  auto const* w = problem.w.as<T>();
  auto* y = problem.y.as<T>();
  Place const in_x{problem.layout, z.c, z.h, z.w};
  Place const in_w{problem.layout, z.group_channels(), z.r, z.s};
  Place const in_y{problem.layout, z.k, z.out_h(), z.out_w()};
  for (std::int64_t n = 0; n < z.n; ++n) {
    for (std::int64_t k = 0; k < z.k; ++k) {
      std::int64_t const first_channel = k / z.group_filters() * z.group_channels();
      for (std::int64_t p = 0; p < z.out_h(); ++p) {
        for (std::int64_t q = 0; q < z.out_w(); ++q) {
          double sum = 0;
          for (std::int64_t c = 0; c < z.group_channels(); ++c) {
            for (std::int64_t i = 0; i < z.r; ++i) {
              for (std::int64_t j = 0; j < z.s; ++j) {
                std::int64_t const row = p * z.stride + i * z.dilation - z.padding;
                std::int64_t const col = q * z.stride + j * z.dilation - z.padding;
                if (row < 0 || row >= z.h || col < 0 || col >= z.w) continue;
                sum += static_cast<double>(x[in_x(n, first_channel + c, row, col)]) *
                       static_cast<double>(w[in_w(k, c, i, j)]);
              }
            }
          }
          y[in_y(n, k, p, q)] = static_cast<T>(sum);
        }
      }
    }
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([problem] {
    switch (problem.x.type) {
      case core::DataType::f32: return convolve<float>(problem);
      case core::DataType::f16: return convolve<core::f16>(problem);
      default: return convolve<core::bf16>(problem);
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const reference{
    {.name = "reference",
     .role = Role::reference,
     .where = Where::host,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .source = "own",
     .summary = "seven loops, one thread, sums in f64"},
    launch};

}  // namespace quadrille::kernels::conv2d
