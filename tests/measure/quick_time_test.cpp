// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/quick_time.hpp"

#include "support/mpi_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace quadrille::measure {
namespace {

/// Takes as long on the stream, and counts.
auto sleeping(double seconds, int& count) {
  return [seconds, &count] {
    test::world().stream().run(
        [seconds] { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); });
    ++count;
  };
}

TEST(QuickSeconds, AreThoseOfOneExecution) {
  // A busy machine disturbs many of them.
  double least = 1;
  int most = 0;
  for (int i = 0; i < 300; ++i) {
    int count = 0;
    least = std::min(least, quick_seconds(test::world(), sleeping(2e-5, count)));
    most = std::max(most, count);
    bool const is_disturbed = least >= 5e-4 || most < 3 + 3 * 2;
    if (test::world().group().max(std::int64_t{is_disturbed}) == 0) break;
  }
  EXPECT_GE(least, 2e-5);
  EXPECT_LT(least, 5e-4) << "a round takes 1 ms";
  EXPECT_GE(most, 3 + 3 * 2) << "too short for a round of one";
}

TEST(QuickSeconds, AreTheSlowestRanksOnAllRanks) {
  auto const& world = test::world();
  bool const is_last = world.rank() + 1 == world.size();
  int count = 0;
  double const seconds = quick_seconds(test::world(), sleeping(is_last ? 3e-3 : 1e-5, count));
  EXPECT_GE(seconds, 3e-3);
  EXPECT_EQ(seconds, world.group().max(seconds));
  EXPECT_EQ(seconds, world.group().min(seconds));
  EXPECT_EQ(count, world.group().max(std::int64_t{count})) << "executions may be collective";
}

TEST(QuickSeconds, ExecuteOnceWhatTakesLong) {
  int count = 0;
  EXPECT_GE(quick_seconds(test::world(), sleeping(0.06, count)), 0.06);
  EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace quadrille::measure
