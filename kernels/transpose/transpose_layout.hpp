// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.hpp"

/// Which element each thread of a block reads and writes.
namespace quadrille::kernels::transpose {

/// A row and a column of a tile.
struct Position {
  int row = 0;
  int col = 0;
};

/// One element per thread; consecutive threads are neighbours in a row of the tile.
template <int kBlockCols>
QUAD_HD constexpr Position one_element(int thread) {
  return {thread / kBlockCols, thread % kBlockCols};
}

/// A block of 32 x 8 threads that covers a tile of 32 x 32 in four steps.
inline constexpr int kTileSide = 32;
inline constexpr int kTileSteps = 4;
QUAD_HD constexpr Position tile_step(int thread, int step) {
  return {thread / kTileSide + step * (kTileSide / kTileSteps), thread % kTileSide};
}

/// The first element of row k of the thread tile of 4 x 4 elements that one of 16 x 16 threads
/// reads; the thread tile that it writes is the mirror image.
inline constexpr int kThreadTile = 4;
inline constexpr int kThreadsPerSide = 16;
QUAD_HD constexpr Position thread_tile_read(int thread, int k) {
  return {kThreadTile * (thread / kThreadsPerSide) + k, kThreadTile * (thread % kThreadsPerSide)};
}
QUAD_HD constexpr Position thread_tile_written(int thread, int k) {
  return {kThreadTile * (thread % kThreadsPerSide) + k, kThreadTile * (thread / kThreadsPerSide)};
}

/// Rows of 128 or 256 bytes, with which each of at most 256 threads has one thread tile.
QUAD_HD constexpr int side_of(int element_bytes) {
  return element_bytes == 8 ? 32 : element_bytes == 4 ? 64 : 128;
}

/// A tile of side x side elements, moved in pieces of 16 bytes and transposed in square thread
/// tiles as wide as a piece, of which each thread has kRounds.
template <int kElementBytes, int kTileSide = side_of(kElementBytes), int kRoundsOfThreads = 1>
struct Swizzled {
  static constexpr int kVector = 16 / kElementBytes;
  static constexpr int kSide = kTileSide;
  static constexpr int kPieces = kSide / kVector;  ///< of a row
  static constexpr int kThreadTiles = kPieces * kPieces;
  static constexpr int kRounds = kRoundsOfThreads;
  static constexpr int kThreads = kThreadTiles / kRounds;

  /// The first element of row k of a thread tile.
  QUAD_HD static constexpr Position read(int thread_tile, int k) {
    return {kVector * (thread_tile / kPieces) + k, kVector * (thread_tile % kPieces)};
  }
  /// The first element of a piece of the transposed tile.
  QUAD_HD static constexpr Position written(int piece) {
    return {piece / kPieces, kVector * (piece % kPieces)};
  }
  /// Where a piece of the transposed tile lies in shared memory. Threads with neighbouring thread
  /// tiles store pieces of one column, kVector rows apart: the exclusive or spreads eight of them,
  /// which the hardware stores at once, over all banks. Pieces of one row stay a permutation.
  QUAD_HD static constexpr int slot(int row, int piece) {
    return row * kPieces + (piece ^ (row / kVector % kPieces));
  }
};

/// Rows of 512 bytes for elements of 4 and 8 bytes: eight pieces for each thread.
template <int kElementBytes>
using WideTile = Swizzled<kElementBytes, 512 / kElementBytes, kElementBytes / 2>;

}  // namespace quadrille::kernels::transpose
