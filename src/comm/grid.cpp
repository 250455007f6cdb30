// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/grid.hpp"

#include "core/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quadrille::comm {

core::GridShape near_square(int ranks) {
  QUAD_REQUIRE(ranks > 0, "near_square: needs at least one rank");
  int rows = 1;
  for (int p = 1; p * p <= ranks; ++p) {
    if (ranks % p == 0) rows = p;
  }
  return {rows, ranks / rows};
}

std::string list_grids(int ranks) {
  std::string text;
  for (int p = 1; p <= ranks; ++p) {
    if (ranks % p != 0) continue;
    text += fmt::format("{}{}x{}", text.empty() ? "" : ", ", p, ranks / p);
  }
  return text;
}

Grid::Grid(Group const& world, core::GridShape shape) {
  if (shape.rows == 0 && shape.cols == 0) shape = near_square(world.size());
  if (shape.rows < 1 || shape.cols < 1 || std::int64_t{shape.rows} * shape.cols != world.size()) {
    core::fail(fmt::format("grid {}x{} does not fit {} ranks; use one of {}", shape.rows,
                           shape.cols, world.size(), list_grids(world.size())),
               core::Exit::bad_config);
  }
  rows_ = shape.rows;
  cols_ = shape.cols;
  row_ = world.rank() / cols_;
  col_ = world.rank() % cols_;
  row_group_ = world.split(row_, col_);
  col_group_ = world.split(col_, row_);
}

Distribution::Distribution(std::int64_t n, std::int64_t block, int parts)
    : n_{n}, block_{block}, parts_{parts} {
  QUAD_REQUIRE(n >= 0 && block >= 0 && parts > 0,
               "distribution: extent and block must not be negative, parts must be positive");
  if (block_ == 0) block_ = std::max<std::int64_t>(1, (n + parts - 1) / parts);
}

std::int64_t Distribution::count(int part) const {
  std::int64_t const cycle = block_ * parts_;
  std::int64_t const rest = n_ % cycle - part * block_;
  return n_ / cycle * block_ + std::clamp<std::int64_t>(rest, 0, block_);
}

std::int64_t Distribution::block_end(std::int64_t global) const {
  return std::min(n_, (global / block_ + 1) * block_);
}

}  // namespace quadrille::comm
