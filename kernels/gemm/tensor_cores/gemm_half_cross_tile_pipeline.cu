// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices on tensor cores, with fragments loaded ahead across k-tiles.
///
///   C = alpha A B + beta C
///
/// Technique    the first fragments of the next k-tile are loaded, too, while the last step of this
///              one multiplies, so that tensor cores do not wait where a k-tile begins: the copies
///              of the next k-tile and the barrier are before the last step. Registers let one block run on a
///              multiprocessor. `wmma_async_cross_tile_pipeline` multiplies by `wmma`, from padded
///              rows, `mma_async_cross_tile_pipeline` by `mma`, from rotated ones
/// Before       wmma_async_double_buffer_fragments; mma_async_cross_tile_pipeline starts from
///              mma_async_double_buffer_fragments
/// Shapes       row-major, B as it is or transposed; outside the matrices, k-tiles are zero
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 128) bytes
/// Launch       256 threads, one block per multiprocessor; 2 k-tiles of 24 KiB (with `wmma` 30 KiB),
///              where then up to 68 KiB of accumulators are, in shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data, in eps of the
///              accumulators
#include "gemm/tensor_cores/gemm_half_rows.cuh"

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    gemm_half_cross_tile_pipeline_kernel(HalfOperands<typename Tile::Type> p) {
  QUAD_DYNAMIC_SHARED(typename Tile::Type, shared);
  BlockCorner const corner = BlockCorner::of<Tile>(p);
  KTiles<Tile> k_tiles{p, corner};
  Warp<Tile> warp;
  typename Warp<Tile>::Fragments fragments[2];
  auto* reading = shared;
  auto* filling = shared + Tile::kStageElements;
  k_tiles.start(reading);
  ptx::cp_async_commit();
  ptx::cp_async_wait<0>();
  __syncthreads();  // the first k-tile is complete
  warp.load(fragments[0], reading, 0);
#pragma unroll 1
  for (int first = 0; first < p.k; first += Tile::kConfig.bk) {
#pragma unroll
    for (int step = 0; step < Tile::kSteps; ++step) {
      if (step + 1 < Tile::kSteps) {
        warp.load(fragments[(step + 1) % 2], reading, step + 1);
      } else {
        k_tiles.start(filling);
        ptx::cp_async_commit();
        ptx::cp_async_wait<0>();
        __syncthreads();  // the next k-tile is complete, and all have read this one
        warp.load(fragments[0], filling, 0);
      }
      warp.multiply(fragments[step % 2]);
    }
    exchange(reading, filling);
  }
  write<Tile>(p, corner, warp, shared);
}

template <HalfConfig kConfig>
void launch(Problem const& problem, device::StreamView stream) {
  with_tile<kConfig>(problem, [&]<class Tile>(auto const& p, dim3 grid) {
    QUAD_LAUNCH(gemm_half_cross_tile_pipeline_kernel<Tile>, grid, dim3(Tile::kThreads),
                Tile::kSharedBytes, stream, p);
  });
}

#endif  // QUAD_KERNELS

constexpr HalfConfig kWmma{.is_wmma = true,
                           .layout = SmemLayout::padded,
                           .stages = 2,
                           .fragment_double_buffer = FragmentDoubleBuffer::across_k_tiles};
constexpr HalfConfig kMma{.layout = SmemLayout::rotated,
                          .stages = 2,
                          .fragment_double_buffer = FragmentDoubleBuffer::across_k_tiles,
                          .epilogue = Epilogue::block_rotated};

}  // namespace

extern constinit Variant<Problem> const wmma_async_cross_tile_pipeline{
    row("wmma_async_cross_tile_pipeline",
        "wmma_async_double_buffer with fragments loaded ahead, also across k-tiles", kWmma),
    QUAD_KERNEL_LAUNCH(launch<kWmma>)};

extern constinit Variant<Problem> const mma_async_cross_tile_pipeline{
    row("mma_async_cross_tile_pipeline",
        "mma_async_double_buffer with fragments loaded ahead, also across k-tiles", kMma),
    QUAD_KERNEL_LAUNCH(launch<kMma>)};

}  // namespace quadrille::kernels::gemm
