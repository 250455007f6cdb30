// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/time_grid.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <utility>

namespace quadrille::workloads::serving {
namespace {

/// The interval of an axis of several values that a value within it is in.
std::size_t interval(std::vector<double> const& axis, double value) {
  auto const above = std::ranges::upper_bound(axis, value) - axis.begin();
  return static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(above - 1, 0, std::ssize(axis) - 2));
}

}  // namespace

TimeGrid::TimeGrid(Points points, Work work) : points_{std::move(points)}, work_{work} {
  std::size_t const nx = points_.x.size(), ny = points_.y.size();
  QUAD_REQUIRE(nx > 0 && ny > 0 && points_.seconds.size() == nx * ny &&
                   std::ranges::is_sorted(points_.x) && std::ranges::is_sorted(points_.y),
               "serving: measured times are no grid");
  for (std::size_t i = nx; i-- > 0;) {
    for (std::size_t j = ny; j-- > 0;) {
      if (i + 1 < nx) seconds(i, j) = std::min(seconds(i, j), seconds(i + 1, j));
      if (j + 1 < ny) seconds(i, j) = std::min(seconds(i, j), seconds(i, j + 1));
    }
  }
}

double TimeGrid::at(double x, double y) const {
  std::vector<double> const& xs = points_.x;
  double const within_y = std::clamp(y, points_.y.front(), points_.y.back());
  double const within_x = std::clamp(x, xs.front(), xs.back());
  double factor = 1;
  if (y > within_y) factor *= y / within_y;
  if (x > within_x) factor *= x / within_x;
  if (xs.size() == 1) return factor * column(0, within_y);
  std::size_t const i = interval(xs, within_x);
  double const least = work_(xs[i], within_y), most = work_(xs[i + 1], within_y);
  double const share = (work_(within_x, within_y) - least) / (most - least);
  double const below = column(i, within_y);
  return factor * (below + share * (column(i + 1, within_y) - below));
}

double TimeGrid::column(std::size_t i, double y) const {
  std::vector<double> const& ys = points_.y;
  if (ys.size() == 1) return seconds(i, 0);
  std::size_t const j = interval(ys, y);
  double const share = (y - ys[j]) / (ys[j + 1] - ys[j]);
  return seconds(i, j) + share * (seconds(i, j + 1) - seconds(i, j));
}

}  // namespace quadrille::workloads::serving
