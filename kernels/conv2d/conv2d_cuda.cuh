// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/small_float.cuh"
#include "conv2d/conv2d.hpp"
#include "conv2d/conv2d_division.hpp"

/// What the CUDA kernels of conv2d share: a problem as they see it, and its indices.
namespace quadrille::kernels::conv2d {

inline constexpr std::int64_t kMaxGridRows = 65535;
/// A row so far above an image that no tap reaches it: few_elements() bounds extents.
inline constexpr int kOutside = -(1 << 30);

#ifdef QUAD_KERNELS

/// One convolution as kernels see it. Elements of a tensor are counted in 32 bits: few_elements().
template <class T>
struct Operands {
  T const* x;
  T const* w;
  T* y;
  int n, c, h, width, k, r, s;
  int stride, padding, dilation;
  int channels, filters;  ///< of a group
  int out_h, out_w;
  int terms;      ///< of a sum: channels r s
  int positions;  ///< of all images: n out_h out_w
  /// From a pixel to the next, from a channel to the next.
  int pitch, plane;
  Divisor by_image, by_out_w;          ///< of a position: outputs of an image, then of a line
  Divisor by_channels, by_taps, by_s;  ///< of a term, in the order of a filter in memory

  /// Where an output lies: from position to position out_pitch, from filter to filter out_plane.
  int out_pitch, out_plane;
};

template <class T>
Operands<T> operands(Problem const& problem) {
  Shape const& z = problem.shape;
  bool const is_nchw = problem.layout == DataLayout::nchw;
  auto const narrow = [](std::int64_t value) { return static_cast<int>(value); };
  auto const divisor = [](std::int64_t value) {
    return Divisor{value > 0 ? static_cast<int>(value) : 1};
  };
  return {static_cast<T const*>(problem.x.data),
          static_cast<T const*>(problem.w.data),
          static_cast<T*>(problem.y.data),
          narrow(z.n),
          narrow(z.c),
          narrow(z.h),
          narrow(z.w),
          narrow(z.k),
          narrow(z.r),
          narrow(z.s),
          narrow(z.stride),
          narrow(z.padding),
          narrow(z.dilation),
          narrow(z.group_channels()),
          narrow(z.group_filters()),
          narrow(z.out_h()),
          narrow(z.out_w()),
          narrow(z.terms()),
          narrow(z.n * z.positions()),
          is_nchw ? 1 : narrow(z.c),
          is_nchw ? narrow(z.h * z.w) : 1,
          divisor(z.positions()),
          divisor(z.out_w()),
          divisor(z.group_channels()),
          divisor(z.r * z.s),
          divisor(z.s),
          is_nchw ? 1 : narrow(z.k),
          is_nchw ? narrow(z.positions()) : 1};
}

/// The top left pixel that an output sees, which may lie outside of the image, and where its image
/// begins in x and in y.
struct Window {
  int row, col;
  int image;  ///< offset in x
  int out;    ///< offset of the output in y, for filter 0
};
template <class T>
__device__ Window window_of(Operands<T> const& p, int position) {
  int const n = p.by_image.quotient(position);
  int const at = p.by_image.remainder(position, n);
  int const row = p.by_out_w.quotient(at);
  int const col = p.by_out_w.remainder(at, row);
  return {row * p.stride - p.padding, col * p.stride - p.padding, n * p.c * p.h * p.width,
          n * p.k * p.out_h * p.out_w + at * p.out_pitch};
}

/// A term of a sum: its channel within the group, and how far its pixel lies from the window's corner.
struct Term {
  int channel, row, col;
};
template <bool kNchw, class T>
__device__ Term term_of(Operands<T> const& p, int t) {
  int channel, tap;
  if constexpr (kNchw) {
    channel = p.by_taps.quotient(t);
    tap = p.by_taps.remainder(t, channel);
  } else {
    tap = p.by_channels.quotient(t);
    channel = p.by_channels.remainder(t, tap);
  }
  int const i = p.by_s.quotient(tap);
  return {channel, i * p.dilation, p.by_s.remainder(tap, i) * p.dilation};
}

/// Whether a pixel lies in the image: what lies outside counts as 0.
template <class T>
__device__ bool is_inside(Operands<T> const& p, int row, int col) {
  return static_cast<unsigned>(row) < static_cast<unsigned>(p.h) &&
         static_cast<unsigned>(col) < static_cast<unsigned>(p.width);
}

/// Calls launch.operator()<T>() with the type of a problem, unless it has no outputs.
template <class Launch>
void with_type(Problem const& problem, Launch const& launch) {
  if (problem.shape.n == 0 || problem.shape.k == 0) return;
  switch (problem.x.type) {
    case core::DataType::f32: return launch.template operator()<float>();
    case core::DataType::f16: return launch.template operator()<__half>();
    default: return launch.template operator()<__nv_bfloat16>();
  }
}

/// Calls launch.operator()<T, whether the layout is nchw>().
template <class Launch>
void with_type_and_layout(Problem const& problem, Launch const& launch) {
  with_type(problem, [&]<class T>() {
    problem.layout == DataLayout::nchw ? launch.template operator()<T, true>()
                                       : launch.template operator()<T, false>();
  });
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::conv2d
