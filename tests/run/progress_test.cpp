// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "run/progress.hpp"

#include "measure/case_runner.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

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

/// What is said of four cases of 25 s each, by a clock that the test moves.
class ProgressLineTest : public testing::Test {
 protected:
  ProgressLine line(bool is_terminal, double duration_s = 0) {
    return {{25, 25, 25, 25}, duration_s, is_terminal, [this] { return now_; }};
  }
  void pass(std::chrono::seconds time) { now_ += time; }
  template <class Action>
  static std::string said(Action&& action) {
    testing::internal::CaptureStderr();
    action();
    return testing::internal::GetCapturedStderr();
  }
  static std::string begun(ProgressLine& progress, std::int64_t round, std::size_t index) {
    return said([&] { progress.begin(round, index, "gemm"); });
  }
  static std::string updated(ProgressLine& progress, double fraction) {
    return said([&] { progress.update({"gemm", "time", fraction}); });
  }

 private:
  ProgressLine::Clock::time_point now_{};
};

TEST_F(ProgressLineTest, NamesACaseWhereThereIsNoTerminal) {
  ProgressLine progress = line(false);
  EXPECT_EQ(begun(progress, 1, 1), "[2/4] gemm, about 75 s left\n");
  EXPECT_EQ(updated(progress, 0.4), "") << "within ten seconds";
  pass(std::chrono::seconds{10});
  EXPECT_EQ(updated(progress, 0.4), "[2/4] gemm: time, 40 %, about 19 s left\n");
  EXPECT_EQ(updated(progress, 0.5), "") << "ten seconds again";
  EXPECT_EQ(said([&] { progress.end(); }), "");
}

TEST_F(ProgressLineTest, NamesARoundFromTheSecondOn) {
  ProgressLine progress = line(false, 100);
  EXPECT_EQ(begun(progress, 2, 0), "") << "rounds may be short";
  pass(std::chrono::seconds{10});
  EXPECT_EQ(begun(progress, 2, 0), "[1/4] gemm, round 2, about 90 s left\n");
  pass(std::chrono::seconds{10});
  EXPECT_EQ(updated(progress, 0.1), "[round 2, 1/4] gemm: time, 10 %, about 80 s left\n");
}

TEST_F(ProgressLineTest, MovesABarOnATerminal) {
  ProgressLine progress = line(true);
  EXPECT_EQ(begun(progress, 1, 2), "");
  pass(std::chrono::seconds{50});
  EXPECT_EQ(updated(progress, 0.5),
            "\r\033[K[############........] 3/4 gemm: time, about 30 s left");
  EXPECT_EQ(said([&] { progress.end(); }), "\r\033[K");
}

}  // namespace
}  // namespace quadrille::run
