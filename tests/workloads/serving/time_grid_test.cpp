// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/time_grid.hpp"

#include "core/generator.hpp"
#include "support/expect_fails.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace quadrille::workloads::serving {
namespace {

double x_alone(double x, double) { return x; }
double squares(double x, double y) { return x * (x + 2 * y); }

TEST(TimeGrid, HasWhatWasMeasured) {
  TimeGrid const grid{{{1, 4, 9}, {2, 8}, {1, 2, 3, 4, 5, 6}}, x_alone};
  EXPECT_EQ(grid.at(1, 2), 1);
  EXPECT_EQ(grid.at(1, 8), 2);
  EXPECT_EQ(grid.at(4, 2), 3);
  EXPECT_EQ(grid.at(9, 2), 5);
  EXPECT_EQ(grid.at(9, 8), 6);
  EXPECT_EQ(grid.max_x(), 9);
}

TEST(TimeGrid, InterpolatesByWorkAndByY) {
  TimeGrid const grid{{{1, 4}, {2, 8}, {1, 3, 7, 13}}, x_alone};
  EXPECT_EQ(grid.at(1, 5), 2);
  EXPECT_EQ(grid.at(2, 2), 3);
  EXPECT_EQ(grid.at(2.5, 5), (2 + 10) / 2.0);

  // A latency of 7 and 2 for each unit of work that grows with the square of x and with x y.
  auto const seconds = [](double x, double y) { return 7 + 2 * squares(x, y); };
  Points points{{1, 3, 20}, {0, 5, 30}, {}};
  for (double const x : points.x) {
    for (double const y : points.y) points.seconds.push_back(seconds(x, y));
  }
  TimeGrid const squared{points, squares};
  for (double const x : {1.0, 2.0, 7.0, 19.5}) {
    for (double const y : {0.0, 1.0, 17.0, 30.0}) {
      EXPECT_NEAR(squared.at(x, y), seconds(x, y), 1e-9 * seconds(x, y)) << x << " " << y;
    }
  }
}

TEST(TimeGrid, IsConstantBelowAndProportionalBeyond) {
  TimeGrid const grid{{{2, 4}, {3, 6}, {1, 2, 3, 5}}, x_alone};
  EXPECT_EQ(grid.at(0, 0), 1);
  EXPECT_EQ(grid.at(1, 6), 2);
  EXPECT_EQ(grid.at(12, 6), 15);
  EXPECT_EQ(grid.at(4, 12), 10);
  EXPECT_EQ(grid.at(12, 12), 30);
  EXPECT_TRUE(grid.covers(4, 6));
  EXPECT_FALSE(grid.covers(4, 7));
  EXPECT_FALSE(grid.covers(5, 6));

  TimeGrid const point{{{2}, {0}, {3}}, x_alone};
  EXPECT_EQ(point.at(1, 0), 3);
  EXPECT_EQ(point.at(4, 0), 6);
}

// Points of random times: whatever was measured, more of anything takes no less.
TEST(TimeGrid, IsMonotone) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Points points{{1, 4, 16, 50}, {0, 8, 64}, {}};
    for (std::uint64_t i = 0; i < 12; ++i) {
      points.seconds.push_back(1 + static_cast<double>(core::mix(seed * 100 + i) % 1000));
    }
    for (TimeGrid::Work const work : {x_alone, squares}) {
      TimeGrid const grid{points, work};
      for (double x = 0.5; x < 120; x *= 1.3) {
        for (double y = 0; y < 150; y = 1.4 * y + 1) {
          double const here = grid.at(x, y);
          EXPECT_GT(here, 0);
          EXPECT_GE(grid.at(1.3 * x, y), here * (1 - 1e-12)) << x << " " << y << " " << seed;
          EXPECT_GE(grid.at(x, 1.4 * y + 1), here * (1 - 1e-12)) << x << " " << y << " " << seed;
        }
      }
    }
  }
}

TEST(TimeGrid, TakesNoMoreForLess) {
  TimeGrid const grid{{{1, 4}, {0, 8}, {9, 2, 3, 5}}, x_alone};
  EXPECT_EQ(grid.at(1, 0), 2) << "disturbed: 8 behind took 2";
  EXPECT_EQ(grid.at(4, 0), 3);
}

TEST(TimeGrid, MustBeAGrid) {
  EXPECT_FAILS((TimeGrid{{{1, 2}, {0}, {1}}, x_alone}), "no grid");
  EXPECT_FAILS((TimeGrid{{{2, 1}, {0}, {1, 2}}, x_alone}), "no grid");
  EXPECT_FAILS((TimeGrid{{{}, {0}, {}}, x_alone}), "no grid");
}

}  // namespace
}  // namespace quadrille::workloads::serving
