// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conv2d/conv2d.hpp"

#include <algorithm>

/// The column matrix on a host.
namespace quadrille::kernels::conv2d {

/// `count` values of a line of `length` elements, `step` elements from each other, from place `at` on;
/// zeros outside of the line.
template <class In>
void copy_line(In const* line, std::int64_t length, std::int64_t at, std::int64_t pitch,
               std::int64_t step, std::int64_t count, float* to) {
  std::int64_t j = 0;
  for (; j < count && at < 0; ++j, at += step) to[j] = 0;
  std::int64_t const inside = at < length ? (length - at + step - 1) / step : 0;
  std::int64_t const end = std::min(count, j + inside);
  if (step == 1 && pitch == 1) {
    for (; j < end; ++j, ++at) to[j] = static_cast<float>(line[at]);
  } else {
    for (; j < end; ++j, at += step) to[j] = static_cast<float>(line[at * pitch]);
  }
  for (; j < count; ++j) to[j] = 0;
}

/// Columns of the positions p Q + q in `positions` of one image and group: term t of the j-th is
/// to[t * ld + j]. Terms are in the order of a filter in memory.
template <class In>
void columns(Problem const& problem, std::int64_t image, std::int64_t group,
             core::Range const& positions, float* to, std::int64_t ld) {
  Shape const& z = problem.shape;
  bool const is_nchw = problem.layout == DataLayout::nchw;
  std::int64_t const channels = z.group_channels();
  std::int64_t const out_w = z.out_w();
  std::int64_t const pitch = is_nchw ? 1 : z.c;  // from a pixel to the next
  In const* const x = static_cast<In const*>(problem.x.data) + image * z.c * z.h * z.w +
                      group * channels * (is_nchw ? z.h * z.w : 1);
  std::int64_t const first_p = positions.first / out_w, first_q = positions.first % out_w;
  std::int64_t const taps = z.r * z.s;
  for (std::int64_t t = 0; t < channels * taps; ++t) {
    std::int64_t const c = is_nchw ? t / taps : t % channels;
    std::int64_t const tap = is_nchw ? t % taps : t / channels;
    std::int64_t const i = tap / z.s * z.dilation - z.padding;
    std::int64_t const j = tap % z.s * z.dilation - z.padding;
    In const* const plane = x + c * (is_nchw ? z.h * z.w : 1);
    float* const line = to + t * ld;
    std::int64_t p = first_p, q = first_q;
    for (std::int64_t done = 0; done < positions.count; ++p, q = 0) {
      std::int64_t const count = std::min(out_w - q, positions.count - done);
      std::int64_t const row = p * z.stride + i;
      if (row < 0 || row >= z.h) {
        std::fill_n(line + done, count, 0.0F);
      } else {
        copy_line(plane + row * z.w * pitch, z.w, q * z.stride + j, pitch, z.stride, count,
                  line + done);
      }
      done += count;
    }
  }
}

}  // namespace quadrille::kernels::conv2d
