// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Exact comparison of results on the device.
///
///   count = |{(i, j): data[i, j] != core::generate(kind, seed, tag, global i, global j)}|
///
/// Technique    each thread computes the values it expects and counts in registers; only a thread
///              that found a difference touches the two shared words, so a right result costs no
///              atomic
/// Shapes       data: rows x cols of any type, with a leading dimension, a
///              block-cyclic part of a global array
/// Work         s bytes read and about 60 integer operations per element
/// Launch       256 threads per block, 8 blocks per multiprocessor with a stride
/// Accuracy     exact; NaN differs from everything
#include "support/generate_element.cuh"

namespace quadrille::kernels::generate {
namespace {

// What atomics take; as wide as the members of Differences.
using Word = unsigned long long;
static_assert(sizeof(Word) == sizeof(std::uint64_t));

template <class T>
__global__ void generate_compare_kernel(T const* data, Place place, Word* count, Word* first) {
  std::int64_t const n = place.rows * place.cols;
  std::int64_t const stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  Word wrong = 0;
  Word lowest = Differences::kNone;
  for (std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; at < n;
       at += stride) {
    std::int64_t const i = at / place.cols;
    std::int64_t const j = at % place.cols;
    if (data[i * place.ld + j] == element<T>(place, i, j)) continue;
    if (wrong == 0) lowest = static_cast<Word>(at);
    ++wrong;
  }
  if (wrong > 0) {
    atomicAdd(count, wrong);
    atomicMin(first, lowest);
  }
}

}  // namespace

void launch_compare(Problem const& problem, Differences* found, device::StreamView stream) {
  core::visit_type(problem.data.type, [&](auto zero) {
    using T = decltype(zero);
    QUAD_LAUNCH((generate_compare_kernel<T>),
                blocks_for(problem.data.rows * problem.data.cols, stream), kThreads, 0, stream,
                static_cast<T const*>(problem.data.data), place_of(problem),
                reinterpret_cast<Word*>(&found->count), reinterpret_cast<Word*>(&found->first));
  });
}

}  // namespace quadrille::kernels::generate
