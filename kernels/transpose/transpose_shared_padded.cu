// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transpose of padded tiles in shared memory.
///
///   out[j][i] = in[i][j]
///
/// Technique    each row of the tile is longer by one element (by one bank where elements are
///              smaller), so that a column of it spreads over all banks: no conflicts
///                  f32        32 words a row: banks      33 words a row: banks
///                  column      0   1   2 ...  31          0   1   2 ...  31
///                  row  0      0   1   2 ...  31          0   1   2 ...  31
///                  row  1      0   1   2 ...  31          1   2   3 ...   0
///                  row  2      0   1   2 ...  31          2   3   4 ...   1
///                  ...
///                  row 31      0   1   2 ...  31         31   0   1 ...  30
///                  a warp reads a column: 32 words of one bank, with the pad a word of each
/// Before       shared_tile
/// Shapes       row-major, any extents, leading dimensions and alignment, not overlapping
/// Work         2 m n s bytes; f32 sectors per request, read and written: 4 and 4
/// Launch       32 x 8 threads per block, a tile of 32 x 32, 1056 s bytes of shared memory (1152
///              where s is 1, 2176 where it is 2)
/// Accuracy     exact
#include "transpose/transpose_tiles.cuh"

namespace quadrille::kernels::transpose {
namespace {

constexpr int kThreads = kTileSide * kTileSide / kTileSteps;

#ifdef QUAD_KERNELS

template <class T>
__global__ void __launch_bounds__(kThreads)
    transpose_shared_padded_kernel(Operands<T> p, Tiling tiling) {
  // changed: a column more, so that the rows of a column are in different banks
  // A row of 33, 17 or 9 banks: any odd number.
  constexpr int kPad = sizeof(T) >= 4 ? 1 : 4 / sizeof(T);
  QUAD_SHARED(T, tile, [kTileSide][kTileSide + kPad]);
  Position const position = tiling.tile(blockIdx.x);
  std::int64_t const i0 = std::int64_t{position.row} * kTileSide;
  std::int64_t const j0 = std::int64_t{position.col} * kTileSide;

  // Load
#pragma unroll
  for (int step = 0; step < kTileSteps; ++step) {
    Position const own = tile_step(static_cast<int>(threadIdx.x), step);
    std::int64_t const i = i0 + own.row;
    std::int64_t const j = j0 + own.col;
    if (i < p.m && j < p.n) tile[own.row][own.col] = p.in[i * p.in_ld + j];
  }
  // A thread stores what others have loaded.
  __syncthreads();
  // Store
#pragma unroll
  for (int step = 0; step < kTileSteps; ++step) {
    Position const own = tile_step(static_cast<int>(threadIdx.x), step);
    std::int64_t const j = j0 + own.row;
    std::int64_t const i = i0 + own.col;
    if (i < p.m && j < p.n) p.out[j * p.out_ld + i] = tile[own.col][own.row];
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  Tiling const tiling = tiles_of(problem.in, kTileSide, kTileSide);
  with_operands(problem, [&]<class T>(Operands<T> const& operands) {
    QUAD_LAUNCH((transpose_shared_padded_kernel<T>), dim3(tiling.count()), dim3(kThreads), 0,
                stream, operands, tiling);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const shared_padded{
    {.name = "shared_padded",
     .where = Where::cuda,
     .types = kEveryType,
     .needs = {.tile = {kTileSide, kTileSide}},
     .source = "own",
     .summary = "padded tiles; f32 sectors per request 4 and 4"},
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::transpose
