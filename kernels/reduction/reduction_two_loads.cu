// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sum by a tree that adds once while it loads.
///
///   s = sum x[i]
///
/// Technique    an addition before the tree. In `sequential` half the threads idle from the first
///              step on; here each adds two elements while loading, so half as many blocks do the
///              same 8 steps for 512 elements, with twice as many loads in flight
/// Before       sequential
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

template <class T, class Acc>
__global__ void __launch_bounds__(kThreads)
    reduction_two_loads_kernel(T const* x, std::int64_t n, Acc* partials) {
  QUAD_SHARED(Acc, sum, [kThreads]);
  unsigned const t = threadIdx.x;
  // changed: two elements a thread, loaded before either is used
  std::int64_t const i = static_cast<std::int64_t>(blockIdx.x) * 2 * kThreads + t;
  Acc const near = i < n ? static_cast<Acc>(x[i]) : Acc{0};
  Acc const far = i + kThreads < n ? static_cast<Acc>(x[i + kThreads]) : Acc{0};
  sum[t] = near + far;
  __syncthreads();
  for (unsigned s = kThreads / 2; s > 0; s /= 2) {
    if (t < s) sum[t] += sum[t + s];
    __syncthreads();  // the next step reads what this one wrote
  }
  if (t == 0) partials[blockIdx.x] = sum[0];
}

void launch(Problem const& problem, device::StreamView stream) {
  require_scratch(problem);
  unsigned const blocks = tree_blocks<2 * kThreads>(problem.n);
  visit_tree_types(problem, [&]<class T, class Acc>() {
    QUAD_LAUNCH((reduction_two_loads_kernel<T, Acc>), dim3(blocks), dim3(kThreads), 0, stream,
                first_of<T>(problem), problem.n, partials_of<Acc>(problem));
  });
  if (problem.finish) finish_tree<2 * kThreads>(problem, stream);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const two_loads{
    {.name = "two_loads",
     .where = Where::cuda,
     .types = kTreeTypes,
     .needs = {.other = "sum, not reproducible"},
     .source = "CUDA tutorial, chapter 09/03",
     .summary = "first addition while loading, half as many blocks"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = sum_only,
     .notes = {.block_elements = 2 * kThreads,
               .chain = chain_of_tree<512>,
               .finish = finish_tree<2 * kThreads>}}};

}  // namespace quadrille::kernels::reduction
