// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/attention_mma.cuh"
#include "common/ptx/copies.cuh"

/// Tiles of flash_v2, in shared memory: a block's queries, and keys and values; and their copies.
namespace quadrille::kernels::attention::flash {

inline constexpr int kThreads = 128;
inline constexpr int kQueries = 128;  // of a block
inline constexpr int kKeys = 64;      // of a tile
inline constexpr int kGroups = 2;     // of 16 queries each, of a warp
static_assert(kThreads / 32 * kGroups * 16 == kQueries);
template <int kHead>
inline constexpr std::size_t kSharedBytes = std::size_t{kRowBytes<kHead>} * (kQueries + 2 * kKeys);

#ifdef QUAD_KERNELS

/// The piece of a tile's rows that a thread copies, in each of so many rows at once.
template <int kHead>
struct CopyPlace {
  static constexpr int kRowsAtOnce = kThreads / Tile<kHead>::kPieces;
  int row, piece;
  __device__ CopyPlace()
      : row{static_cast<int>(threadIdx.x) / Tile<kHead>::kPieces},
        piece{static_cast<int>(threadIdx.x) % Tile<kHead>::kPieces} {}
  /// Of the element of the thread's first piece.
  __device__ int offset() const { return row * kHead + piece * 8; }
};

/// Starts the copy of kRows rows, of which `from` is the thread's first element; rows from `count` on
/// become zeros.
template <int kRows, int kHead, class T>
__device__ void copy_tile(T const* from, int count, Tile<kHead> to) {
  CopyPlace<kHead> const place;
  unsigned char* const first = to.at(place.row, place.piece);
#pragma unroll
  for (int e = 0; e < kRows; e += CopyPlace<kHead>::kRowsAtOnce) {
    ptx::cp_async<kPieceBytes>(first + e * kRowBytes<kHead>, from + e * kHead,
                               place.row + e < count);
  }
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::attention::flash
