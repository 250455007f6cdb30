// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with a ring of four stages that asynchronous copies fill.
///
///   C = alpha A B + beta C
///
/// Technique    tiles reach shared memory by cp.async: no registers, no instructions that wait for
///              global memory, and three stages of 32 k-iterations on their way while one is
///              multiplied, where a prefetch to registers has one of 16. A is copied word by word,
///              which transposes it; four words of padding behind its columns avoid bank conflicts.
///              One barrier in 32 k-iterations; the values of a k-iteration are read while the one
///              before is multiplied, across stages too
///
///   k-tile copied        0  1  2  3  4  5  6       each to stage number % 4, as a group of its own
///   k-tile multiplied             0  1  2  3       while the one three further on is copied
///
/// Before       thread_tile_8x16
/// Shapes       row-major, any extents; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k (4 / 128 + 4 / 256) bytes
/// Launch       256 threads, 194 KiB of shared memory, one block per multiprocessor
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/cuda_cores/gemm_async_ring.cuh"

namespace quadrille::kernels::gemm {
namespace {

/// 2 x 4 warps of 64 x 64: a block has 128 x 256 of C, a stage 32 columns of A and 32 rows of B.
using BlockTile = simt_tiles::Tile<2, 4>;

#ifdef QUAD_KERNELS

using namespace simt_tiles;

/// What the loader asks for: one run, of all k-tiles of the block's tile.
class OneTile {
 public:
  __device__ explicit OneTile(int k_tiles) : k_tiles_{k_tiles} {}
  __device__ Corner corner(int) const {
    return {static_cast<int>(blockIdx.y) * BlockTile::kBM,
            static_cast<int>(blockIdx.x) * BlockTile::kBN};
  }
  __device__ bool next(Run& run) {
    run = {0, 0, k_tiles_};  // tile, first k-tile, how many
    k_tiles_ = 0;
    return run.count > 0;
  }

 private:
  int k_tiles_;
};

// A stage: A by columns [32][128 + 4], then B by rows [32][256].
//   copies of a thread      A: 16 of 4 bytes; a warp takes 4 rows x 8 columns, so 4 sectors, 32 banks
//                           B: 8 of 16 bytes; 64 threads take a row of 256
//   products of a thread    lane 4 i + j of a warp has 2 x 4 squares of 4 x 4 elements of C, at
//                           rows 4 i + {0, 32} and columns 4 j + {0, 16, 32, 48} of the warp tile
__global__ void __launch_bounds__(kThreads, 1) gemm_multistage_kernel(Operands<float> p) {
  QUAD_DYNAMIC_SHARED(float, shared);
  Position const position{static_cast<int>(threadIdx.x) / 32, BlockTile::kWarpsN};
  int const k_tiles = divide_up(p.k, BlockTile::kBK);
  OneTile const tile{k_tiles};
  Loader<BlockTile, true, OneTile> loader{p, tile};  // true: rows of B in whole 16 bytes
  float const* const from_a = shared + position.row;
  float const* const from_b = shared + BlockTile::kStageA + position.col;
  RingState<BlockTile> ring;  // offsets of two stages in floats: the one read, the one written
#pragma unroll 1
  for (int t = 0; t < BlockTile::kStages - 1; ++t) {
    loader.copy(shared + t * BlockTile::kStage);
    ptx::cp_async_commit();  // also an empty group, so that a wait counts stages
    loader.advance();
  }
  ptx::cp_async_wait<BlockTile::kStages - 2>();  // the oldest of three groups is there
  __syncthreads();  // the copies of all threads to the first stage have arrived
  float accumulators[kRows][kCols] = {};
  // The first products are those of zeros: values are multiplied one k-iteration after they are read.
  Values values[2] = {};
#pragma unroll 1
  for (int t = 0; t < k_tiles; ++t) {
    // To the stage that was multiplied last time: the barrier below came after all had read it.
    loader.copy(shared + ring.writing);
    ptx::cp_async_commit();
    multiply_stage<BlockTile>(from_a + ring.reading, from_b + ring.reading, values, accumulators);
    // Not right after copy(): pointers that change there would wait until the copies have read them.
    loader.advance();
    ring.advance();
    ptx::cp_async_wait<BlockTile::kStages - 2>();
    __syncthreads();  // the next stage is complete, and all have read this one
  }
  add_products(accumulators, values[1]);  // those of the last k-iteration, which no read follows
  Corner const corner = tile.corner(0);
  write<true>(p, corner.row + position.row, corner.col + position.col, accumulators);
}

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_multistage_kernel, grid_of(p, BlockTile::kBM, BlockTile::kBN), dim3(kThreads),
              BlockTile::kSharedBytes, stream, p);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const multistage{
    {.name = "multistage",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.shared_bytes = BlockTile::kSharedBytes,
               .layouts = {Layout::nn},
               .row_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * BlockTile::kBM},
     .source = "own",
     .summary = "ring of four stages filled by cp.async, thread tile 8 x 16"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.tile = BlockTile::kExtents}}};

}  // namespace quadrille::kernels::gemm
