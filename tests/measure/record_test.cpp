// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/record.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace quadrille::measure {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Record timed(int ranks, std::vector<double> seconds) {
  Record r;
  r.ranks = ranks;
  r.amount = 12;
  r.unit = "B/s";
  r.seconds = std::move(seconds);
  return r;
}

std::string all_reasons(Record const& r) {
  std::string text;
  for (std::string const& reason : r.suspect) text += reason + "\n";
  return text;
}

TEST(Outcome, TextsAreReadBackAndOthersAreNot) {
  for (Outcome const outcome :
       {Outcome::pass, Outcome::fail, Outcome::wrong_library, Outcome::skip, Outcome::unsupported,
        Outcome::error, Outcome::timeout, Outcome::interrupted}) {
    EXPECT_EQ(core::parse_enum<Outcome>(core::to_text(outcome)), outcome);
  }
  EXPECT_EQ(core::to_text(Outcome::timeout), "TIMEOUT");
  EXPECT_FALSE(core::parse_enum<Outcome>("pass"));
  EXPECT_FALSE(core::parse_enum<Outcome>(""));
}

RunResult result_of(std::vector<Outcome> const& outcomes) {
  RunResult result;
  for (Outcome const outcome : outcomes) result.records.emplace_back().outcome = outcome;
  return result;
}

TEST(Counts, SkippedIsNotPassedAndInterruptedIsNeither) {
  Counts const counts = count_outcomes(
      result_of({Outcome::pass, Outcome::pass, Outcome::pass, Outcome::fail, Outcome::error,
                 Outcome::timeout, Outcome::timeout, Outcome::skip, Outcome::unsupported,
                 Outcome::interrupted, Outcome::wrong_library}));
  EXPECT_EQ(counts.passed, 3);
  EXPECT_EQ(counts.failed, 4);
  EXPECT_EQ(counts.skipped, 1);
  EXPECT_EQ(counts.unsupported, 1);
  EXPECT_EQ(counts.wrong_libraries, 1);
  EXPECT_EQ(counts.executed(), 8);
}

TEST(ExitCode, IsThatOfTheMostSeriousOutcome) {
  auto const code = [](std::vector<Outcome> const& outcomes) {
    return ending_of(result_of(outcomes)).code;
  };
  EXPECT_EQ(code({Outcome::pass, Outcome::skip}), core::Exit::pass);
  EXPECT_EQ(code({Outcome::pass, Outcome::wrong_library}), core::Exit::pass);
  EXPECT_EQ(code({}), core::Exit::nothing_executed);
  EXPECT_EQ(code({Outcome::skip, Outcome::unsupported}), core::Exit::nothing_executed);
  EXPECT_EQ(code({Outcome::pass, Outcome::fail}), core::Exit::wrong_result);
  EXPECT_EQ(code({Outcome::fail, Outcome::error}), core::Exit::runtime);
  EXPECT_EQ(code({Outcome::error, Outcome::timeout}), core::Exit::timeout);
  EXPECT_EQ(code({Outcome::interrupted}), core::Exit::interrupted);
  EXPECT_EQ(code({Outcome::interrupted, Outcome::fail}), core::Exit::wrong_result);
  RunResult interrupted = result_of({Outcome::pass});
  interrupted.info.status = "interrupted";
  EXPECT_EQ(ending_of(interrupted).code, core::Exit::interrupted);
  interrupted.records[0].outcome = Outcome::fail;
  EXPECT_EQ(ending_of(interrupted).code, core::Exit::wrong_result)
      << "no signal hides a wrong result";
}

TEST(ExitCode, WhatACaseNamesMustRun) {
  RunResult result = result_of({Outcome::pass, Outcome::unsupported});
  EXPECT_EQ(ending_of(result).code, core::Exit::pass);
  result.records[1].is_named = true;
  EXPECT_EQ(ending_of(result).code, core::Exit::environment);
  result.records[1].first_use_s = 1;
  EXPECT_EQ(ending_of(result).code, core::Exit::pass) << "it ran, and could not be judged";
}

TEST(Ending, HasAReasonWhereverItsCodeIsNotThatOfAPass) {
  for (auto const& [first, first_name] : enum_names(Outcome{})) {
    for (auto const& [second, second_name] : enum_names(Outcome{})) {
      for (char const* const status : {"finished", "interrupted", "running"}) {
        for (bool const is_named : {false, true}) {
          RunResult result = result_of({first, second});
          result.info.status = status;
          result.records[1].is_named = is_named;
          Ending const ending = ending_of(result);
          EXPECT_EQ(ending.reason.empty(), ending.has_passed())
              << first_name << ' ' << second_name << ' ' << status << ": " << ending.reason;
        }
      }
    }
  }
  EXPECT_FALSE(ending_of({}).reason.empty());
}

TEST(Ending, NamesEverythingThatFailedTheRunAndOfManyTheFirst) {
  RunResult result = result_of({Outcome::pass, Outcome::unsupported, Outcome::unsupported,
                                Outcome::fail, Outcome::fail, Outcome::fail, Outcome::fail});
  for (std::size_t i = 0; i < result.records.size(); ++i) {
    result.records[i].name = "case." + std::to_string(i);
    result.records[i].variant = "tile";
    result.records[i].is_named = true;
  }

  EXPECT_EQ(ending_of(result).reason,
            "4 wrong: case.3 tile, case.4 tile, case.5 tile and 1 more; "
            "2 named variants cannot run: case.1 tile, case.2 tile");
  result.records.resize(2);
  EXPECT_EQ(ending_of(result).reason, "1 named variant cannot run: case.1 tile");
}

TEST(Ending, OfARunWithoutAMeasurementTellsWhyTheFirstDidNotRun) {
  RunResult result = result_of({Outcome::unsupported});
  result.records[0].name = "pairs";
  result.records[0].variant = "peer";
  result.records[0].reason = "needs 2 ranks";

  EXPECT_EQ(ending_of(result).reason, "nothing was executed: pairs peer: needs 2 ranks");
}

TEST(Finish, RateIsWorkOverTheMedianOfTheSlowestRank) {
  Record r = timed(2, {1, 3, 4, 2, 2, 5});

  finish(r);

  EXPECT_EQ(r.time.n, 3);
  EXPECT_EQ(r.time.min, 3);
  EXPECT_EQ(r.time.median, 4);
  EXPECT_EQ(r.time.max, 5);
  EXPECT_EQ(r.rate, 3);
  EXPECT_EQ(r.slowest_rank, 1);
  EXPECT_EQ(r.imbalance, 2.5);  // of 3 / 1, 4 / 2, 5 / 2
}

TEST(Finish, NothingTimedIsNoRateAndNoSuspicion) {
  Record r = timed(0, {});

  finish(r);

  EXPECT_EQ(r.time.n, 0);
  EXPECT_EQ(r.rate, 0);
  EXPECT_EQ(r.slowest_rank, -1);
  EXPECT_TRUE(r.suspect.empty());
  EXPECT_FALSE(r.leg_summary);
}

TEST(Finish, ZeroTimeHasNoRateAndIsSuspect) {
  Record r = timed(1, {0, 0, 0});
  finish(r);
  EXPECT_EQ(r.rate, 0);
  EXPECT_NE(all_reasons(r).find("median time is 0 s"), std::string::npos);
}

TEST(Finish, NaNInTheLastRankIsNotLost) {
  Record r = timed(3, {1, 2, kNaN});
  finish(r);
  EXPECT_TRUE(std::isnan(r.time.median));
  EXPECT_EQ(r.rate, 0);
  EXPECT_EQ(r.suspect.size(), 1U);
}

TEST(Finish, SuspectsRatesAbovePeakOnlyWherePeakIsKnown) {
  Record r = timed(1, {1, 1, 1});
  r.peak = 12 / 1.06;
  finish(r);
  EXPECT_NE(all_reasons(r).find("1.06 x "), std::string::npos);

  for (double const peak : {12 / 1.04, 0.0}) {
    Record fine = timed(1, {1, 1, 1});
    fine.peak = peak;
    finish(fine);
    EXPECT_TRUE(fine.suspect.empty()) << all_reasons(fine);
  }
}

TEST(Finish, SuspectsVariationAndImbalanceAndTellsOnce) {
  Record r = timed(4, {1, 1, 1, 10, 1, 1, 1, 2});

  finish(r);
  finish(r);

  ASSERT_EQ(r.suspect.size(), 2U) << all_reasons(r);
  EXPECT_NE(all_reasons(r).find("the times vary"), std::string::npos);
  EXPECT_NE(all_reasons(r).find("most often rank 3"), std::string::npos);
}

/// The reasons of a record whose ranks take these times in every repetition.
std::string reasons_of(std::vector<double> const& times) {
  std::vector<double> seconds;
  for (int i = 0; i < 6; ++i) seconds.insert(seconds.end(), times.begin(), times.end());
  Record r = timed(static_cast<int>(times.size()), seconds);
  finish(r);
  return all_reasons(r);
}

TEST(Finish, NamesWhatDisturbsTimes) {
  Record r = timed(1, {0.1, 0.1, 0.1, 0.1, 0.3});
  finish(r, "rank 0 has half a core");
  ASSERT_EQ(r.suspect.size(), 1U);
  EXPECT_TRUE(r.suspect[0].ends_with("rank 0 has half a core")) << r.suspect[0];
}

TEST(Finish, SuspectsARankTwiceAsSlowAsTheOthersAndNamesIt) {
  EXPECT_EQ(reasons_of({1, 2}),
            "the slowest rank takes 2 x the median of the others, most often rank 1\n");
  EXPECT_EQ(reasons_of({1, 2, 1, 1.1, 1}),
            "the slowest rank takes 2 x the median of the others, most often rank 1\n");
  EXPECT_EQ(reasons_of({1.6, 1, 1}),
            "the slowest rank takes 1.6 x the median of the others, most often rank 0\n");
  for (auto const& times : {std::vector<double>{1, 1.5}, {1.5, 1, 1}, {2}, {2, 1, 2, 1, 2}}) {
    EXPECT_EQ(reasons_of(times), "");
  }
}

TEST(Finish, PartsOfRepetitionsAreRefused) {
  Record r = timed(2, {1, 2, 3});
  EXPECT_EXIT(finish(r), testing::ExitedWithCode(4), "3 samples are not whole repetitions of 2");
}

/// A record of two ranks of which the second is the slower one; a time for each repetition.
Record with_legs(std::vector<double> const& compute, std::vector<double> const& communicate,
                 std::vector<double> const& serial, std::vector<double> const& overlapped) {
  auto const of_ranks = [](std::vector<double> const& times) {
    std::vector<double> seconds;
    for (double const time : times) seconds.insert(seconds.end(), {0.9 * time, time});
    return seconds;
  };
  Record r = timed(2, of_ranks(overlapped));
  r.legs = {{"compute", of_ranks(compute)},
            {"communicate", of_ranks(communicate)},
            {"serial", of_ranks(serial)},
            {"overlapped", of_ranks(overlapped)}};
  return r;
}
Record with_legs(double compute, double communicate, double serial, double overlapped) {
  auto const six = [](double time) { return std::vector(6, time); };
  return with_legs(six(compute), six(communicate), six(serial), six(overlapped));
}

TEST(Legs, HiddenIsRawAndNeedsAllFour) {
  Record r = with_legs(2, 1, 3, 2.25);
  finish(r);
  ASSERT_TRUE(r.leg_summary);
  EXPECT_EQ(r.leg_summary->hidden, 0.75);
  EXPECT_EQ(r.leg_summary->slowdown_compute, 1.125);
  EXPECT_EQ(r.leg_summary->slowdown_communicate, 2.25);
  EXPECT_EQ(r.leg_summary->overlapped_over_max, 1.125);

  r = with_legs(2, 1, 3, 4);
  finish(r);
  EXPECT_EQ(r.leg_summary->hidden, -1);
  r = with_legs(2, 1, 3, 1);
  finish(r);
  EXPECT_EQ(r.leg_summary->hidden, 2);
  r = with_legs(1, 2, 3, 3);
  finish(r);
  EXPECT_EQ(r.leg_summary->overlapped_over_max, 1.5);
  r.legs.pop_back();
  finish(r);
  EXPECT_FALSE(r.leg_summary);
}

TEST(Legs, HiddenIsTheMedianOfTheRepetitionsWithItsInterval) {
  // Clocks fall by half from one repetition to the next; what is hidden stays near 0.5, but for the
  // fourth. Of the medians it would be -1.
  Record r = with_legs({2, 4, 8, 16, 32, 64, 128}, {2, 4, 8, 16, 32, 64, 128},
                       {4, 8, 16, 32, 64, 128, 256}, {3, 6, 12, 48, 48, 80, 144});

  finish(r);

  EXPECT_EQ(r.leg_summary->hidden, 0.5);
  EXPECT_EQ(r.leg_summary->hidden_low, -1);
  EXPECT_EQ(r.leg_summary->hidden_high, 0.875);
  for (LegSamples& samples : r.legs) samples.seconds.resize(10);
  finish(r);
  EXPECT_EQ(r.leg_summary->hidden, 0.5);
  EXPECT_FALSE(r.leg_summary->hidden_low) << "of five repetitions";
}

TEST(Legs, NothingIsHiddenWhereThereIsNothingToHide) {
  Record r = with_legs(1, 0.125, 1.125, 1);
  finish(r);
  EXPECT_EQ(r.leg_summary->hidden, 1);
  EXPECT_EQ(r.leg_summary->overlapped_over_max, 1);

  r = with_legs(1, 0.09, 1.09, 6);
  finish(r);
  EXPECT_FALSE(r.leg_summary->hidden || r.leg_summary->hidden_low) << "it would be -54";
  EXPECT_EQ(r.leg_summary->overlapped_over_max, 6);

  r = with_legs(0.09, 1, 1.09, 1.3);
  finish(r);
  EXPECT_FALSE(r.leg_summary->hidden) << "it would be -2.3: computation is as short";

  r = with_legs(1, 1, 2, 1);
  r.ranks = 1;
  finish(r);
  EXPECT_FALSE(r.leg_summary->hidden) << "one rank sends nothing";
}

TEST(Legs, SuspectsTheIntervalOfEach) {
  std::vector<double> const steady(6, 1.0), unsteady{1, 1, 2, 2, 1, 1};
  Record r = with_legs(steady, steady, steady, steady);
  finish(r);
  EXPECT_EQ(all_reasons(r), "");

  r = with_legs(unsteady, steady, steady, steady);
  finish(r);
  ASSERT_EQ(r.suspect.size(), 1U);
  EXPECT_NE(r.suspect[0].find("leg 'compute'"), std::string::npos);
  r = with_legs(unsteady, std::vector<double>(6, 0.01), steady, steady);
  finish(r);
  EXPECT_EQ(all_reasons(r), "") << "no leg counts where there is nothing to hide";
  r = with_legs(steady, unsteady, unsteady, unsteady);
  finish(r);
  ASSERT_EQ(r.suspect.size(), 3U) << all_reasons(r);
  EXPECT_EQ(r.suspect[0].find("leg"), std::string::npos);
  EXPECT_NE(r.suspect[1].find("leg 'communicate'"), std::string::npos);
  EXPECT_NE(r.suspect[2].find("leg 'serial'"), std::string::npos);
}

TEST(Ratio, PairsRepetitionsOfEqualIndex) {
  Record ours = timed(1, {1, 10, 2, 4, 1, 5});
  Record const base = timed(1, {2, 20, 4, 8, 3, 10});

  set_ratio(ours, base);

  EXPECT_EQ(ours.ratio_to_vendor, 2);
  EXPECT_EQ(ours.ratio_to_vendor_low, 2);
  EXPECT_EQ(ours.ratio_to_vendor_high, 3);
}

TEST(Ratio, OfNothingIsNone) {
  Record ours = timed(1, {1, 2, 3}), base = timed(1, {2, 4, 6});
  ours.amount = base.amount = 0;
  set_ratio(ours, base);
  EXPECT_FALSE(ours.ratio_to_vendor) << "as of a product of size 0";
}

TEST(Ratio, ToASuspectRowIsMarked) {
  Record ours = timed(1, {1, 2, 3}), base = timed(1, {2, 4, 6});
  for (bool const is_suspect : {true, false}) {
    base.suspect =
        is_suspect ? std::vector<std::string>{"the times vary"} : std::vector<std::string>{};
    base.rate = 1;
    set_ratio(ours, base);
    set_share_of_local(ours, base);
    set_ratio_to_copy(ours, base);
    EXPECT_EQ(ours.vendor_is_suspect, is_suspect);
    EXPECT_EQ(ours.local_is_suspect, is_suspect);
    EXPECT_EQ(ours.copy_is_suspect, is_suspect);
  }
}

TEST(Ratio, OfFivePairsHasNoInterval) {
  Record ours = timed(1, {1, 10, 2, 4, 1});
  ours.ratio_to_vendor_low = ours.ratio_to_vendor_high = 1;

  set_ratio(ours, timed(1, {2, 20, 4, 8, 3}));

  EXPECT_EQ(ours.ratio_to_vendor, 2);
  EXPECT_FALSE(ours.ratio_to_vendor_low);
  EXPECT_FALSE(ours.ratio_to_vendor_high);
}

TEST(Ratio, ComparesRatesWhereWorkDiffers) {
  Record const ours = timed(1, {1});
  Record base = timed(1, {1});
  base.amount = 6;
  EXPECT_EQ(paired_ratio(ours, base).median, 2);
}

TEST(Ratio, IsMissingWithoutPairsOrWithoutTime) {
  Record ours = timed(1, {1});
  ours.ratio_to_vendor = 1;
  set_ratio(ours, timed(1, {}));
  EXPECT_FALSE(ours.ratio_to_vendor);

  Record zero = timed(1, {0});
  set_ratio(zero, timed(1, {1}));
  EXPECT_FALSE(zero.ratio_to_vendor);
}

TEST(SecondaryMetric, HasItsOwnTimeOrTheMedian) {
  Record r = timed(1, {2});
  finish(r);
  EXPECT_EQ(rate_of({"traffic", 10, "B/s", 0}, r), 5);
  EXPECT_EQ(rate_of({"raw", 10, "B/s", 0.5}, r), 20);
  EXPECT_EQ(rate_of({"latency", 10, "s", 0}, r), 0.2);
  EXPECT_EQ(rate_of({"latency", 10, "s", 0.5}, r), 0.05);
  EXPECT_EQ(rate_of({"conflicts", 10, "wavefronts", 0}, r), 10);
}

TEST(PercentOfPeak, IsMissingWithoutAPeakOrARate) {
  Record r = timed(1, {2});
  r.peak = 24;
  EXPECT_FALSE(percent_of_peak(r));

  finish(r);
  EXPECT_EQ(percent_of_peak(r), 25);

  r.peak = 0;
  EXPECT_FALSE(percent_of_peak(r));
}

TEST(PercentOfPeak, AtTheClockNeedsToldClocks) {
  Record r;
  r.rate = 25;
  r.peak = 100;
  r.peak_clock_hz = 2e9;
  EXPECT_FALSE(percent_of_peak_at_clock(r));
  r.clock_hz = {1e9, 1.9e9, 1e9};
  EXPECT_EQ(percent_of_peak_at_clock(r), 50);
  r.clock_hz = {0, 0, 0};  // not told
  EXPECT_FALSE(percent_of_peak_at_clock(r));
  r.clock_hz = {1e9};
  r.peak_clock_hz = 0;  // a bandwidth
  EXPECT_FALSE(percent_of_peak_at_clock(r));
}

TEST(Energy, IsThatOfARepetitionBetweenTheSamples) {
  Record r = timed(2, {1, 1, 1, 1, 1, 1});
  r.batch = 10;
  r.energy_counter_j = {100, 1000, 160, 1030, 220, 1080};  // 120 J and 80 J in twice ten
  finish(r);
  EXPECT_EQ(r.energy_j, 10);
  EXPECT_EQ(r.rate_per_watt, 1.2);

  r.energy_counter_j = {100, 1000, 160, 1030};
  finish(r);
  EXPECT_FALSE(r.energy_j || r.rate_per_watt) << "a sample without its energy";
  r.energy_counter_j = {100, 1000, 100, 1000, 100, 1000};
  finish(r);
  EXPECT_FALSE(r.energy_j) << "a counter that stands";
  r.energy_counter_j.clear();
  finish(r);
  EXPECT_FALSE(r.energy_j);

  r = timed(2, {1, 1, 1, 1});
  r.energy_counter_j = {100, 1000, 160, 1030};
  finish(r);
  EXPECT_EQ(r.energy_j, 90) << "two samples have one repetition between them";
}

TEST(Finish, SuspectsAMedianThatIsNotKnown) {
  // One of nine that is far off says nothing of the median; two of eight do, of which the interval is
  // the whole range.
  Record r = timed(1, {1, 1, 1, 1, 1, 1, 1, 1, 9});
  finish(r);
  EXPECT_TRUE(r.suspect.empty());
  r = timed(1, {1, 1, 1, 1, 1, 1, 1, 1.12});
  finish(r);
  EXPECT_EQ(r.suspect.size(), 1U);
  r.suspect.clear();
  r.suspect_percent = 6.5;
  finish(r);
  EXPECT_TRUE(r.suspect.empty());
  r.suspect_percent = 0;
  r.seconds.back() = 9;
  finish(r);
  EXPECT_TRUE(r.suspect.empty()) << "never";
}

TEST(Finish, SuspectsNothingOfASimulation) {
  Record r = timed(2, {1, 9, 2, 2, 30, 3});
  r.clock_limits = {"thermal"};
  r.unit.clear();
  finish(r);
  EXPECT_TRUE(r.suspect.empty()) << "without a rate the time is that of the simulation itself";
}

TEST(Finish, SuspectsSlowdownsButNotThePowerLimit) {
  Record r = timed(1, {1, 1, 1, 1, 1, 1});
  r.clock_limits = {"power", "other"};
  finish(r);
  EXPECT_TRUE(r.suspect.empty());
  r.clock_limits = {"power", "thermal", "hardware"};
  finish(r);
  EXPECT_EQ(r.suspect.size(), 2U);
}

TEST(Finish, SuspectsLongSamplesOfADeviceThatIsShared) {
  auto const doubts = [](double seconds, std::int64_t batch, double busy) {
    Record r = timed(1, {seconds, seconds});
    r.batch = batch;
    finish(r);
    suspect_shared_device(r, busy);
    return r.suspect.size();
  };
  EXPECT_EQ(doubts(0.2, 1, 0.3), 1U);
  EXPECT_EQ(doubts(0.002, 100, 0.3), 1U) << "the batch is the sample";
  EXPECT_EQ(doubts(0.002, 1, 0.3), 0U) << "the spread of short samples tells";
  EXPECT_EQ(doubts(0.2, 1, 0.04), 0U) << "the display of a workstation";
}

TEST(Finish, SuspectsSamplesThatTakeLongerThanTheSearchFound) {
  auto const doubts = [](double searched_s, std::int64_t buffer_sets, double clock_hz) {
    Record r = timed(1, {1, 1, 1, 1, 1, 1});
    r.searched_s = searched_s;
    r.buffer_sets = buffer_sets;
    r.peak_clock_hz = 2e9;
    r.clock_hz.assign(6, clock_hz);
    finish(r);
    return r.suspect.size();
  };
  EXPECT_EQ(doubts(0.89, 1, 2e9), 1U);
  EXPECT_EQ(doubts(0.92, 1, 2e9), 0U) << "within a tenth";
  EXPECT_EQ(doubts(0.89, 1, 1.9e9), 0U) << "at a lower clock";
  EXPECT_EQ(doubts(1.5, 1, 2e9), 0U) << "a row of launches at the power limit takes longer";
  EXPECT_EQ(doubts(0.5, 2, 2e9), 0U) << "of operands in a cache";
  EXPECT_EQ(doubts(0, 1, 2e9), 0U) << "nothing was searched";
  EXPECT_EQ(doubts(std::numeric_limits<double>::infinity(), 1, 2e9), 0U);
}

TEST(Finish, ClocksBoundTheRate) {
  Record r = timed(1, {1, 1, 1, 1, 1, 1});
  r.amount = 90;
  r.peak = 100;
  r.peak_clock_hz = 2e9;
  finish(r);
  EXPECT_TRUE(r.suspect.empty());
  r.clock_hz.assign(6, 1.5e9);
  r.clock_hz[3] = 1.7e9;
  finish(r);
  EXPECT_TRUE(r.suspect.empty()) << "85 at that clock, which may have been a tenth higher";
  r.clock_hz[3] = 1.6e9;
  finish(r);
  EXPECT_EQ(r.suspect.size(), 1U);
  r.suspect.clear();
  r.peak_clock_hz = 0;
  finish(r);
  EXPECT_TRUE(r.suspect.empty()) << "a peak that does not depend on it";
}

}  // namespace
}  // namespace quadrille::measure
