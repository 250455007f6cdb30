// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/quick_time.hpp"

#include "device/trace.hpp"
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
  // On a busy machine a round of one may take long enough, so that there are no others; among more
  // ranks than cores each may.
  for (int i = 0; i < 100; ++i) {
    int count = 0;
    double const start = device::host_seconds();
    double const seconds = quick_seconds(test::world(), sleeping(2e-5, count));
    double const elapsed = test::world().group().max(device::host_seconds() - start);
    EXPECT_GE(seconds, 2e-5);
    // Only the first executions, in rounds of one, may be faster.
    EXPECT_LE(seconds * (count - 3), elapsed) << count << " executions";
    if (count >= 3 + 3 * 2 || test::world().size() > 1) return;
  }
  ADD_FAILURE() << "never more than one execution in a round";
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
