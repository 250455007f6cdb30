// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"

#include <gtest/gtest.h>

namespace quadrille::core {
namespace {

TEST(Error, PrintsOneLineAndExitsWithItsCode) {
  EXPECT_EXIT(fail("buffer: out of memory", Exit::environment), testing::ExitedWithCode(3),
              "FATAL buffer: out of memory \\(error_test.cpp:[0-9]+\\)\n$");
}

TEST(Error, RequireFailsOnlyWhenTheConditionIsFalse) {
  QUAD_REQUIRE(true, "never");
  EXPECT_EXIT(QUAD_REQUIRE(1 > 2, "one is not more"), testing::ExitedWithCode(4),
              "one is not more");
}

TEST(Error, WorseKeepsTheOrderOfTheExitCodes) {
  EXPECT_EQ(worse(Exit::pass, Exit::nothing_executed), Exit::nothing_executed);
  EXPECT_EQ(worse(Exit::wrong_result, Exit::timeout), Exit::timeout);
  EXPECT_EQ(worse(Exit::runtime, Exit::wrong_result), Exit::runtime);
  EXPECT_EQ(worse(Exit::interrupted, Exit::wrong_result), Exit::wrong_result);
}

}  // namespace
}  // namespace quadrille::core
