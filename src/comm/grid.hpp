// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/group.hpp"
#include "core/config.hpp"

#include <cstdint>
#include <string>

namespace quadrille::comm {

/// The most nearly square P x Q = ranks with P <= Q.
core::GridShape near_square(int ranks);
/// "1x6, 2x3, 3x2, 6x1": every grid of that many ranks, for messages.
std::string list_grids(int ranks);

/// P x Q processes in row-major order: rank = row * Q + column.
class Grid {
 public:
  Grid() = default;
  /// Collective. `shape` 0x0 takes near_square(); any other must have rows * cols == world.size().
  Grid(Group const& world, core::GridShape shape);
  int rows() const { return rows_; }
  int cols() const { return cols_; }
  int row() const { return row_; }
  int col() const { return col_; }
  Group const& row_group() const { return row_group_; }  ///< same row; rank in it = column
  Group const& col_group() const { return col_group_; }  ///< same column; rank in it = row

 private:
  int rows_ = 0, cols_ = 0, row_ = 0, col_ = 0;
  Group row_group_, col_group_;
};

/// One dimension of n indices dealt in blocks of `block` to `parts` processes in turn;
/// block = 0 gives one block of ceil(n / parts) per process.
class Distribution {
 public:
  Distribution() = default;
  Distribution(std::int64_t n, std::int64_t block, int parts);
  std::int64_t size() const { return n_; }
  std::int64_t block() const { return block_; }
  int parts() const { return parts_; }
  int owner(std::int64_t global) const { return static_cast<int>(global / block_ % parts_); }
  std::int64_t local(std::int64_t global) const {
    return global / (block_ * parts_) * block_ + global % block_;
  }
  std::int64_t global(int part, std::int64_t local) const {
    return (local / block_ * parts_ + part) * block_ + local % block_;
  }
  std::int64_t count(int part) const;
  /// One past the last index of the block that holds `global`, at most n.
  std::int64_t block_end(std::int64_t global) const;

 private:
  std::int64_t n_ = 0;
  std::int64_t block_ = 1;
  int parts_ = 1;
};

}  // namespace quadrille::comm
