// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "run/progress.hpp"

#include <gtest/gtest.h>

namespace quadrille::run {
namespace {

TEST(TimeLeft, IsWhatCasesWereEstimatedAtUntilSomeAreDone) {
  TimeLeft const left{{10, 30, 60}};

  EXPECT_DOUBLE_EQ(left.seconds(0, 0, 0), 100);
  EXPECT_DOUBLE_EQ(left.seconds(0, 0.1, 50), 99) << "a hundredth of it tells nothing";
  EXPECT_DOUBLE_EQ(left.seconds(1, 0, 1), 90) << "nor does a second";
}

TEST(TimeLeft, ScalesByWhatTheFinishedCasesTook) {
  TimeLeft const left{{10, 30, 60}};

  EXPECT_DOUBLE_EQ(left.seconds(1, 0, 20), 180);
  EXPECT_DOUBLE_EQ(left.seconds(1, 0.5, 12.5), 37.5);
  EXPECT_DOUBLE_EQ(left.seconds(2, 1, 80), 0);
}

TEST(TimeLeft, CountsNoCaseThatAnEarlierRunFinished) {
  TimeLeft const left{{0, 30, 0}};

  EXPECT_DOUBLE_EQ(left.seconds(0, 0.5, 0), 30);
  EXPECT_DOUBLE_EQ(left.seconds(1, 0.5, 60), 60);
  EXPECT_DOUBLE_EQ(left.seconds(2, 0, 60), 0);
}

}  // namespace
}  // namespace quadrille::run
