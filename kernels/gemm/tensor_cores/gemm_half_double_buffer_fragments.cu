// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices on tensor cores, with fragments loaded ahead in a k-tile.
///
///   C = alpha A B + beta C
///
/// Technique    fragments of the next step are loaded to a second set of registers while this one
///              multiplies, so that tensor cores do not wait for shared memory in a k-tile; the first
///              fragments of a k-tile are waited for. `wmma_async_double_buffer_fragments`
///              multiplies by `wmma`, from padded rows, `mma_async_double_buffer_fragments` by `mma`,
///              from rotated ones
/// Before       wmma_async_double_buffer; mma_async_double_buffer_fragments starts from
///              mma_async_double_buffer
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
    gemm_half_double_buffer_fragments_kernel(HalfOperands<typename Tile::Type> p) {
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
    typename Warp<Tile>::Fragments fragments[2];
    warp.load(fragments[0], reading, 0);
#pragma unroll
    for (int step = 0; step < Tile::kSteps; ++step) {
      if (step + 1 < Tile::kSteps) {
        warp.load(fragments[(step + 1) % 2], reading, step + 1);
      }
      warp.multiply(fragments[step % 2]);
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
    QUAD_LAUNCH(gemm_half_double_buffer_fragments_kernel<Tile>, grid, dim3(Tile::kThreads),
                Tile::kSharedBytes, stream, p);
  });
}

#endif  // QUAD_KERNELS

constexpr HalfConfig kWmma{.is_wmma = true,
                           .layout = SmemLayout::padded,
                           .stages = 2,
                           .fragment_double_buffer = FragmentDoubleBuffer::in_k_tile,
                           .blocks = 2};
constexpr HalfConfig kMma{.layout = SmemLayout::rotated,
                          .stages = 2,
                          .fragment_double_buffer = FragmentDoubleBuffer::in_k_tile,
                          .epilogue = Epilogue::block_rotated,
                          .blocks = 2};

}  // namespace

extern constinit Variant<Problem> const wmma_async_double_buffer_fragments{
    row("wmma_async_double_buffer_fragments",
        "wmma_async_double_buffer, with fragments loaded ahead in a k-tile", kWmma),
    QUAD_KERNEL_LAUNCH(launch<kWmma>)};

extern constinit Variant<Problem> const mma_async_double_buffer_fragments{
    row("mma_async_double_buffer_fragments",
        "mma_async_double_buffer, with fragments loaded ahead in a k-tile", kMma),
    QUAD_KERNEL_LAUNCH(launch<kMma>)};

}  // namespace quadrille::kernels::gemm
