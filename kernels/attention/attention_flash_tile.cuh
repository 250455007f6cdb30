// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/attention_mma.cuh"
#include "common/ptx/copies.cuh"

/// A block's tile of queries, and the tiles of keys and values that it sees, by the way of flash_v2.
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

/// The keys that queries from `first` on see, a tile of queries in all, and use(row, column, low, high,
/// largest, total) for pairs of neighbours of what was summed, see WarpRows. All threads of the block call
/// it, once.
template <class T, int kHead, class Use>
__device__ void attend(Operands<T> const& p, int head, int first, unsigned char* shared,
                       Use const& use) {
  Tile<kHead> const queries{shared}, keys{queries.at(kQueries, 0)}, values{keys.at(kKeys, 0)};
  int const seen = visible(p, min(first + kQueries, p.queries) - 1);  // by the last row
  int const seen_by_all = visible(p, first);

  // In k and in v, of the tile that is copied next.
  long long from = first_key<kHead>(p, head) + CopyPlace<kHead>{}.offset();
  WarpRows<T, kHead, kGroups, kKeys> rows{static_cast<int>(threadIdx.x) / 32 * kGroups * 16,
                                          p.scale};
  if (seen > 0) {
    copy_tile<kQueries, kHead>(
        p.q + first_query<kHead>(p, head) + first * kHead + CopyPlace<kHead>{}.offset(),
        p.queries - first, queries);
    copy_tile<kKeys, kHead>(p.k + from, p.keys, keys);
  }
  ptx::cp_async_commit();
  auto const take_keys = [&]<bool kMasked>(int key) {
    ptx::cp_async_wait<0>();
    __syncthreads();  // the keys are there, and nobody reads the values before any more
    copy_tile<kKeys, kHead>(p.v + from, p.keys - key, values);
    ptx::cp_async_commit();
    rows.multiply_keys(queries, keys);
    ptx::cp_async_wait<0>();
    __syncthreads();  // the values are there, and nobody reads the keys any more
    from += kKeys * kHead;
    if (key + kKeys < seen) copy_tile<kKeys, kHead>(p.k + from, p.keys - key - kKeys, keys);
    ptx::cp_async_commit();
    if constexpr (kMasked) rows.mask([&](int row) { return visible(p, first + row) - key; });
    rows.weigh();
    rows.multiply_values(values);
  };
  int key = 0;
  for (; key + kKeys <= seen_by_all; key += kKeys) take_keys.template operator()<false>(key);
  for (; key < seen; key += kKeys) take_keys.template operator()<true>(key);
  rows.for_pairs(use);
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::attention::flash
