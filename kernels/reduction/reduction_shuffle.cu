// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reduction by warp shuffles.
///
///   s = sum x[i], sum x[i] y[i], sum x[i]^2, min x[i] or max x[i]
///
/// Technique    no tree: lanes exchange registers, so a warp needs five steps and no shared memory;
///              warps exchange one shared word each: one barrier per block where the tree has nine,
///              and 9 shared-memory accesses by warps where it has 45. The tree of shared words
///              has become block_reduce(); the loads are those of `two_loads`
/// Before       two_loads
/// Shapes       x, y: n contiguous elements, any n
/// Work         n s bytes read (2 n s for dot) and n / 512 partial results more
/// Launch       256 threads per block, two elements each; then one block of 1024 for the partial
///              results in scratch memory
/// Accuracy     at worst (9 + n / 2^19 + 15) eps / 2 sum|x| with eps of the accumulator; min, max
///              exact; i32 exact below 2^53
#include "reduction/reduction_device.cuh"

namespace quadrille::kernels::reduction {
namespace {

constexpr unsigned kThreads = 256;

#ifdef QUAD_KERNELS

template <Operation op, class T, class Acc>
__global__ void __launch_bounds__(kThreads)
    reduction_shuffle_kernel(T const* x, T const* y, std::int64_t n, Acc* partials) {
  std::int64_t const i = static_cast<std::int64_t>(blockIdx.x) * 2 * kThreads + threadIdx.x;
  Acc sum = identity<op, Acc>();
  if (i < n) sum = accumulate_at<op>(sum, x, y, i);
  if (i + kThreads < n) sum = accumulate_at<op>(sum, x, y, i + kThreads);
  sum = block_reduce<op, kThreads>(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

void launch(Problem const& problem, device::StreamView stream) {
  require_scratch(problem);
  unsigned const blocks = tree_blocks<2 * kThreads>(problem.n);
  visit_all(problem, [&]<Operation op, class T, class Acc>() {
    QUAD_LAUNCH((reduction_shuffle_kernel<op, T, Acc>), dim3(blocks), dim3(kThreads), 0, stream,
                first_of<T>(problem), second_of<op, T>(problem), problem.n,
                partials_of<Acc>(problem));
    launch_finish<op, Acc>(problem, blocks, stream);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const shuffle{
    {.name = "shuffle",
     .where = Where::cuda,
     .types = kReductionTypes,
     .needs = {.other = "not reproducible"},
     .source = "own",
     .summary = "warp shuffles, one shared word per warp"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = plain_only, .notes = {.chain = chain_of_tree<256>}}};

}  // namespace quadrille::kernels::reduction
