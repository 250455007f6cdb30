// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace quadrille::comm {

/// A contiguous run of device memory that an exchange reads.
struct ConstPiece {
  void const* data = nullptr;
  std::size_t bytes = 0;
};
/// A contiguous run of device memory that an exchange writes.
struct Piece {
  void* data = nullptr;
  std::size_t bytes = 0;
  operator ConstPiece() const { return {data, bytes}; }
};

/// Place of rank r in what has an entry per rank.
inline std::size_t index(int r) { return static_cast<std::size_t>(r); }

/// Part of a piece that starts at `first`, at most `bytes` long; empty beyond its end.
template <class P>
P part_of(P piece, std::size_t first, std::size_t bytes) {
  if (first >= piece.bytes) return {};
  using Byte = std::conditional_t<std::is_same_v<P, Piece>, std::byte, std::byte const>;
  return {static_cast<Byte*>(piece.data) + first, std::min(bytes, piece.bytes - first)};
}

template <class Pieces>
std::size_t total_of(Pieces const& pieces) {
  std::size_t bytes = 0;
  for (auto const& piece : pieces) bytes += piece.bytes;
  return bytes;
}

template <class Pieces>
std::size_t largest_of(Pieces const& pieces) {
  std::size_t bytes = 0;
  for (auto const& piece : pieces) bytes = std::max(bytes, piece.bytes);
  return bytes;
}

}  // namespace quadrille::comm
