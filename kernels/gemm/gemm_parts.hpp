// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.hpp"

#include <algorithm>
#include <cstdint>

namespace quadrille::kernels::gemm {

/// A cut of an m x n matrix into rectangles for threads, in whole units of rows and columns.
struct Parts {
  std::int64_t m, n;
  std::int64_t row_unit, col_unit;
  std::int64_t rows, cols;  ///< number of parts each way

  std::int64_t count() const { return rows * cols; }
  core::Range rows_of(std::int64_t part) const { return range(m, row_unit, rows, part / cols); }
  core::Range cols_of(std::int64_t part) const { return range(n, col_unit, cols, part % cols); }

 private:
  static core::Range range(std::int64_t extent, std::int64_t unit, std::int64_t parts,
                           std::int64_t p) {
    core::Range const units = core::split_evenly((extent + unit - 1) / unit, parts, p);
    std::int64_t const first = std::min(extent, units.first * unit);
    return {first, std::min(extent, (units.first + units.count) * unit) - first};
  }
};

/// The cut into `count` parts with the shortest cut lines: every part packs its own share of A and
/// B. Parts may be empty.
inline Parts cut(std::int64_t m, std::int64_t n, std::int64_t count, std::int64_t row_unit,
                 std::int64_t col_unit) {
  std::int64_t best = 1;
  for (std::int64_t rows = 1; rows <= count; ++rows) {
    if (count % rows != 0) continue;
    if (m / rows + n / (count / rows) < m / best + n / (count / best)) best = rows;
  }
  return {m, n, row_unit, col_unit, best, count / best};
}

}  // namespace quadrille::kernels::gemm
