// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/junit.hpp"

#include "support/sample_result.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quadrille::report {
namespace {

using measure::Outcome;

/// The lines of a run with a measurement that ended so.
std::string junit_of(Outcome outcome, std::string const& status = "finished") {
  measure::RunResult result = test::sample_result();
  result.info.status = status;
  result.records.resize(1);
  result.records[0].outcome = outcome;
  return render_junit(result);
}

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

TEST(Junit, HasATestCaseWithVerdictReasonAndTimeForEachMeasurement) {
  std::string const text = render_junit(test::sample_result());

  EXPECT_TRUE(text.starts_with(kJunitBegin));
  EXPECT_TRUE(has(text,
                  "<testsuite name=\"quadrille run\" tests=\"2\" failures=\"0\" errors=\"0\" "
                  "skipped=\"1\">"))
      << text;
  EXPECT_TRUE(has(text, "<property name=\"commit\" value=\"1a72114\"/>")) << text;
  EXPECT_TRUE(
      has(text,
          "<testcase classname=\"summa\" name=\"summa.2:kokkos\" time=\"0.160000000\">\n"
          "      <system-out>PASS; because; 107 GFLOP/s; SUSPECT: the clock fell by 11 %; "))
      << text;
  EXPECT_TRUE(has(text,
                  "name=\"ptrans:cuda/tile\">\n"
                  "      <skipped message=\"UNSUPPORTED; needs a GPU\"/>"))
      << text;
}

TEST(Junit, TellsFailuresFromErrors) {
  EXPECT_TRUE(has(junit_of(Outcome::fail),
                  "<failure type=\"FAIL\" message=\"FAIL; because; C(3, 4) on "
                  "rank 1: expected 5, got nan"));
  for (Outcome const outcome : {Outcome::error, Outcome::timeout, Outcome::interrupted}) {
    std::string const text = junit_of(outcome);
    EXPECT_TRUE(has(text, "<error type=\"" + std::string{core::to_text(outcome)} + '"')) << text;
    EXPECT_TRUE(has(text, "tests=\"1\" failures=\"0\" errors=\"1\"")) << text;
  }
  EXPECT_FALSE(has(junit_of(Outcome::fail), "time=")) << "a wrong result has no speed";
}

TEST(Junit, ARunThatHasNotPassedIsNeverGreen) {
  for (std::string const status : {"running", "interrupted"}) {
    std::string const text = junit_of(Outcome::pass, status);
    EXPECT_TRUE(has(text, "tests=\"2\" failures=\"0\" errors=\"1\" skipped=\"0\"")) << text;
  }
  EXPECT_TRUE(has(junit_of(Outcome::skip), "nothing was executed"));
  measure::RunResult lost = test::sample_result();
  lost.failure = "log.txt: cannot be written: <full>";
  EXPECT_TRUE(has(render_junit(lost), "cannot be written: &lt;full&gt;"));
}

}  // namespace
}  // namespace quadrille::report
