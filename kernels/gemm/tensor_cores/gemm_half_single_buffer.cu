// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices on tensor cores, from one k-tile in shared memory.
///
///   C = alpha A B + beta C
///
/// Technique    a block computes 256 x 128 elements of C, each of its 8 warps 64 x 64 of them. k
///              advances in k-tiles of 32, which all threads copy to shared memory in vectors of 16
///              bytes, through registers, and of which a warp loads fragments in two steps of 16. A
///              warp multiplies its tiles there and back, so that each shares a fragment with the
///              one before, and stores accumulators in f16 to shared memory as a whole tile of C, of
///              which then each warp stores 32 rows, 16 lanes the 256 bytes of one; those in f32 go
///              by 16 rows of each warp. Blocks run in slabs of 16 columns of
///              blocks, every other slab upwards, so that those that run together share A and B in
///              L2.
///              `wmma_base` multiplies 4 x 4 tiles of `wmma` 16 x 16 x 16. Rows of its k-tile of A
///              lie 64 bytes apart, so that 8 of them meet in banks 4 by 4.
///              `wmma_padding` has 16 bytes behind each row of a k-tile, so that 8 neighbouring rows
///              lie in different banks.
///              `mma_base` multiplies 4 x 8 tiles by `mma` m16n8k16. Where elements lie in its
///              registers is known: ldmatrix loads four matrices of 8 x 8 at once, transposed for a
///              B that is not, and accumulators reach shared memory in rows that are rotated by 16
///              bytes each.
///              `mma_permuted` rotates the vectors of 16 bytes in a row of a k-tile, by another
///              number of vectors in every 128 bytes, so that copies and ldmatrix meet 8 vectors in
///              different banks, without padding
/// Before       wmma_naive; wmma_padding and mma_base start from wmma_base, mma_permuted from
///              mma_base
/// Shapes       row-major, B as it is or transposed; outside the matrices, k-tiles are zero
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 128) bytes
/// Launch       256 threads, two blocks per multiprocessor with f16 accumulators and one with f32;
///              a k-tile of 24 KiB (`wmma_padding`: 30 KiB), where then up to 68 KiB of accumulators
///              are, in shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data, in eps of the
///              accumulators
#include "gemm/tensor_cores/gemm_half_rows.cuh"

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    gemm_half_single_buffer_kernel(HalfOperands<typename Tile::Type> p) {
  QUAD_DYNAMIC_SHARED(typename Tile::Type, stage);
  BlockCorner const corner = BlockCorner::of<Tile>(p);
  KTiles<Tile> k_tiles{p, corner};
  Warp<Tile> warp;
  for (int first = 0; first < p.k; first += Tile::kConfig.bk) {
    k_tiles.copy(stage);
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
    QUAD_LAUNCH(gemm_half_single_buffer_kernel<Tile>, grid, dim3(Tile::kThreads),
                Tile::kSharedBytes, stream, p);
  });
}

#endif  // QUAD_KERNELS

constexpr HalfConfig kWmmaBase{.is_wmma = true, .blocks = 2};
constexpr HalfConfig kWmmaPadding{.is_wmma = true, .layout = SmemLayout::padded, .blocks = 2};
constexpr HalfConfig kMmaBase{.epilogue = Epilogue::block_rotated, .blocks = 2};
constexpr HalfConfig kMmaPermuted{
    .layout = SmemLayout::rotated, .epilogue = Epilogue::block_rotated, .blocks = 2};

}  // namespace

extern constinit Variant<Problem> const wmma_base{
    row("wmma_base", "wmma; block 256 x 128 x 32, warp 64 x 64", kWmmaBase),
    QUAD_KERNEL_LAUNCH(launch<kWmmaBase>)};

extern constinit Variant<Problem> const wmma_padding{
    row("wmma_padding", "wmma_base with padded rows in shared memory", kWmmaPadding),
    QUAD_KERNEL_LAUNCH(launch<kWmmaPadding>)};

extern constinit Variant<Problem> const mma_base{
    row("mma_base", "mma; block 256 x 128 x 32, warp 64 x 64", kMmaBase),
    QUAD_KERNEL_LAUNCH(launch<kMmaBase>)};

extern constinit Variant<Problem> const mma_permuted{
    row("mma_permuted", "mma_base with rotated rows in shared memory", kMmaPermuted),
    QUAD_KERNEL_LAUNCH(launch<kMmaPermuted>)};

}  // namespace quadrille::kernels::gemm
