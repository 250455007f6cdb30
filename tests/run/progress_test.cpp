// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "run/progress.hpp"

#include "measure/case_runner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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
  ProgressLine line(report::Terminal terminal, double duration_s = 0) {
    terminal_ = terminal;
    return {{25, 25, 25, 25}, duration_s, [this] { return terminal_; }, [this] { return now_; }};
  }
  void resize(std::size_t width) { terminal_.width = width; }
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
  report::Terminal terminal_{};
};
constexpr report::Terminal kMoving{.width = 80, .rewrites = true}, kDumb{.width = 40};

TEST_F(ProgressLineTest, NamesACaseWhereThereIsNoTerminal) {
  ProgressLine progress = line(report::kUnlimited);
  EXPECT_EQ(begun(progress, 1, 1), "[2/4] gemm, about 75 s left\n");
  EXPECT_EQ(updated(progress, 0.4), "") << "within ten seconds";
  pass(std::chrono::seconds{10});
  EXPECT_EQ(updated(progress, 0.4), "[2/4] gemm: time, 40 %, about 19 s left\n");
  EXPECT_EQ(updated(progress, 0.5), "") << "ten seconds again";
  EXPECT_EQ(said([&] { progress.end(); }), "");
}

TEST_F(ProgressLineTest, NamesARoundFromTheSecondOn) {
  ProgressLine progress = line(report::kUnlimited, 100);
  EXPECT_EQ(begun(progress, 2, 0), "") << "rounds may be short";
  pass(std::chrono::seconds{10});
  EXPECT_EQ(begun(progress, 2, 0), "[1/4] gemm, round 2, about 90 s left\n");
  pass(std::chrono::seconds{10});
  EXPECT_EQ(updated(progress, 0.1), "[round 2, 1/4] gemm: time, 10 %, about 80 s left\n");
}

TEST_F(ProgressLineTest, MovesABarOnATerminal) {
  ProgressLine progress = line(kMoving);
  EXPECT_EQ(begun(progress, 1, 2), "");
  pass(std::chrono::seconds{50});
  EXPECT_EQ(updated(progress, 0.5),
            "\r\033[K[############........] 3/4 gemm: time, about 30 s left");
  EXPECT_EQ(said([&] { progress.end(); }), "\r\033[K");
}

TEST_F(ProgressLineTest, IsNoWiderThanTheTerminalIsNow) {
  std::string const name = "a_case_of_a_long_name_of_which_there_are_several.12";
  ProgressLine progress = line(kMoving);
  for (std::size_t const width : {200U, 80U, 60U, 40U, 20U, 4U, 0U}) {
    resize(width);
    std::string const text = said([&] { progress.update({name, "warm up", 0.5}); }).substr(4);
    EXPECT_LT(text.size(), std::max<std::size_t>(width, 4)) << text;
    EXPECT_TRUE(width < 40 || (text.ends_with(" left") && text.find(".12") != text.npos)) << text;
    EXPECT_EQ(width == 200, text.find(name) != text.npos) << text;
  }
}

TEST_F(ProgressLineTest, ObeysATerminalThatKnowsNoEscapes) {
  std::string const name = "a_case_of_a_long_name_of_which_there_are_several.12";
  ProgressLine progress = line(kDumb);
  pass(std::chrono::seconds{10});
  for (std::string const& text : {said([&] { progress.begin(1, 0, name); }), [&] {
                                    pass(std::chrono::seconds{10});
                                    return said([&] { progress.update({name, "time", 0.5}); });
                                  }()}) {
    EXPECT_EQ(text.find('\033'), text.npos) << text;
    EXPECT_TRUE(text.ends_with(" left\n") && text.size() <= 40) << text;
  }
  EXPECT_EQ(said([&] { progress.end(); }), "");
}

}  // namespace
}  // namespace quadrille::run
