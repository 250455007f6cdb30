// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sum by a tree whose last warp needs no barrier of the block.
///
///   s = sum x[i]
///
/// Technique    the last six steps, which concern one warp, are written out, with a synchronisation
///              of that warp in place of barriers, loop and condition. Lanes of a warp do not run
///              in lockstep by themselves, so each step reads, synchronises, writes and
///              synchronises. Three barriers of the block are left of nine
/// Before       two_loads
/// Shapes       x: n contiguous elements, any n
/// Work         n s bytes read; 8 shared-memory steps and n / 512 partial results more
/// Launch       256 threads per block, two elements each; then one block of 1024 for the partial
///              results in scratch memory
/// Accuracy     at worst (9 + n / 2^19 + 15) eps / 2 sum|x| with eps of the accumulator; i32
///              exact below 2^53, in i32 where a block's sum is below 2^31
#include "reduction/reduction_device.cuh"

namespace quadrille::kernels::reduction {
namespace {

constexpr unsigned kThreads = kTreeThreads;

#ifdef QUAD_KERNELS

/// One step of the last warp. Lanes whose result is not used add what they read.
template <class Acc>
__device__ inline Acc add_from(Acc* sum, unsigned t, Acc mine, unsigned distance) {
  mine += sum[t + distance];
  __syncwarp();  // all lanes have read
  sum[t] = mine;
  __syncwarp();  // all lanes have written
  return mine;
}

template <class T, class Acc>
__global__ void __launch_bounds__(kThreads)
    reduction_unrolled_last_warp_kernel(T const* x, std::int64_t n, Acc* partials) {
  QUAD_SHARED(Acc, sum, [kThreads]);
  unsigned const t = threadIdx.x;
  std::int64_t const i = static_cast<std::int64_t>(blockIdx.x) * 2 * kThreads + t;
  Acc const near = i < n ? static_cast<Acc>(x[i]) : Acc{0};
  Acc const far = i + kThreads < n ? static_cast<Acc>(x[i + kThreads]) : Acc{0};
  sum[t] = near + far;
  __syncthreads();
  for (unsigned s = kThreads / 2; s > 32; s /= 2) {  // changed: as long as warps exchange words
    if (t < s) sum[t] += sum[t + s];
    __syncthreads();  // the next step reads what this one wrote
  }
  if (t < 32) {  // changed: the rest is one warp's
    Acc mine = sum[t];
    mine = add_from(sum, t, mine, 32);
    mine = add_from(sum, t, mine, 16);
    mine = add_from(sum, t, mine, 8);
    mine = add_from(sum, t, mine, 4);
    mine = add_from(sum, t, mine, 2);
    add_from(sum, t, mine, 1);
  }
  if (t == 0) partials[blockIdx.x] = sum[0];
}

void launch(Problem const& problem, device::StreamView stream) {
  require_scratch(problem);
  unsigned const blocks = tree_blocks<2 * kThreads>(problem.n);
  visit_tree_types(problem, [&]<class T, class Acc>() {
    QUAD_LAUNCH((reduction_unrolled_last_warp_kernel<T, Acc>), dim3(blocks), dim3(kThreads), 0,
                stream, first_of<T>(problem), problem.n, partials_of<Acc>(problem));
  });
  if (problem.finish) finish_tree<2 * kThreads>(problem, stream);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const unrolled_last_warp{
    {.name = "unrolled_last_warp",
     .where = Where::cuda,
     .types = kTreeTypes,
     .needs = {.other = "sum, not reproducible"},
     .source = "CUDA tutorial, chapter 09/04",
     .summary = "the last warp synchronises without barriers of the block"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = sum_only,
     .notes = {.block_elements = 2 * kThreads,
               .chain = chain_of_tree<512>,
               .finish = finish_tree<2 * kThreads>}}};

}  // namespace quadrille::kernels::reduction
