// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/distribution.hpp"

#include <gtest/gtest.h>

namespace quadrille::workloads::serving {
namespace {

TEST(Distribution, KnowsQuantilesToHalfAPercent) {
  Distribution times;
  EXPECT_EQ(times.quantile(0.5), 0) << "of nothing";
  for (int i = 1; i <= 1000; ++i) times.add(i * 1e-4);
  EXPECT_EQ(times.count(), 1000);
  EXPECT_NEAR(times.quantile(0.5), 0.05, 0.05 * 0.005);
  EXPECT_NEAR(times.quantile(0.99), 0.099, 0.099 * 0.005);
  EXPECT_NEAR(times.quantile(1), 0.1, 0.1 * 0.005);
  times.add(0);
  times.add(1e12);
  EXPECT_EQ(times.count(), 1002) << "at the ends";
}

TEST(Timeline, KeepsItsIntegralWhenItGrows) {
  Timeline line;
  line.add(0, 1, 3);
  line.add(1, 100, 5);
  line.add(200.3, 200.4, 50);
  EXPECT_NEAR(line.mean(0, 1) * 1, 3, 1e-9);
  EXPECT_NEAR(line.mean(1, 100), 5, 1e-9);
  EXPECT_NEAR(line.mean(0, 256) * 256, 3 + 99 * 5 + 5, 1e-9);
  EXPECT_NEAR(line.mean(200, 200.4) * 0.4, 5, 1e-9) << "nothing comes behind the end";
  line.add(1000, 1000, 0);
  EXPECT_NEAR(line.mean(0, 256) * 256, 3 + 99 * 5 + 5, 1e-9);
  EXPECT_NEAR(line.mean(0, 4), (3 + 3 * 5) / 4.0, 1e-9);
}

}  // namespace
}  // namespace quadrille::workloads::serving
