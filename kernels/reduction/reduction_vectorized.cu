// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reduction with a grid stride and 16-byte loads.
///
///   s = sum x[i], sum x[i] y[i], sum x[i]^2, min x[i] or max x[i]
///
/// Technique    as many blocks as are resident, each thread with eight 16-byte loads in flight and
///              an accumulator for each: the loop runs at the rate of memory, and what follows it
///              costs once per block, not once per 512 elements
/// Shapes       x, y: n contiguous elements, any n, any alignment; y of a dot product is read by
///              single elements where it is not aligned as x is
/// Work         n s bytes read (2 n s for dot)
/// Launch       512 threads per block, at most 2 blocks per multiprocessor; then one block of 1024
///              for the partial results in scratch memory
/// Accuracy     4 eps sqrt(n) sum|x| with eps of the accumulator for uniform data; at worst
///              (n / (2^19 multiprocessors) + 30) eps / 2 sum|x|; min, max exact; i32 exact
///              below 2^53
#include "reduction/reduction_device.cuh"

namespace quadrille::kernels::reduction {
namespace {

constexpr int kThreads = 512;

#ifdef QUAD_KERNELS

template <Operation op, class T, class Acc>
__global__ void __launch_bounds__(kThreads, 2)
    reduction_vectorized_kernel(T const* x, T const* y, std::int64_t n, Acc* partials) {
  constexpr int kFlight = kLoadsInFlight<op>;
  Acc sum = reduce_share<op, Acc, kThreads, kFlight>(x, y, n, kTileGroups<kThreads, kFlight>);
  sum = fold_block<op, kThreads>(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

void launch(Problem const& problem, device::StreamView stream) {
  require_scratch(problem);
  auto const resident = static_cast<unsigned>(2 * stream.facts().multiprocessors);
  visit_all(problem, [&]<Operation op, class T, class Acc>() {
    constexpr std::int64_t kEach =
        kTileGroups<kThreads, kLoadsInFlight<op>> * std::int64_t{16 / sizeof(T)};
    unsigned const blocks = std::min(blocks_for(problem.n, kEach), resident);
    QUAD_LAUNCH((reduction_vectorized_kernel<op, T, Acc>), dim3(blocks), dim3(kThreads), 0, stream,
                first_of<T>(problem), second_of<op, T>(problem), problem.n,
                partials_of<Acc>(problem));
    launch_finish<op, Acc>(problem, blocks, stream);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const vectorized{
    {.name = "vectorized",
     .where = Where::cuda,
     .types = kReductionTypes,
     .needs = {.other = "not reproducible"},
     .source = "own",
     .summary = "grid stride, eight 16-byte loads in flight"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = plain_only, .notes = {.chain = chain_of_grid<4096>}}};

}  // namespace quadrille::kernels::reduction
