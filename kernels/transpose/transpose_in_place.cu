// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// In-place transpose of a square matrix.
///
///   a[i][j], a[j][i] = a[j][i], a[i][j]
///
/// Technique    a block reads a tile and its mirror image into shared memory, both before it
///              writes either: no second matrix, for the same traffic. Rows of tiles are folded,
///              the first with the last, so that a rectangle of blocks covers the triangle of
///              pairs
/// Shapes       row-major n x n, any leading dimension and alignment; out is in
/// Work         2 n^2 s bytes; f32 sectors per request, read and written: 4 and 4
/// Launch       32 x 8 threads per block, two tiles of 32 x 32, padded as in shared_padded: 2112
///              s bytes of shared memory (2304, 2176 where s is 1, 2)
/// Accuracy     exact
#include "transpose/transpose_tiles.cuh"

namespace quadrille::kernels::transpose {
namespace {

constexpr int kThreads = kTileSide * kTileSide / kTileSteps;

#ifdef QUAD_KERNELS

/// Row and column of pair `index` of the upper triangle of `side` rows: row r has side - r pairs,
/// and with row side - 1 - r below it side + 1. The middle one of an odd number of rows occurs
/// twice, the second time as a position below the diagonal.
__device__ Position pair_of(unsigned index, unsigned side) {
  unsigned const row = index / (side + 1);
  unsigned const along = index % (side + 1);
  if (along < side - row) return {static_cast<int>(row), static_cast<int>(row + along)};
  unsigned const folded = side - 1 - row;
  if (folded == row) return {1, 0};
  return {static_cast<int>(folded), static_cast<int>(along) - 1};
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    transpose_in_place_kernel(T* a, std::int64_t ld, std::int64_t n, unsigned side) {
  // A row of 33, 17 or 9 banks: any odd number.
  constexpr int kPad = sizeof(T) >= 4 ? 1 : 4 / sizeof(T);
  QUAD_SHARED(T, upper, [kTileSide][kTileSide + kPad]);
  QUAD_SHARED(T, lower, [kTileSide][kTileSide + kPad]);
  Position const pair = pair_of(blockIdx.x, side);
  if (pair.row > pair.col) return;
  std::int64_t const i0 = std::int64_t{pair.row} * kTileSide;
  std::int64_t const j0 = std::int64_t{pair.col} * kTileSide;

  // Load
#pragma unroll
  for (int step = 0; step < kTileSteps; ++step) {
    Position const own = tile_step(static_cast<int>(threadIdx.x), step);
    if (i0 + own.row < n && j0 + own.col < n) {
      upper[own.row][own.col] = a[(i0 + own.row) * ld + j0 + own.col];
    }
    if (j0 + own.row < n && i0 + own.col < n) {
      lower[own.row][own.col] = a[(j0 + own.row) * ld + i0 + own.col];
    }
  }
  // A thread stores what others have loaded, and nothing is stored before both tiles are loaded.
  __syncthreads();
  // Store
#pragma unroll
  for (int step = 0; step < kTileSteps; ++step) {
    Position const own = tile_step(static_cast<int>(threadIdx.x), step);
    if (i0 + own.row < n && j0 + own.col < n) {
      a[(i0 + own.row) * ld + j0 + own.col] = lower[own.col][own.row];
    }
    // On the diagonal both tiles are the same, which is written already.
    if (pair.row != pair.col && j0 + own.row < n && i0 + own.col < n) {
      a[(j0 + own.row) * ld + i0 + own.col] = upper[own.col][own.row];
    }
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  Tiling const tiling = tiles_of(problem.in, kTileSide, kTileSide);
  unsigned const side = tiling.down;
  unsigned const pairs = (side + 1) / 2 * (side + 1);
  with_operands(problem, [&]<class T>(Operands<T> const& operands) {
    QUAD_LAUNCH((transpose_in_place_kernel<T>), dim3(pairs), dim3(kThreads), 0, stream,
                operands.out, operands.out_ld, operands.n, side);
  });
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& problem) {
  if (problem.in.rows != problem.in.cols) return "needs a square matrix";
  bool const is_one = problem.in.data == problem.out.data && problem.in.ld == problem.out.ld;
  return is_one ? "" : "needs in and out to be the same matrix";
}

}  // namespace

extern constinit Variant<Problem> const in_place{
    {.name = "in_place",
     .where = Where::cuda,
     .types = kEveryType,
     .needs = {.tile = {kTileSide, kTileSide}, .other = "a square matrix, out is in"},
     .in_place = true,
     .source = "own",
     .summary = "pairs of tiles swapped; f32 sectors per request 4 and 4"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported}};

}  // namespace quadrille::kernels::transpose
