// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution with one thread per output.
///
///   y(n, k, p, q) = sum_{c, i, j} x(n, c, p u + i d - o, q u + j d - o) w(k, c, i, j)
///
/// Technique    none: every thread walks the taps of its window, and at each the channels. A block has
///              16 positions and 16 filters, so that each pixel it reads serves 16 threads by way of
///              the first-level cache. Taps outside of the image are skipped
/// Shapes       nchw or nhwc, any extents
/// Work         2 n k p q (c / groups) r s flop; without caches two elements of traffic for each term
/// Launch       16 x 16 threads, no shared memory; an image for each z of the grid
/// Accuracy     c r s eps w / 2 at worst, eps (sqrt(c r s) + 2) w for random data
#include "conv2d/conv2d_cuda.cuh"

namespace quadrille::kernels::conv2d {
namespace {

constexpr int kBlock = 16;  // positions, and filters

#ifdef QUAD_KERNELS

template <class T, bool kNchw>
__global__ void __launch_bounds__(kBlock* kBlock) conv2d_naive_kernel(Operands<T> p) {
  // Neighbouring threads have neighbouring outputs in memory.
  unsigned const position_in_block = kNchw ? threadIdx.x : threadIdx.y;
  unsigned const filter_in_block = kNchw ? threadIdx.y : threadIdx.x;
  int const at = static_cast<int>(blockIdx.x * kBlock + position_in_block);
  int const k = static_cast<int>(blockIdx.y * kBlock + filter_in_block);
  int const of_image = p.out_h * p.out_w;
  if (at >= of_image || k >= p.k) return;
  Window const window = window_of(p, static_cast<int>(blockIdx.z) * of_image + at);
  T const* const x = p.x + window.image + k / p.filters * p.channels * p.plane;
  T const* const w = p.w + k * p.terms;
  int const taps = p.r * p.s;
  float sum = 0;
  for (int i = 0; i < p.r; ++i) {
    for (int j = 0; j < p.s; ++j) {
      int const row = window.row + i * p.dilation;
      int const col = window.col + j * p.dilation;
      if (!is_inside(p, row, col)) continue;
      T const* const pixel = x + (row * p.width + col) * p.pitch;
      int const tap = i * p.s + j;
      for (int c = 0; c < p.channels; ++c) {
        sum +=
            to_f32(pixel[c * p.plane]) * to_f32(w[kNchw ? c * taps + tap : tap * p.channels + c]);
      }
    }
  }
  p.y[window.out + k * p.out_plane] = from_f32<T>(sum);
}

void launch(Problem const& problem, device::StreamView stream) {
  with_type(problem, [&]<class T>() {
    auto const p = operands<T>(problem);
    dim3 const grid(static_cast<unsigned>(divide_up(p.out_h * p.out_w, kBlock)),
                    static_cast<unsigned>(divide_up(p.k, kBlock)), static_cast<unsigned>(p.n));
    dim3 const block(kBlock, kBlock);
    if (problem.layout == DataLayout::nchw) {
      QUAD_LAUNCH((conv2d_naive_kernel<T, true>), grid, block, 0, stream, p);
    } else {
      QUAD_LAUNCH((conv2d_naive_kernel<T, false>), grid, block, 0, stream, p);
    }
  });
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& p) {
  bool const fits = p.shape.n <= kMaxGridRows && p.shape.k <= kMaxGridRows * kBlock;
  return fits ? few_elements(p) : "takes up to 65535 images and 1048560 filters";
}

}  // namespace

extern constinit Variant<Problem> const naive{
    {.name = "naive",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .needs = {.other = "tensors of less than 2^31 elements, n below 2^16, k below 2^20"},
     .preference = 1,
     .source = "after CUDATutorial, chapter 12",
     .summary = "one output per thread"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported}};

}  // namespace quadrille::kernels::conv2d
