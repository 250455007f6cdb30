// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.hpp"

/// Which element each thread of a block reads and writes: shared by the kernels and the model of
/// their memory accesses.
namespace quadrille::kernels::transpose {

/// A row and a column of a tile.
struct Place {
  int row = 0;
  int col = 0;
};

/// One element a thread: threads along a row of the tile are neighbours.
template <int kBlockCols>
QUAD_HD constexpr Place one_element(int thread) {
  return {thread / kBlockCols, thread % kBlockCols};
}

/// A block of 32 x 8 threads that goes over a tile of 32 x 32 in four steps.
inline constexpr int kTileSide = 32;
inline constexpr int kTileSteps = 4;
QUAD_HD constexpr Place tile_step(int thread, int step) {
  return {thread / kTileSide + step * (kTileSide / kTileSteps), thread % kTileSide};
}

/// The first element of row k of the patch of 4 x 4 elements that a thread of 16 x 16 reads; the
/// patch that it writes is the mirror image.
inline constexpr int kPatch = 4;
inline constexpr int kPatchThreads = 16;
QUAD_HD constexpr Place patch_read(int thread, int k) {
  return {kPatch * (thread / kPatchThreads) + k, kPatch * (thread % kPatchThreads)};
}
QUAD_HD constexpr Place patch_written(int thread, int k) {
  return {kPatch * (thread % kPatchThreads) + k, kPatch * (thread / kPatchThreads)};
}

/// A tile of side x side elements, moved in pieces of 16 bytes and turned in square patches as wide
/// as a piece. Rows of 128 or 256 bytes; each thread has one patch.
template <int kElementBytes>
struct Swizzled {
  static constexpr int kVector = 16 / kElementBytes;
  static constexpr int kSide = kElementBytes == 8 ? 32 : kElementBytes == 4 ? 64 : 128;
  static constexpr int kPieces = kSide / kVector;  ///< of a row
  static constexpr int kPatches = kPieces * kPieces;
  static constexpr int kThreads = kElementBytes == 1 ? 64 : 256;

  /// The first element of row k of a patch.
  QUAD_HD static constexpr Place read(int patch, int k) {
    return {kVector * (patch / kPieces) + k, kVector * (patch % kPieces)};
  }
  /// The first element of a piece of the turned tile.
  QUAD_HD static constexpr Place written(int piece) {
    return {piece / kPieces, kVector * (piece % kPieces)};
  }
  /// Where a piece of the turned tile lies in shared memory. Threads that turn neighbouring patches
  /// store pieces of one column, kVector rows apart: the exclusive or spreads eight of them, which
  /// one step of the hardware stores, over all banks. Pieces of one row stay a permutation.
  QUAD_HD static constexpr int slot(int row, int piece) {
    return row * kPieces + (piece ^ (row / kVector % kPieces));
  }
};

}  // namespace quadrille::kernels::transpose
