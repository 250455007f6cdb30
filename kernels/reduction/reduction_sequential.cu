// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sum by a tree without bank conflicts.
///
///   s = sum x[i]
///
/// Technique    the stride starts at half the block and halves: active threads are neighbours and
///              so are the words they touch, one bank each: no extra wavefront instead of 35.
///                  word     0    1    2    3    4    5    6    7
///                  s = 4    t0 <----------------+
///                                t1 <----------------+
///                                     t2 <----------------+
///                                          t3 <----------------+
///                  s = 2    t0 <------+
///                                t1 <------+
///                  s = 1    t0 <-+
/// Before       interleaved
/// Shapes       x: n contiguous elements, any n
/// Work         n s bytes read; 8 shared-memory steps and n / 256 partial results more
/// Launch       256 threads per block, one element each; then one block of 1024 for the partial
///              results in scratch memory
/// Accuracy     at worst (8 + n / 2^18 + 15) eps / 2 sum|x| with eps of the accumulator; i32
///              exact below 2^53, in i32 where a block's sum is below 2^31
#include "reduction/reduction_device.cuh"

namespace quadrille::kernels::reduction {
namespace {

constexpr unsigned kThreads = kTreeThreads;

#ifdef QUAD_KERNELS

template <class T, class Acc>
__global__ void __launch_bounds__(kThreads)
    reduction_sequential_kernel(T const* x, std::int64_t n, Acc* partials) {
  QUAD_SHARED(Acc, sum, [kThreads]);
  unsigned const t = threadIdx.x;
  std::int64_t const i = static_cast<std::int64_t>(blockIdx.x) * kThreads + t;
  sum[t] = i < n ? static_cast<Acc>(x[i]) : Acc{0};
  __syncthreads();
  for (unsigned s = kThreads / 2; s > 0; s /= 2) {  // changed: strides halve
    if (t < s) sum[t] += sum[t + s];                // changed: a word a lane, side by side
    __syncthreads();                                // the next step reads what this one wrote
  }
  if (t == 0) partials[blockIdx.x] = sum[0];
}

void launch(Problem const& problem, device::StreamView stream) {
  require_scratch(problem);
  unsigned const blocks = tree_blocks<kThreads>(problem.n);
  visit_tree_types(problem, [&]<class T, class Acc>() {
    QUAD_LAUNCH((reduction_sequential_kernel<T, Acc>), dim3(blocks), dim3(kThreads), 0, stream,
                first_of<T>(problem), problem.n, partials_of<Acc>(problem));
  });
  if (problem.finish) finish_tree<kThreads>(problem, stream);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const sequential{{.name = "sequential",
                                                    .where = Where::cuda,
                                                    .types = kTreeTypes,
                                                    .needs = {.other = "sum, not reproducible"},
                                                    .source = "CUDA tutorial, chapter 09/02",
                                                    .summary = "halving strides: no bank conflict"},
                                                   QUAD_KERNEL_LAUNCH(launch),
                                                   {.unsupported = sum_only,
                                                    .notes = {.block_elements = kThreads,
                                                              .chain = chain_of_tree<256>,
                                                              .finish = finish_tree<kThreads>}}};

}  // namespace quadrille::kernels::reduction
