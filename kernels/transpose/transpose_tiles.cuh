// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/simt.cuh"
#include "transpose/transpose.hpp"
#include "transpose/transpose_layout.hpp"

#include <type_traits>

namespace quadrille::kernels::transpose {

/// The pointers of a problem, as unsigned integers of the element's size: a transpose moves bits.
template <class T>
struct Operands {
  T const* in;
  std::int64_t in_ld;
  T* out;
  std::int64_t out_ld;
  std::int64_t m, n;
};

/// The tiles of a matrix as a one-dimensional grid, row after row of tiles, so that any extents
/// fit. How many there may be is in Requirements::tile.
struct Tiling {
  unsigned down = 0, across = 0;

  QUAD_HD unsigned count() const { return down * across; }
  /// The row and column of tile `index`, in tiles.
  QUAD_HD Position tile(unsigned index) const {
    return {static_cast<int>(index / across), static_cast<int>(index % across)};
  }
};

inline Tiling tiles_of(device::MatrixView const& in, std::int64_t tile_rows,
                       std::int64_t tile_cols) {
  std::int64_t const down = (in.rows + tile_rows - 1) / tile_rows;
  std::int64_t const across = (in.cols + tile_cols - 1) / tile_cols;
  return {static_cast<unsigned>(down), static_cast<unsigned>(across)};
}

/// Calls launch(operands) with the integer type of the problem's element size; not for a matrix
/// without elements.
template <class Launch>
void with_operands(Problem const& p, Launch&& launch) {
  if (p.in.rows == 0 || p.in.cols == 0) return;
  auto const typed = [&](auto zero) {
    using T = decltype(zero);
    launch(Operands<T>{static_cast<T const*>(p.in.data), p.in.ld, static_cast<T*>(p.out.data),
                       p.out.ld, p.in.rows, p.in.cols});
  };
  switch (core::size_of(p.in.type)) {
    case 8: return typed(std::uint64_t{});
    case 4: return typed(std::uint32_t{});
    case 2: return typed(std::uint16_t{});
    default: return typed(std::uint8_t{});
  }
}

/// Whether rows of the matrix start at multiples of 16 bytes.
inline bool rows_aligned(device::MatrixView const& view) {
  return reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0 &&
         static_cast<std::size_t>(view.ld) * core::size_of(view.type) % 16 == 0;
}

}  // namespace quadrille::kernels::transpose
