// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product whose blocks get equal numbers of stages, not of tiles.
///
///   C = alpha A B + beta C
///
/// Technique    the tiles that would leave a wave of blocks partly idle, and those of one more wave
///              where there is one, are split along k, if there is scratch of scratch_bytes(), zero
///              at first: every block gets the same number of consecutive stages of them, and then
///              whole tiles. A block that has not the end of a tile stores its partials and sets a
///              flag; the one that has waits for the flags and adds the partials in a fixed order
///              (fix-up).
///                  9 tiles of 8 stages for 4 blocks: 5 are split, 10 stages for each block
///                  tile       0        1        2        3        4        5   6   7   8
///                  block   |00000000|00111111|11112222|22222233|33333333|  0   1   2   3
///                             first                         then                        last
///                  block 0    tile 1: 2 stages, stored      tile 0: 8                   tile 5
///                  block 1    tile 2: 4, stored             tile 1: 6 + 2 of block 0    tile 6
///                  block 2    tile 3: 6, stored             tile 2: 4 + 4 of block 1    tile 7
///                  block 3    tile 4: 8                     tile 3: 2 + 6 of block 2    tile 8
///              A block takes its number by a ticket when it starts, and waits for smaller ones
///              only: those run or have finished, whatever order the blocks start in
/// Before       persistent
/// Shapes       row-major, any extents; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k (4 / 128 + 4 / 256) bytes
/// Launch       256 threads, 194 KiB of shared memory, one block per multiprocessor
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/cuda_cores/gemm_stream_k.cuh"

#include <algorithm>

namespace quadrille::kernels::gemm {
namespace {

using BlockTile = simt_tiles::Tile<2, 4>;

#ifdef QUAD_KERNELS

using namespace simt_tiles;

__global__ void __launch_bounds__(kThreads, 1) gemm_stream_k_kernel(Operands<float> p, Plan plan) {
  QUAD_DYNAMIC_SHARED(float, shared);
  Position const position{static_cast<int>(threadIdx.x) / 32, BlockTile::kWarpsN};
  // changed: by a ticket, so that a block waits for others that have started
  int const block = number_of_block(plan);
  // changed: parts of tiles, of as many stages for each block
  SplitRuns<BlockTile> runs{plan, block};
  Loader<BlockTile, true, SplitRuns<BlockTile>> loader{p, runs};
  float const* const from_a = shared + position.row;
  float const* const from_b = shared + BlockTile::kStageA + position.col;
  RingState<BlockTile> ring;
#pragma unroll 1
  for (int t = 0; t < BlockTile::kStages - 1; ++t) {
    loader.copy(shared + t * BlockTile::kStage);
    ptx::cp_async_commit();  // also an empty group, so that a wait counts stages
    loader.advance();
  }
  ptx::cp_async_wait<BlockTile::kStages - 2>();
  __syncthreads();  // the copies of all threads to the first stage have arrived
  Run run;
#pragma unroll 1
  while (runs.next(run)) {
    float accumulators[kRows][kCols] = {};
    Values values[2] = {};
#pragma unroll 1
    for (int t = 0; t < run.count; ++t) {
      loader.copy(shared + ring.writing);
      ptx::cp_async_commit();
      multiply_stage<BlockTile>(from_a + ring.reading, from_b + ring.reading, values, accumulators);
      loader.advance();
      ring.advance();
      ptx::cp_async_wait<BlockTile::kStages - 2>();
      __syncthreads();  // the next stage is complete, and all have read this one
    }
    add_products(accumulators, values[1]);
    // changed: another block has the end of the tile
    if (run.first + run.count < plan.stages) {
      store_partials(plan, block, accumulators);
      continue;
    }
    // changed: others had the beginning
    if (run.first > 0) fix_up(plan, block, run.tile, accumulators);
    Corner const corner = runs.corner(run.tile);
    write<true>(p, corner.row + position.row, corner.col + position.col, accumulators);
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  int const multiprocessors = multiprocessors_of(problem, stream.facts());
  Plan plan = plan_of<BlockTile>(p);
  bool const is_split =
      plan.tiles % multiprocessors != 0 && split_tiles(plan, scratch_of(problem), multiprocessors);
  int const blocks = is_split ? multiprocessors : blocks_of(problem, plan.tiles, multiprocessors);
  QUAD_LAUNCH(gemm_stream_k_kernel, dim3(static_cast<unsigned>(blocks)), dim3(kThreads),
              BlockTile::kSharedBytes, stream, p, plan);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const stream_k{
    {.name = "stream_k",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs =
         {.shared_bytes = BlockTile::kSharedBytes,
          .layouts = {Layout::nn},
          .row_bytes = 16,
          .alignment = 16,
          .max_extent = kMaxCudaExtent,
          // Half a tile each way, because places in the order of tiles go up to twice their number.
          .tile = {64, 128}},
     .source = "after Osama et al., Stream-K",
     .summary = "persistent with the tiles of an incomplete wave split along k"},
    QUAD_KERNEL_LAUNCH(launch),
    {.scratch_bytes = simt_tiles::scratch_bytes, .notes = {.bounds_multiprocessors = true}}};

}  // namespace quadrille::kernels::gemm
