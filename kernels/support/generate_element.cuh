// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/simt.cuh"
#include "support/generate.hpp"

#include <algorithm>

namespace quadrille::kernels::generate {

/// What both kernels need of a Problem, without the pointer.
struct Place {
  std::int64_t rows, cols, ld;
  IndexMap row_map, col_map;
  bool transposed;
  core::DataKind kind;
  std::uint64_t seed, tag;
};

inline Place place_of(Problem const& p) {
  return {p.data.rows, p.data.cols, p.data.ld, p.rows, p.cols, p.transposed, p.kind, p.seed, p.tag};
}

/// The value of element (i, j) of this rank's part.
template <class T>
__device__ T element(Place const& place, std::int64_t i, std::int64_t j) {
  std::int64_t const row = place.row_map.global(i);
  std::int64_t const col = place.col_map.global(j);
  return place.transposed ? core::generate<T>(place.kind, place.seed, place.tag, col, row)
                          : core::generate<T>(place.kind, place.seed, place.tag, row, col);
}

inline constexpr int kThreads = 256;

/// Blocks of kThreads for so many elements: enough to fill the device, then a grid stride.
inline unsigned blocks_for(std::int64_t elements, device::StreamView stream) {
  std::int64_t const resident = std::int64_t{stream.facts().multiprocessors} * 8;
  return static_cast<unsigned>(
      std::max<std::int64_t>(1, std::min((elements + kThreads - 1) / kThreads, resident)));
}

}  // namespace quadrille::kernels::generate
