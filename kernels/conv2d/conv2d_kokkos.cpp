// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution with Kokkos.
///
///   y(n, k, p, q) = sum_{c, i, j} x(n, c, p u + i d - o, q u + j d - o) w(k, c, i, j)
///
/// Technique    one loop over strips of outputs that lie side by side in an output row. A tap is read
///              once for a strip; a strip's sums stay in registers. On a GPU a strip is one output, and
///              neighbouring threads have neighbouring outputs in memory
/// Shapes       nchw or nhwc, any extents; taps outside of the image are 0
/// Work         2 n k p q (c / groups) r s flop; without caches two elements of traffic for each term
/// Launch       the stream's execution space, as many iterations as there are strips
/// Accuracy     c r s eps w / 2 at worst, eps (sqrt(c r s) + 2) w for random data
#include "common/kokkos.hpp"
#include "conv2d/conv2d.hpp"

namespace quadrille::kernels::conv2d {
namespace {

template <class T, class Space>
struct Convolution {
  static constexpr int kStrip = kOnGpu<Space> ? 1 : 32;

  Unmanaged<T const*, typename Space::memory_space> x, w;
  Unmanaged<T*, typename Space::memory_space> y;
  Shape z;
  bool is_nchw;
  std::int64_t out_h, out_w, strips;

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    // Filters follow one another in memory in nhwc, strips of an output row in nchw.
    std::int64_t const inner = is_nchw ? strips : z.k;
    std::int64_t const fast = item % inner;
    std::int64_t rest = item / inner;
    std::int64_t strip = fast, k = fast;
    if (!is_nchw) {
      strip = rest % strips;
      rest /= strips;
    }
    std::int64_t const p = rest % out_h;
    rest /= out_h;
    if (is_nchw) {
      k = rest % z.k;
      rest /= z.k;
    }
    std::int64_t const n = rest;
    std::int64_t const q = strip * kStrip;
    int const count = up_to(kStrip, out_w - q);
    std::int64_t const channels = z.c / z.groups;
    std::int64_t const first_channel = k / (z.k / z.groups) * channels;
    std::int64_t const pitch = is_nchw ? 1 : z.c;
    std::int64_t const step = z.stride * pitch;
    std::int64_t const plane = is_nchw ? z.h * z.w : 1;

    float sum[kStrip] = {};
    for (std::int64_t i = 0; i < z.r; ++i) {
      std::int64_t const row = p * z.stride + i * z.dilation - z.padding;
      if (row < 0 || row >= z.h) continue;
      for (std::int64_t j = 0; j < z.s; ++j) {
        // The outputs of the strip whose tap lies in the image.
        std::int64_t const col = q * z.stride + j * z.dilation - z.padding;
        int const first = col >= 0 ? 0 : up_to(count, (-col + z.stride - 1) / z.stride);
        int const end = col >= z.w ? 0 : up_to(count, (z.w - col + z.stride - 1) / z.stride);
        std::int64_t const line =
            n * z.c * z.h * z.w + first_channel * plane + (row * z.w + col) * pitch;
        std::int64_t const tap =
            is_nchw ? (k * channels * z.r + i) * z.s + j : ((k * z.r + i) * z.s + j) * channels;
        std::int64_t const next_tap = is_nchw ? z.r * z.s : 1;
        for (std::int64_t c = 0; c < channels; ++c) {
          auto const factor = static_cast<float>(w(static_cast<std::size_t>(tap + c * next_tap)));
          std::int64_t const at = line + c * plane;
          for (int e = first; e < end; ++e) {
            sum[e] += factor * static_cast<float>(x(static_cast<std::size_t>(at + e * step)));
          }
        }
      }
    }
    std::int64_t const out =
        is_nchw ? ((n * z.k + k) * out_h + p) * out_w + q : ((n * out_h + p) * out_w + q) * z.k + k;
    for (int e = 0; e < count; ++e) {
      y(static_cast<std::size_t>(out + e * (is_nchw ? 1 : z.k))) = static_cast<T>(sum[e]);
    }
  }
};

template <class T, class Space>
void convolve(Space const& space, Problem const& p) {
  using Functor = Convolution<T, Space>;
  Shape const& z = p.shape;
  if (z.n == 0 || z.k == 0) return;
  auto const size = [](device::MatrixView const& view) {
    return static_cast<std::size_t>(view.rows * view.cols);
  };
  std::int64_t const strips = (z.out_w() + Functor::kStrip - 1) / Functor::kStrip;
  Kokkos::parallel_for("quadrille::conv2d",
                       RangeOf<Space>{space, 0, z.n * z.k * z.out_h() * strips},
                       Functor{{static_cast<T const*>(p.x.data), size(p.x)},
                               {static_cast<T const*>(p.w.data), size(p.w)},
                               {static_cast<T*>(p.y.data), size(p.y)},
                               z,
                               p.layout == DataLayout::nchw,
                               z.out_h(),
                               z.out_w(),
                               strips});
}

void launch(Problem const& problem, device::StreamView stream) {
  device::run_kokkos(stream, [problem](auto const& space) {
    switch (problem.x.type) {
      case core::DataType::f32: return convolve<float>(space, problem);
      case core::DataType::f16: return convolve<core::f16>(space, problem);
      default: return convolve<core::bf16>(space, problem);
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const kokkos{
    {.name = "kokkos",
     .where = Where::kokkos,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .preference = 10,
     .source = "own",
     .summary = "one source for host and GPU: strips of outputs side by side"},
    launch};

}  // namespace quadrille::kernels::conv2d
