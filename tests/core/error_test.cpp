// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <string>

namespace quadrille::core {
namespace {

// The place is of use to who builds with assertions.
TEST(Error, PrintsOneLineAndExitsWithItsCode) {
#ifdef NDEBUG
  constexpr char kPlace[] = "";
#else
  constexpr char kPlace[] = " \\(error_test.cpp:[0-9]+\\)";
#endif
  EXPECT_EXIT(fail("buffer: out of memory", Exit::environment), testing::ExitedWithCode(3),
              std::string{"FATAL buffer: out of memory"} + kPlace + "\n$");
}

TEST(Error, RequireFailsOnlyWhenTheConditionIsFalse) {
  QUAD_REQUIRE(true, "never");
  EXPECT_EXIT(QUAD_REQUIRE(1 > 2, "one is not more"), testing::ExitedWithCode(4),
              "one is not more");
}

struct Caught {
  Failure failure;
};

TEST(Error, HandlerGetsMessageCodeAndPlace) {
  FailHandler const before = set_fail_handler([](Failure const& f) { throw Caught{f}; });
  try {
    fail("link: down", Exit::timeout);
  } catch (Caught const& caught) {
    EXPECT_EQ(caught.failure.what, "link: down");
    EXPECT_EQ(caught.failure.code, Exit::timeout);
    EXPECT_NE(std::string{caught.failure.where.file_name()}.find("error_test.cpp"),
              std::string::npos);
  }
  EXPECT_NE(set_fail_handler(before), nullptr);
}

TEST(Error, ProcessEndsThoughTheHandlerReturns) {
  EXPECT_EXIT(
      {
        set_fail_handler([](Failure const&) {});
        fail("ignored", Exit::bad_config);
      },
      testing::ExitedWithCode(2), "FATAL ignored");
}

TEST(Error, WorseKeepsTheOrderOfTheExitCodes) {
  EXPECT_EQ(worse(Exit::pass, Exit::nothing_executed), Exit::nothing_executed);
  EXPECT_EQ(worse(Exit::wrong_result, Exit::timeout), Exit::timeout);
  EXPECT_EQ(worse(Exit::runtime, Exit::wrong_result), Exit::runtime);
  EXPECT_EQ(worse(Exit::interrupted, Exit::wrong_result), Exit::wrong_result);

  // From the most to the least serious; pairs in either order give the first.
  Exit const order[] = {Exit::bad_config,  Exit::timeout,      Exit::runtime,
                        Exit::environment, Exit::wrong_result, Exit::regression,
                        Exit::undecided,   Exit::interrupted,  Exit::nothing_executed,
                        Exit::pass};
  for (std::size_t i = 0; i < std::size(order); ++i) {
    for (std::size_t j = i; j < std::size(order); ++j) {
      EXPECT_EQ(worse(order[i], order[j]), order[i]);
      EXPECT_EQ(worse(order[j], order[i]), order[i]);
    }
  }
}

}  // namespace
}  // namespace quadrille::core
