// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace quadrille::workloads::serving {

/// Seconds at each pair of some x and some y, both ascending: of x[i] and y[j] they are
/// seconds[i * y.size() + j].
struct Points {
  std::vector<double> x, y, seconds;
};

/// Times of work between measured points, and never less for more of it: where more work took less time,
/// the measurement of less was disturbed, or it can be done as a part of more.
class TimeGrid {
 public:
  /// What the time grows with from one x to the next, at the same y.
  using Work = double (*)(double x, double y);

  TimeGrid(Points points, Work work);

  /// Linear in y and in work(x, y). Less than the least takes as long as that, more than the most
  /// proportionally more.
  double at(double x, double y) const;
  double max_x() const { return points_.x.back(); }
  bool covers(double x, double y) const { return x <= points_.x.back() && y <= points_.y.back(); }

 private:
  double column(std::size_t i, double y) const;
  double& seconds(std::size_t i, std::size_t j) {
    return points_.seconds[i * points_.y.size() + j];
  }
  double seconds(std::size_t i, std::size_t j) const {
    return points_.seconds[i * points_.y.size() + j];
  }

  Points points_;
  Work work_;
};

}  // namespace quadrille::workloads::serving
