// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transpose straight from memory to memory, by blocks of four shapes.
///
///   out[j][i] = in[i][j]
///
/// Technique    one element per thread. Blocks 32 threads wide: a warp reads a stretch of one row,
///              and writes 32 elements of 32 rows. Blocks 8 wide: a warp reads 8 elements of 4
///              rows and writes 4 elements of 8 rows, so that half of each sector of 32 bytes
///              written is used in place of an eighth (f32). Between them, 16 wide, 2 rows are
///              read and 16 written; blocks 4 wide read only half of each sector
/// Shapes       row-major, any extents, leading dimensions and alignment, not overlapping
/// Work         2 m n s bytes; f32 sectors per request, read and written: 4 and 32; 4 and 16; 4 and 8;
///              8 and 4
/// Launch       32 x 8, 16 x 16, 8 x 32 or 4 x 64 threads per block, one element each
/// Accuracy     exact
#include "transpose/transpose_tiles.cuh"

namespace quadrille::kernels::transpose {
namespace {

constexpr int kThreads = 256;

#ifdef QUAD_KERNELS

template <class T, int kBlockCols>
__global__ void __launch_bounds__(kThreads) transpose_naive_kernel(Operands<T> p, Tiling tiling) {
  constexpr int kBlockRows = kThreads / kBlockCols;
  Position const tile = tiling.tile(blockIdx.x);
  Position const own = one_element<kBlockCols>(static_cast<int>(threadIdx.x));
  std::int64_t const i = std::int64_t{tile.row} * kBlockRows + own.row;
  std::int64_t const j = std::int64_t{tile.col} * kBlockCols + own.col;

  if (i < p.m && j < p.n) p.out[j * p.out_ld + i] = p.in[i * p.in_ld + j];
}

template <int kBlockCols>
void launch(Problem const& problem, device::StreamView stream) {
  // Along the rows of tiles: the plain order of blocks.
  Tiling const tiling = tiles_of(problem.in, kThreads / kBlockCols, kBlockCols);
  with_operands(problem, [&]<class T>(Operands<T> const& operands) {
    QUAD_LAUNCH((transpose_naive_kernel<T, kBlockCols>), dim3(tiling.count()), dim3(kThreads), 0,
                stream, operands, tiling);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const naive_32x8{
    {.name = "naive_32x8",
     .where = Where::cuda,
     .types = kEveryType,
     .needs = {.tile = {32, kThreads / 32}},
     .source = "note on Nsight Compute",
     .summary = "blocks 32 wide; f32 sectors per request 4 and 32"},
    QUAD_KERNEL_LAUNCH(launch<32>)};

extern constinit Variant<Problem> const naive_16x16{
    {.name = "naive_16x16",
     .where = Where::cuda,
     .types = kEveryType,
     .needs = {.tile = {16, kThreads / 16}},
     .source = "note on Nsight Compute",
     .summary = "blocks 16 wide; f32 sectors per request 4 and 16"},
    QUAD_KERNEL_LAUNCH(launch<16>)};

extern constinit Variant<Problem> const naive_8x32{
    {.name = "naive_8x32",
     .where = Where::cuda,
     .types = kEveryType,
     .needs = {.tile = {8, kThreads / 8}},
     .source = "note on Nsight Compute",
     .summary = "blocks 8 wide; f32 sectors per request 4 and 8"},
    QUAD_KERNEL_LAUNCH(launch<8>)};

extern constinit Variant<Problem> const naive_4x64{
    {.name = "naive_4x64",
     .where = Where::cuda,
     .types = kEveryType,
     .needs = {.tile = {4, kThreads / 4}},
     .source = "note on Nsight Compute",
     .summary = "blocks 4 wide; f32 sectors per request 8 and 4"},
    QUAD_KERNEL_LAUNCH(launch<4>)};

}  // namespace quadrille::kernels::transpose
