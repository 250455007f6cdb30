// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices on tensor cores, with asynchronous copies.
///
///   C = alpha A B + beta C
///
/// Technique    cp.async copies k-tiles without registers; it is waited for at once. `wmma_async`
///              multiplies by `wmma`, from padded rows, `mma_async` by `mma`, from rotated ones
/// Before       wmma_padding; mma_async starts from mma_permuted
/// Shapes       row-major, B as it is or transposed; outside the matrices, k-tiles are zero
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 128) bytes
/// Launch       256 threads, two blocks per multiprocessor with f16 accumulators and one with f32;
///              a k-tile of 24 KiB (`wmma_async`: 30 KiB), where then up to 68 KiB of accumulators
///              are, in shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data, in eps of the
///              accumulators
#include "gemm/tensor_cores/gemm_half_rows.cuh"

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    gemm_half_async_kernel(HalfOperands<typename Tile::Type> p) {
  QUAD_DYNAMIC_SHARED(typename Tile::Type, stage);
  BlockCorner const corner = BlockCorner::of<Tile>(p);
  KTiles<Tile> k_tiles{p, corner};
  Warp<Tile> warp;
  for (int first = 0; first < p.k; first += Tile::kConfig.bk) {
    k_tiles.start(stage);
    ptx::cp_async_commit();
    ptx::cp_async_wait<0>();
    __syncthreads();  // the k-tile is complete
#pragma unroll
    for (int step = 0; step < Tile::kSteps; ++step) {
      typename Warp<Tile>::Fragments fragments;
      warp.load(fragments, stage, step);
      warp.multiply(fragments);
    }
    __syncthreads();  // all have read it
  }
  write<Tile>(p, corner, warp, stage);
}

template <HalfConfig kConfig>
void launch(Problem const& problem, device::StreamView stream) {
  with_tile<kConfig>(problem, [&]<class Tile>(auto const& p, dim3 grid) {
    QUAD_LAUNCH(gemm_half_async_kernel<Tile>, grid, dim3(Tile::kThreads), Tile::kSharedBytes,
                stream, p);
  });
}

#endif  // QUAD_KERNELS

constexpr HalfConfig kWmma{.is_wmma = true, .layout = SmemLayout::padded, .blocks = 2};
constexpr HalfConfig kMma{
    .layout = SmemLayout::rotated, .epilogue = Epilogue::block_rotated, .blocks = 2};

}  // namespace

extern constinit Variant<Problem> const wmma_async{
    row("wmma_async", "wmma_padding with asynchronous copies", kWmma),
    QUAD_KERNEL_LAUNCH(launch<kWmma>)};

extern constinit Variant<Problem> const mma_async{
    row("mma_async", "mma_permuted with asynchronous copies", kMma),
    QUAD_KERNEL_LAUNCH(launch<kMma>)};

}  // namespace quadrille::kernels::gemm
