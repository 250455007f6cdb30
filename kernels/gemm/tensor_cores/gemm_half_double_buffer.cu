// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices on tensor cores, with k-tiles copied ahead.
///
///   C = alpha A B + beta C
///
/// Technique    the next k-tile is copied to a second stage while this one is multiplied, so that the
///              latency of a copy is hidden under the products of a k-tile, and one barrier a k-tile
///              is enough. `wmma_async_double_buffer` multiplies by `wmma`, from padded rows,
///              `mma_async_double_buffer` by `mma`, from rotated ones
/// Before       wmma_async; mma_async_double_buffer starts from mma_async
/// Shapes       row-major, B as it is or transposed; outside the matrices, k-tiles are zero
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 128) bytes
/// Launch       256 threads, two blocks per multiprocessor with f16 accumulators and one with f32;
///              2 k-tiles of 24 KiB (with `wmma` 30 KiB), where then up to 68 KiB of accumulators
///              are, in shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data, in eps of the
///              accumulators
#include "gemm/tensor_cores/gemm_half_rows.cuh"

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    gemm_half_double_buffer_kernel(HalfOperands<typename Tile::Type> p) {
  QUAD_DYNAMIC_SHARED(typename Tile::Type, shared);
  BlockCorner const corner = BlockCorner::of<Tile>(p);
  KTiles<Tile> k_tiles{p, corner};
  Warp<Tile> warp;
  auto* reading = shared;
  auto* filling = shared + Tile::kStageElements;
  k_tiles.start(reading);
  ptx::cp_async_commit();
  ptx::cp_async_wait<0>();
  __syncthreads();  // the first k-tile is complete
  for (int first = 0; first < p.k; first += Tile::kConfig.bk) {
    k_tiles.start(filling);
    ptx::cp_async_commit();
#pragma unroll
    for (int step = 0; step < Tile::kSteps; ++step) {
      typename Warp<Tile>::Fragments fragments;
      warp.load(fragments, reading, step);
      warp.multiply(fragments);
    }
    ptx::cp_async_wait<0>();
    __syncthreads();  // the next k-tile is complete, and all have read this one
    exchange(reading, filling);
  }
  write<Tile>(p, corner, warp, shared);
}

template <HalfConfig kConfig>
void launch(Problem const& problem, device::StreamView stream) {
  with_tile<kConfig>(problem, [&]<class Tile>(auto const& p, dim3 grid) {
    QUAD_LAUNCH(gemm_half_double_buffer_kernel<Tile>, grid, dim3(Tile::kThreads),
                Tile::kSharedBytes, stream, p);
  });
}

#endif  // QUAD_KERNELS

constexpr HalfConfig kWmma{.is_wmma = true, .layout = SmemLayout::padded, .stages = 2, .blocks = 2};
constexpr HalfConfig kMma{
    .layout = SmemLayout::rotated, .stages = 2, .epilogue = Epilogue::block_rotated, .blocks = 2};

}  // namespace

extern constinit Variant<Problem> const wmma_async_double_buffer{
    row("wmma_async_double_buffer", "wmma_async, with copies of the next k-tile under the products",
        kWmma),
    QUAD_KERNEL_LAUNCH(launch<kWmma>)};

extern constinit Variant<Problem> const mma_async_double_buffer{
    row("mma_async_double_buffer", "mma_async, with copies of the next k-tile under the products",
        kMma),
    QUAD_KERNEL_LAUNCH(launch<kMma>)};

}  // namespace quadrille::kernels::gemm
