// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transpose/transpose_thread_tile.cuh"
#include "transpose/transpose_tiles.cuh"

/// The tile of Swizzled from global memory through registers and shared memory to its mirror image.
namespace quadrille::kernels::transpose {

#ifdef QUAD_KERNELS

/// One tile, whose first element is (i0, j0) of in; kWhole where all of it lies in the matrix.
template <class Shape, bool kWhole, class T>
__device__ __forceinline__ void move_tile(Operands<T> const& p, std::int64_t i0, std::int64_t j0,
                                          Piece* tile) {
  constexpr int kVector = Shape::kVector;
  static_assert(Shape::kRounds * Shape::kThreads == Shape::kThreadTiles);
  constexpr int kWrites = Shape::kSide * Shape::kPieces / Shape::kThreads;
  auto const thread = static_cast<int>(threadIdx.x);
  int rows = Shape::kSide;
  int cols = Shape::kSide;
  if constexpr (!kWhole) {
    rows = static_cast<int>(p.m - i0 < rows ? p.m - i0 : rows);
    cols = static_cast<int>(p.n - j0 < cols ? p.n - j0 : cols);
  }

  // Load
  Piece thread_tile[Shape::kRounds][kVector];
#pragma unroll
  for (int round = 0; round < Shape::kRounds; ++round) {
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      Position const from = Shape::read(thread + round * Shape::kThreads, k);
      int const count = kWhole ? kVector : from.row < rows ? cols - from.col : 0;
      thread_tile[round][k] = load_piece(p.in + (i0 + from.row) * p.in_ld + j0 + from.col, count);
    }
  }
  // Transpose
#pragma unroll
  for (int round = 0; round < Shape::kRounds; ++round) {
    Position const corner = Shape::read(thread + round * Shape::kThreads, 0);
#pragma unroll
    for (int c = 0; c < kVector; ++c) {
      tile[Shape::slot(corner.col + c, corner.row / kVector)] =
          transposed_column<T>(thread_tile[round], c);
    }
  }
  // A thread stores what others have transposed.
  __syncthreads();
  // Store
#pragma unroll
  for (int write = 0; write < kWrites; ++write) {
    Position const to = Shape::written(thread + write * Shape::kThreads);
    int const count = kWhole ? kVector : to.row < cols ? rows - to.col : 0;
    store_piece(p.out + (j0 + to.row) * p.out_ld + i0 + to.col,
                tile[Shape::slot(to.row, to.col / kVector)], count);
  }
}

/// The tile at `position`, in tiles.
template <class Shape, class T>
__device__ __forceinline__ void move_tile(Operands<T> const& p, Position position, Piece* tile) {
  std::int64_t const i0 = std::int64_t{position.row} * Shape::kSide;
  std::int64_t const j0 = std::int64_t{position.col} * Shape::kSide;
  if (p.m - i0 >= Shape::kSide && p.n - j0 >= Shape::kSide) {
    move_tile<Shape, true>(p, i0, j0, tile);
  } else {
    move_tile<Shape, false>(p, i0, j0, tile);
  }
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::transpose
