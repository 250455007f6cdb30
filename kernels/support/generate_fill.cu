// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Input values made on the device.
///
///   data[i, j] = core::generate(kind, seed, tag, global i, global j)
///
/// Technique    one element per thread and iteration, a counter-based hash each: no state, no
///              transfer from the host, which would take a hundred times as long
/// Shapes       data: rows x cols of any type, with a leading dimension, a
///              block-cyclic part of a global array
/// Work         s bytes written and about 60 integer operations per element
/// Launch       256 threads per block, 8 blocks per multiprocessor with a stride
/// Accuracy     bit for bit the values of the host: integer arithmetic, one exact scaling
#include "support/generate_element.cuh"

namespace quadrille::kernels::generate {
namespace {

template <class T>
__global__ void generate_fill_kernel(T* data, Place place) {
  std::int64_t const n = place.rows * place.cols;
  std::int64_t const stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; at < n;
       at += stride) {
    std::int64_t const i = at / place.cols;
    std::int64_t const j = at % place.cols;
    data[i * place.ld + j] = element<T>(place, i, j);
  }
}

}  // namespace

void launch_fill(Problem const& problem, device::StreamView stream) {
  core::visit_type(problem.data.type, [&](auto zero) {
    using T = decltype(zero);
    QUAD_LAUNCH((generate_fill_kernel<T>),
                blocks_for(problem.data.rows * problem.data.cols, stream), kThreads, 0, stream,
                static_cast<T*>(problem.data.data), place_of(problem));
  });
}

}  // namespace quadrille::kernels::generate
