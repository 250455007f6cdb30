// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/ptx/copies.cuh"

#include <cstring>

/// Thread tiles: as many rows of 16 bytes (pieces) as a piece has elements, in registers.
namespace quadrille::kernels::transpose {

#ifdef QUAD_KERNELS

/// 16 bytes as words.
struct alignas(16) Piece {
  std::uint32_t word[4];
};

/// 16 bytes as elements.
template <class T>
struct alignas(16) Elements {
  T of[16 / sizeof(T)];
};

/// By value, so that memory is read by one access and not byte by byte.
template <class To, class From>
__device__ __forceinline__ To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

/// Reads `count` elements of a piece that starts at `from`; a whole one at once.
template <class T>
__device__ __forceinline__ Piece load_piece(T const* from, int count) {
  constexpr int kVector = 16 / sizeof(T);
  if (count >= kVector) {
    uint4 const whole = *reinterpret_cast<uint4 const*>(from);
    return same_bits<Piece>(whole);
  }
  Elements<T> part{};
#pragma unroll
  for (int e = 0; e < kVector; ++e) {
    if (e < count) part.of[e] = from[e];
  }
  return same_bits<Piece>(part);
}

template <class T>
__device__ __forceinline__ void store_piece(T* to, Piece piece, int count) {
  constexpr int kVector = 16 / sizeof(T);
  if (count >= kVector) {
    return ptx::store_streaming(reinterpret_cast<uint4*>(to), same_bits<uint4>(piece));
  }
  auto const part = same_bits<Elements<T>>(piece);
#pragma unroll
  for (int e = 0; e < kVector; ++e) {
    if (e < count) to[e] = part.of[e];
  }
}

/// Word q of column c of a thread tile. Indices are constants once loops are unrolled, so that
/// elements of 4 and 8 bytes cost no instruction and smaller ones a byte permutation each.
template <class T, int kVector>
__device__ __forceinline__ std::uint32_t transposed_word(Piece const (&row)[kVector], int c,
                                                         int q) {
  if constexpr (sizeof(T) == 8) return row[q / 2].word[2 * c + q % 2];
  if constexpr (sizeof(T) == 4) return row[q].word[c];
  if constexpr (sizeof(T) == 2) {
    return __byte_perm(row[2 * q].word[c / 2], row[2 * q + 1].word[c / 2],
                       c % 2 == 0 ? 0x5410U : 0x7632U);
  }
  if constexpr (sizeof(T) == 1) {
    // Bytes of two rows side by side, for two pairs of rows. Columns with the same selector share
    // these instructions.
    unsigned const pair = c % 4 < 2 ? 0x5140U : 0x7362U;
    std::uint32_t const low = __byte_perm(row[4 * q].word[c / 4], row[4 * q + 1].word[c / 4], pair);
    std::uint32_t const high =
        __byte_perm(row[4 * q + 2].word[c / 4], row[4 * q + 3].word[c / 4], pair);
    return __byte_perm(low, high, c % 2 == 0 ? 0x5410U : 0x7632U);
  }
}

/// Column c of a thread tile.
template <class T, int kVector>
__device__ __forceinline__ Piece transposed_column(Piece const (&row)[kVector], int c) {
  Piece column;
#pragma unroll
  for (int q = 0; q < 4; ++q) column.word[q] = transposed_word<T>(row, c, q);
  return column;
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::transpose
