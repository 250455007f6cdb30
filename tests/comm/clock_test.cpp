// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/clock.hpp"

#include "device/trace.hpp"
#include "support/mpi_world.hpp"

#include <gtest/gtest.h>

namespace quadrille::comm {
namespace {

TEST(Clock, OffsetOfAShiftedClockIsFoundWithinItsError) {
  Group const& group = test::world().group();
  // As nodes that were started an hour apart.
  double const shift = -3600.0 * group.rank();

  ClockOffset const offset = clock_offset(group, [&] { return device::host_seconds() + shift; });

  EXPECT_NEAR(offset.seconds, shift, offset.error_s + 1e-9);
  EXPECT_LT(offset.error_s, 0.1);
  EXPECT_EQ(offset.error_s > 0, group.rank() > 0);
}

TEST(Clock, RanksOfANodeHaveNoOffset) {
  ClockOffset const offset = clock_offset(test::world().group(), device::host_seconds);
  EXPECT_EQ(offset.seconds, 0);
}

}  // namespace
}  // namespace quadrille::comm
