// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Two arrays combined element by element: one step of a reduction over ranks.
///
///   out[i] = a[i] op b[i]
///
/// Technique    four elements of both arrays are loaded before the first is stored, so that enough
///              loads are under way to fill the memory's bandwidth
/// Shapes       a, b, out: n contiguous elements of f64, f32, i64, i32 or i8; out may be a or b
/// Work         n operations, 3 n s bytes of device traffic
/// Launch       256 threads, grid stride, 8 blocks for each multiprocessor
/// Accuracy     one rounding; minimum and maximum keep a NaN
#include "common/combine.hpp"
#include "common/simt.cuh"

#include <algorithm>

namespace quadrille::kernels {
namespace {

constexpr int kThreads = 256, kLoads = 4;

template <class T, Combine kOp>
__global__ void combine_kernel(T const* a, T const* b, T* out, std::int64_t n) {
  constexpr std::int64_t kTile = std::int64_t{kThreads} * kLoads;
  for (std::int64_t first = blockIdx.x * kTile; first < n; first += gridDim.x * kTile) {
    T x[kLoads], y[kLoads];
#pragma unroll
    for (int j = 0; j < kLoads; ++j) {
      std::int64_t const i = first + j * kThreads + threadIdx.x;
      x[j] = i < n ? a[i] : T{};
      y[j] = i < n ? b[i] : T{};
    }
#pragma unroll
    for (int j = 0; j < kLoads; ++j) {
      std::int64_t const i = first + j * kThreads + threadIdx.x;
      if (i < n) out[i] = combine_element<kOp>(x[j], y[j]);
    }
  }
}

template <class T, Combine kOp>
void launch_as(void const* a, void const* b, void* out, std::int64_t n, device::StreamView stream) {
  std::int64_t const tiles = (n + kThreads * kLoads - 1) / (kThreads * kLoads);
  auto const blocks = static_cast<unsigned>(
      std::min<std::int64_t>(tiles, 8 * std::int64_t{stream.facts().multiprocessors}));
  QUAD_LAUNCH((combine_kernel<T, kOp>), blocks, kThreads, 0, stream, static_cast<T const*>(a),
              static_cast<T const*>(b), static_cast<T*>(out), n);
}

}  // namespace

void launch_combine(void const* a, void const* b, void* out, std::int64_t n, core::DataType type,
                    Combine op, device::StreamView stream) {
  if (n == 0) return;
  visit_combine(type, op, [&]<class T, Combine kOp>() { launch_as<T, kOp>(a, b, out, n, stream); });
}

}  // namespace quadrille::kernels
