// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sum by a tree in shared memory, in its plainest form.
///
///   s = sum x[i]
///
/// Technique    one element per thread; in step s the threads whose number is a multiple of 2 s add
///              the element s further. In every step some lanes of every warp idle, and the
///              remainder is a slow instruction: the starting point of the series.
///                  word     0    1    2    3    4    5    6    7
///                  s = 1    t0 <-+    t2 <-+    t4 <-+    t6 <-+
///                  s = 2    t0 <------+         t4 <------+
///                  s = 4    t0 <----------------+
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
    reduction_naive_kernel(T const* x, std::int64_t n, Acc* partials) {
  QUAD_SHARED(Acc, sum, [kThreads]);
  unsigned const t = threadIdx.x;
  std::int64_t const i = static_cast<std::int64_t>(blockIdx.x) * kThreads + t;
  sum[t] = i < n ? static_cast<Acc>(x[i]) : Acc{0};
  __syncthreads();
  for (unsigned s = 1; s < kThreads; s *= 2) {
    if (t % (2 * s) == 0) sum[t] += sum[t + s];
    __syncthreads();  // the next step reads what this one wrote
  }
  if (t == 0) partials[blockIdx.x] = sum[0];
}

void launch(Problem const& problem, device::StreamView stream) {
  require_scratch(problem);
  unsigned const blocks = tree_blocks<kThreads>(problem.n);
  visit_tree_types(problem, [&]<class T, class Acc>() {
    QUAD_LAUNCH((reduction_naive_kernel<T, Acc>), dim3(blocks), dim3(kThreads), 0, stream,
                first_of<T>(problem), problem.n, partials_of<Acc>(problem));
  });
  if (problem.finish) finish_tree<kThreads>(problem, stream);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const naive{
    {.name = "naive",
     .where = Where::cuda,
     .types = kTreeTypes,
     .needs = {.other = "sum, not reproducible"},
     .source = "CUDA tutorial, chapter 08",
     .summary = "tree in shared memory, every second thread idle in each warp"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = sum_only,
     .notes = {.block_elements = kThreads,
               .chain = chain_of_tree<256>,
               .finish = finish_tree<kThreads>}}};

}  // namespace quadrille::kernels::reduction
