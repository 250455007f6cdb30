// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reduction in one launch, deterministic.
///
///   s = sum x[i], sum x[i] y[i], sum x[i]^2, min x[i] or max x[i]
///
/// Technique    each block counts itself done after storing its value, and the last one joins all
///              values in the order of the blocks, so the bits do not depend on who is last. A
///              second kernel would cost more than the whole reduction of a short vector; a very
///              short one has a single block, and no counter. Reproducible: a block of threads per
///              virtual block, 256 lanes in 256 threads, the fixed order of
///              common/virtual_blocks.hpp: the bits of the host
/// Before       vectorized
/// Shapes       x, y: n contiguous elements, any n, any alignment; y of a dot product is read by
///              single elements where it is not aligned as x is
/// Work         n s bytes read (2 n s for dot)
/// Launch       512 threads per block, at most 2 blocks per multiprocessor, whose values are in
///              scratch memory; reproducible: 256 threads, at most 8 blocks per multiprocessor
/// Accuracy     4 eps sqrt(n) sum|x| with eps of the accumulator for uniform data; at worst
///              (n / (2^19 multiprocessors) + 30) eps / 2 sum|x|; min, max exact; i32 exact
///              below 2^53
#include "reduction/reduction_device.cuh"

namespace quadrille::kernels::reduction {
namespace {

constexpr int kThreads = 512;
/// Up to so many 16-byte groups one block is faster than several and their final step.
constexpr std::int64_t kSingleBlockGroups = 4096;
/// Above, blocks take few groups at a time, so that many share the work; more groups where all
/// resident blocks have enough.
constexpr std::int64_t kSmallTile = 2 * kThreads;

#ifdef QUAD_KERNELS

template <Operation op, class T, class Acc>
__global__ void __launch_bounds__(kThreads, 2)
    reduction_one_launch_kernel(T const* x, T const* y, std::int64_t n, std::int64_t tile,
                                Acc* partials, unsigned* finished, double* result) {
  Acc sum = reduce_share<op, Acc, kThreads, kLoadsInFlight<op>>(x, y, n, tile);
  sum = fold_block<op, kThreads>(sum);
  finish_in_last_block<op, kThreads>(sum, partials, finished, n, result);
}

template <Operation op, class T>
__global__ void __launch_bounds__(kLanes)
    reduction_blocks_kernel(T const* x, T const* y, std::int64_t global_n, std::int64_t block_first,
                            std::int64_t block_count, double* blocks) {
  QUAD_SHARED(double, lanes, [kLanes]);
  unsigned const lane = threadIdx.x;
  std::int64_t const origin = block_begin(global_n, block_first);
  for (std::int64_t b = blockIdx.x; b < block_count; b += gridDim.x) {
    std::int64_t const begin = block_begin(global_n, block_first + b) - origin;
    std::int64_t const end = block_begin(global_n, block_first + b + 1) - origin;
    double sum = start<op, double>();
    // Loads do not wait for the additions, which must be in order: eight are in flight.
#pragma unroll 8
    for (std::int64_t i = begin + lane; i < end; i += kLanes) sum = accumulate_at<op>(sum, x, y, i);
    lanes[lane] = sum;
    __syncthreads();
    for (unsigned half = kLanes / 2; half >= 32; half /= 2) {
      if (lane < half) lanes[lane] = combine<op>(lanes[lane], lanes[lane + half]);
      __syncthreads();  // the next step reads what this one wrote
    }
    if (lane < 32) {
      sum = warp_reduce<op>(lanes[lane]);
      if (lane == 0) blocks[b] = canonical(sum);
    }
    __syncthreads();  // the next virtual block overwrites the lanes
  }
}

void launch_blocks(Problem const& p, device::StreamView stream) {
  if (p.block_count == 0) return;
  auto const grid = static_cast<unsigned>(
      std::min<std::int64_t>(p.block_count, 8 * stream.facts().multiprocessors));
  visit(p, [&]<Operation op, class T>() {
    QUAD_LAUNCH((reduction_blocks_kernel<op, T>), dim3(grid), dim3(kLanes), 0, stream,
                first_of<T>(p), second_of<op, T>(p), p.global_n, p.block_first, p.block_count,
                p.blocks);
  });
}

/// How blocks share the 16-byte groups.
struct Shape {
  std::int64_t tile;
  unsigned blocks;
};
Shape shape_of(std::int64_t groups, std::int64_t largest_tile, int multiprocessors) {
  if (groups <= kSingleBlockGroups) return {largest_tile, 1};
  auto const resident = static_cast<unsigned>(2 * multiprocessors);
  std::int64_t tile = kSmallTile;
  while (tile < largest_tile && blocks_for(groups, tile) > resident) tile *= 2;
  return {tile, std::min(blocks_for(groups, tile), resident)};
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.reproducible) return launch_blocks(problem, stream);
  require_scratch(problem);
  int const multiprocessors = stream.facts().multiprocessors;
  visit_all(problem, [&]<Operation op, class T, class Acc>() {
    Shape const shape = shape_of(problem.n / std::int64_t{16 / sizeof(T)},
                                 kTileGroups<kThreads, kLoadsInFlight<op>>, multiprocessors);
    QUAD_LAUNCH((reduction_one_launch_kernel<op, T, Acc>), dim3(shape.blocks), dim3(kThreads), 0,
                stream, first_of<T>(problem), second_of<op, T>(problem), problem.n, shape.tile,
                partials_of<Acc>(problem), counter_of(problem), problem.result);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const one_launch{
    {.name = "one_launch",
     .where = Where::cuda,
     .types = kReductionTypes,
     .preference = 20,
     .source = "own",
     .summary = "the last block to finish joins all, in a fixed order"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.chain = chain_of_grid<2048>}}};

}  // namespace quadrille::kernels::reduction
