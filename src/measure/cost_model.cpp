// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/cost_model.hpp"

#include "comm/grid.hpp"

#include <algorithm>
#include <cmath>

namespace quadrille::measure {

double tree_depth(double ranks) { return std::ceil(std::log2(ranks)); }

double share_away(double size, double here) {
  return size > 1 ? 1 - (std::clamp(here, 1.0, size) - 1) / (size - 1) : 0;
}

double neighbours_away(double size, double here) {
  return here < size ? 1 / std::max(1.0, here) : 0;
}

core::GridShape grid_on(core::Case const& spec, std::int64_t ranks) {
  bool const fits = spec.grid.rows > 0 && std::int64_t{spec.grid.rows} * spec.grid.cols == ranks;
  return fits ? spec.grid : comm::near_square(static_cast<int>(ranks));
}

}  // namespace quadrille::measure
