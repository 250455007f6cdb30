// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product by blocks that stay and take one tile after the other.
///
///   C = alpha A B + beta C
///
/// Technique    as many blocks as multiprocessors, each with tiles as many apart. The ring goes on
///              across tiles: while a block writes C, the first stages of its next tile are on
///              their way, and none is filled from empty but the first. Tiles are taken in bands of
///              8 rows of tiles, column by column, so that those multiplied at a time share A and B
///              in the L2 cache
/// Before       multistage
/// Shapes       row-major, any extents; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k (4 / 128 + 4 / 256) bytes
/// Launch       256 threads, 194 KiB of shared memory, one block per multiprocessor
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/cuda_cores/gemm_async_ring.cuh"

#include <algorithm>

namespace quadrille::kernels::gemm {
namespace {

using BlockTile = simt_tiles::Tile<2, 4>;

#ifdef QUAD_KERNELS

using namespace simt_tiles;

/// Whole tiles, of which blocks take turns.
class WholeTiles {
 public:
  __device__ explicit WholeTiles(Operands<float> const& p)
      : tiles_m_{divide_up(p.m, BlockTile::kBM)},
        tiles_n_{divide_up(p.n, BlockTile::kBN)},
        stages_{divide_up(p.k, BlockTile::kBK)},
        tile_{static_cast<int>(blockIdx.x)} {}

  __device__ Corner corner(int tile) const {
    return corner_in_bands<BlockTile>(tiles_m_, tiles_n_, tile);
  }
  __device__ bool next(Run& run) {
    if (tile_ >= tiles_m_ * tiles_n_) return false;
    run = {tile_, 0, stages_};
    tile_ += static_cast<int>(gridDim.x);
    return true;
  }

 private:
  int tiles_m_, tiles_n_, stages_, tile_;
};

__global__ void __launch_bounds__(kThreads, 1) gemm_persistent_kernel(Operands<float> p) {
  QUAD_DYNAMIC_SHARED(float, shared);
  Position const position{static_cast<int>(threadIdx.x) / 32, BlockTile::kWarpsN};
  // changed: copies go on with the next tile of this block
  WholeTiles tiles{p};
  Loader<BlockTile, true, WholeTiles> loader{p, tiles};
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
  // changed: the same loop, once for each tile
#pragma unroll 1
  while (tiles.next(run)) {
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
    Corner const corner = tiles.corner(run.tile);
    write<true>(p, corner.row + position.row, corner.col + position.col, accumulators);
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  int const tiles = divide_up(p.m, BlockTile::kBM) * divide_up(p.n, BlockTile::kBN);
  int const blocks = blocks_of(problem, tiles, multiprocessors_of(problem, stream.facts()));
  QUAD_LAUNCH(gemm_persistent_kernel, dim3(static_cast<unsigned>(blocks)), dim3(kThreads),
              BlockTile::kSharedBytes, stream, p);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const persistent{
    {.name = "persistent",
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
     .source = "own",
     .summary = "multistage by persistent blocks, tiles in bands"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.tile = BlockTile::kExtents, .bounds_multiprocessors = true}}};

}  // namespace quadrille::kernels::gemm
