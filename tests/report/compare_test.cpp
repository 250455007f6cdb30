// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/compare.hpp"

#include "support/cases.hpp"
#include "support/json_schema.hpp"
#include "support/page.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace quadrille::report {
namespace {

using measure::Outcome;
using measure::Record;
using measure::RunResult;
using nlohmann::json;

constexpr char const* kCase = R"([[case]]
name = "square"
workload = "summa"
type = "f64"
size = 64
panel = 16
)";

/// A measurement of two ranks, of which each repetition's time is that of the second.
Record record_of(std::vector<double> const& times, std::string const& config = kCase) {
  Record record;
  record.id = "square:kokkos";
  record.name = "square";
  record.workload = "summa";
  record.type = "f64";
  record.variant = "kokkos";
  record.transport = "mpi";
  record.device = "host";
  record.data = "uniform";
  record.timing = "synchronised";
  record.size = {64};
  record.config = config;
  record.ranks = 2;
  record.amount = 2.0 * 64 * 64 * 64;
  record.outcome = Outcome::pass;
  for (double const time : times) record.seconds.insert(record.seconds.end(), {0.9 * time, time});
  finish(record);
  return record;
}

RunResult run_of(std::vector<Record> records, std::string const& id = "new") {
  RunResult run;
  run.info.run_id = id;
  run.info.started = "2026-01-02T03:04:05Z";
  run.info.status = "finished";
  run.info.config = std::string{"[run]\nchunk_bytes = \"1Mi\"\n"} + kCase;
  run.info.build = {{"commit", "1a72114"}, {"compiler", "GNU 12.2"}};
  run.info.ranks = {{0, "n1", 0, "host", "", "", 0, "0-3", 1LL << 40, 4},
                    {1, "n1", 1, "host", "", "", 1, "4-7", 1LL << 40, 4}};
  run.records = std::move(records);
  return run;
}

/// Refers to what it is given, after it has read its cases.
Comparison compared(std::vector<RunResult>& base, RunResult& now, Across across = Across::nothing) {
  std::ranges::for_each(base, test::read_cases_again);
  test::read_cases_again(now);
  return compare(base, now, 0.01, across);
}

/// Ten times about this median, 0.1 % apart.
std::vector<double> about(double median) {
  std::vector<double> times;
  for (int i = 0; i < 10; ++i) times.push_back(median * (1 + 0.0001 * (i - 4.5)));
  return times;
}

/// Measurements of a base run at 1 ms and a new one.
Finding judged(std::vector<double> const& base_times, std::vector<double> const& new_times) {
  std::vector<RunResult> base{run_of({record_of(base_times)}, "base")};
  RunResult now = run_of({record_of(new_times)});
  Finding finding = compared(base, now).findings.at(0);
  finding.base.clear();
  finding.now = nullptr;
  return finding;
}

std::vector<std::string> changed(std::vector<Difference> const& differences) {
  std::vector<std::string> names;
  for (Difference const& one : differences) names.push_back(one.what);
  return names;
}

using Names = std::vector<std::string>;

/// How often of 100 pairs of runs with noise of 1 % this is found.
int times_found(Change change, double true_change, int n) {
  std::mt19937 random{7};
  std::lognormal_distribution noise{0.0, 0.01};
  auto const sample = [&](double median) {
    std::vector<double> times;
    for (int i = 0; i < n; ++i) times.push_back(median * noise(random));
    return times;
  };
  int found = 0;
  for (int pair = 0; pair < 100; ++pair) {
    std::vector<double> const base = sample(1e-3);
    if (judged(base, sample(1e-3 * (1 + true_change))).change == change) ++found;
  }
  return found;
}

TEST(Compare, FindsChangesOf3PercentUnderNoiseOf1Percent) {
  EXPECT_GE(times_found(Change::same, 0, 100), 98);
  EXPECT_GE(times_found(Change::slower, 0.03, 100), 98);
  EXPECT_GE(times_found(Change::faster, -0.03, 100), 98);
}

TEST(Compare, FewSamplesHaveARatioAndDecideNothing) {
  std::vector<RunResult> base{run_of({record_of({2, 2, 2})}, "base")};
  RunResult now = run_of({record_of({3, 3, 3, 3, 3})});

  Comparison const comparison = compared(base, now);

  EXPECT_TRUE(comparison.is_undecided());
  EXPECT_FALSE(comparison.is_regression());
  Finding const& finding = comparison.findings.at(0);
  ASSERT_TRUE(finding.ratio);
  EXPECT_DOUBLE_EQ(finding.ratio->value, 1.5);
  EXPECT_NE(render_text(comparison, false)
                .find("     +50 % no interval        2.00 s ->  3.00 s  square:kokkos f64 64\n"
                      "    3 and 5 samples: a 95 % interval takes 6 on each side\n"),
            std::string::npos)
      << render_text(comparison, false);
  json const shown = json::parse(render_json(comparison));
  EXPECT_EQ(shown["undecided"], true);
  EXPECT_DOUBLE_EQ(shown["measurements"][0]["ratio"].get<double>(), 1.5);
  EXPECT_TRUE(shown["measurements"][0]["ratio_low"].is_null());
  EXPECT_NE(render_junit(comparison).find("new / base 1.5000; 3 and 5 samples"), std::string::npos);

  RunResult enough = run_of({record_of(about(2))});
  std::vector<RunResult> good{run_of({record_of(about(2))}, "base")};
  EXPECT_FALSE(compared(good, enough).is_undecided());
  std::vector<RunResult> nothing{run_of({}, "base")};
  EXPECT_FALSE(compared(nothing, enough).is_undecided()) << "there is no baseline";
}

TEST(Compare, ASuspectTimeIsNeitherSlowerNorTheSame) {
  auto const run_at = [](double median, bool is_suspect, std::string const& id) {
    RunResult run = run_of({record_of(about(median))}, id);
    if (is_suspect) run.records[0].suspect = {"a thermal slowdown lowered the device's clock"};
    return run;
  };
  for (double const median : {1.0, 1.5, 0.5}) {
    std::vector<RunResult> base{run_at(1, false, "base")}, doubtful{run_at(1, true, "base")};
    RunResult suspect = run_at(median, true, "new"), now = run_at(median, false, "new");
    EXPECT_EQ(compared(base, suspect).findings.at(0).change, Change::ambiguous);
    EXPECT_EQ(compared(doubtful, now).findings.at(0).change, Change::ambiguous);
    EXPECT_TRUE(compared(base, suspect).is_undecided());
    EXPECT_FALSE(compared(base, suspect).is_regression());
  }
  std::vector<RunResult> base{run_at(1, false, "base")};
  RunResult suspect = run_at(1.5, true, "new");
  std::string const text = render_text(compared(base, suspect), false);
  EXPECT_NE(text.find(" (+50 %) [+49.9, +50.1]"), std::string::npos) << text;

  // Of several base runs the trusted ones are compared with.
  std::vector<RunResult> mixed{run_at(9, true, "base1"), run_at(1, false, "base2")};
  RunResult same = run_at(1, false, "new");
  EXPECT_EQ(compared(mixed, same).findings.at(0).change, Change::same);
}

TEST(Compare, ThreeSamplesAreAmbiguousAndSayWhy) {
  for (double const change : {0.0, 0.03, -0.03, 1.0}) {
    EXPECT_EQ(times_found(Change::ambiguous, change, 3), 100) << change;
  }
  EXPECT_EQ(judged({1, 1, 1}, about(1)).reason,
            "3 and 10 samples: a 95 % interval takes 6 on each side");
}

TEST(Compare, TheWholeIntervalDecides) {
  EXPECT_EQ(judged(about(1), about(1.005)).change, Change::same);
  EXPECT_EQ(judged(about(1), about(1.02)).change, Change::slower);
  EXPECT_EQ(judged(about(1), about(0.98)).change, Change::faster);
  EXPECT_EQ(judged(about(1), about(1.0101)).change, Change::ambiguous);
  EXPECT_EQ(judged(about(1), about(0.9899)).change, Change::ambiguous);
  EXPECT_EQ(judged(about(1), about(1.0099)).change, Change::ambiguous);
  EXPECT_EQ(judged(about(1), about(0.9901)).change, Change::ambiguous);
  Finding const bad = judged(about(1), {1, 1, 1, 1, 1, 1, 0});
  EXPECT_EQ(bad.change, Change::ambiguous);
  EXPECT_EQ(bad.reason, "some times are zero, negative or not finite");
}

TEST(Compare, WhatTheClockDoesNotResolveIsTheSame) {
  // 40 ns of 1 us, on a host; a GPU's events resolve 500 ns, in batches a part of that.
  EXPECT_EQ(judged(about(1e-6), about(1.04e-6)).change, Change::same);
  EXPECT_EQ(judged(about(1e-6), about(1.07e-6)).change, Change::slower);
  auto const on_gpu = [](std::int64_t batch) {
    std::vector<RunResult> base{run_of({record_of(about(1e-6))}, "base")};
    RunResult now = run_of({record_of(about(1.4e-6))});
    for (RunResult* run : {&base[0], &now}) {
      run->records[0].timing = "device";
      run->records[0].batch = batch;
    }
    return compared(base, now).findings.at(0).change;
  };
  EXPECT_EQ(on_gpu(1), Change::same);
  EXPECT_EQ(on_gpu(100), Change::slower);
}

TEST(Compare, SpreadBetweenBaseRunsMakesAmbiguous) {
  RunResult now = run_of({record_of(about(1.03))});
  std::vector<RunResult> base;
  for (double const median : {1.0, 1.02, 0.98}) {
    base.push_back(run_of({record_of(about(median))}, fmt::format("base{}", base.size())));
  }

  EXPECT_EQ(compared(base, now).findings.at(0).change, Change::ambiguous);
  std::vector<RunResult> alone{base[0]};
  EXPECT_EQ(compared(alone, now).findings.at(0).change, Change::slower);
  for (RunResult& run : base) run.records[0] = record_of(about(1.0));
  EXPECT_EQ(compared(base, now).findings.at(0).change, Change::slower);
}

TEST(Compare, RefusesWhatWasMeasuredOtherwiseAndNamesAllOfIt) {
  struct Other {
    std::function<void(RunResult&)> make;
    Names names;
  };
  auto const config = [](std::string const& line) {
    return [line](RunResult& run) { run.records[0].config += line; };
  };
  Other const others[]{
      {[](RunResult& run) { run.records[0].device = "H200"; }, {"device"}},
      {[](RunResult& run) { run.info.ranks[1].device = "H200"; }, {"device"}},
      {[](RunResult& run) {
         run.info.ranks.pop_back();
         run.records[0].ranks = 1;
         finish(run.records[0]);
       },
       {"grid", "ranks", "device"}},
      {[](RunResult& run) { run.records[0].size = {128}; }, {"size"}},
      {[](RunResult& run) { run.records[0].type = "f32"; }, {"type"}},
      {[](RunResult& run) { run.records[0].data = "zeros"; }, {"data"}},
      {[](RunResult& run) { run.records[0].transport = "nccl"; }, {"transport"}},
      {[](RunResult& run) { run.records[0].timing = "launch_only"; }, {"timing"}},
      {[](RunResult& run) { run.records[0].amount = 1; }, {"work of a repetition"}},
      {[](RunResult& run) { run.records[0].batch = 100; }, {"batch"}},
      {[](RunResult& run) { run.records[0].buffer_sets = 4; }, {"buffer sets"}},
      {[](RunResult& run) { run.info.config += "[run]\n"; }, {"chunk_bytes"}},
      {config("clock = \"sustained\"\n"), {"clock"}},
      {config("cache = \"hot\"\n"), {"cache"}},
      {config("nccl_ctas = 8\n"), {"nccl_ctas"}},
      {config("legs = true\n"), {"legs"}},
      {config("compute = \"f32\"\n"), {"compute"}},
      {config("grid = \"2x1\"\n"), {"grid"}},
      {config("buffers = 3\nalpha = 2\n"), {"buffers", "alpha"}},
      {[](RunResult& run) {
         run.records[0].config += "throttle = \"500 MB/s\"\n";
         run.records[0].modelled_link = true;
       },
       {"modelled link", "throttle"}},
      {[](RunResult& run) {
         run.records[0].device = "H200";
         run.records[0].size = {64, 64, 128};
         run.records[0].config += "clock = \"sustained\"\nbuffers = 3\n";
       },
       {"size", "buffers", "device", "clock"}},
  };
  std::vector<RunResult> base{run_of({record_of(about(1))}, "base")};
  for (Other const& other : others) {
    RunResult now = base[0];
    other.make(now);

    Comparison const comparison = compared(base, now);

    ASSERT_EQ(comparison.findings.size(), 1U);
    EXPECT_EQ(comparison.findings[0].change, Change::refused) << other.names[0];
    EXPECT_EQ(changed(comparison.findings[0].differences), other.names);
    EXPECT_FALSE(comparison.is_comparable());
    EXPECT_FALSE(comparison.is_regression());
  }
}

TEST(Compare, AcrossDevicesHasRatiosOfWhatIsElseAlike) {
  std::vector<RunResult> base{run_of({record_of(about(1))}, "base")};
  RunResult now = run_of({record_of(about(0.25))});
  Record& record = now.records[0];
  record.device = "H200";
  record.timing = "device";
  record.batch = 100;

  Comparison const comparison = compared(base, now, Across::devices);

  ASSERT_EQ(comparison.findings.size(), 1U);
  Finding const& finding = comparison.findings[0];
  EXPECT_EQ(finding.change, Change::faster);
  EXPECT_NEAR(finding.ratio.value().value, 0.25, 1e-3);
  EXPECT_EQ(changed(finding.differences), (Names{"device", "timing"}));
  EXPECT_NE(render_text(comparison, false).find("across devices"), std::string::npos);
  EXPECT_EQ(compared(base, now).findings.at(0).change, Change::refused) << "unless it is asked for";
  record.timing = "launch_only";
  EXPECT_EQ(compared(base, now, Across::devices).findings.at(0).change, Change::refused);
  record.timing = "device";
  record.data = "zeros";
  EXPECT_EQ(compared(base, now, Across::devices).findings.at(0).change, Change::refused)
      << "other data are no matter of the device";
}

TEST(Compare, AcrossDevicesTakesTheBestRowsForOneAnother) {
  std::vector<RunResult> base{run_of({record_of(about(1))}, "base")};
  RunResult now = run_of({record_of(about(2))});
  Record& record = now.records[0];
  record.device = "H200";
  record.variant = "host_simd";
  record.id = "square:host_simd";
  for (bool const are_best : {false, true}) {
    base[0].records[0].is_best = record.is_best = are_best;

    Comparison const comparison = compared(base, now, Across::devices);

    EXPECT_EQ(comparison.count(Change::slower), are_best ? 1U : 0U);
    if (are_best) {
      EXPECT_EQ(changed(comparison.findings.at(0).differences), (Names{"variant", "device"}));
    }
  }
}

TEST(Compare, JudgesBatchesOfDifferentLength) {
  std::vector<RunResult> base{run_of({record_of(about(1))}, "base")};
  RunResult now = run_of({record_of(about(1.5))});
  base[0].records[0].batch = 87;
  now.records[0].batch = 92;
  EXPECT_EQ(compared(base, now).findings.at(0).change, Change::slower);
  now.records[0].batch = 1;
  EXPECT_EQ(compared(base, now).findings.at(0).change, Change::refused);
}

/// Which transport "auto" takes may be what made a run slow.
TEST(Compare, JudgesRunsThatChoseTheirTransport) {
  auto const by = [](std::string transport, bool is_chosen) {
    Record record = record_of(about(is_chosen && transport == "mpi" ? 2 : 1));
    record.transport = std::move(transport);
    record.transport_is_chosen = is_chosen;
    return run_of({record}, "run");
  };
  auto const finding = [](RunResult base, RunResult now) {
    base.info.run_id = "base";
    std::vector<RunResult> all{base};
    return compared(all, now).findings.at(0);
  };

  Finding const slower = finding(by("ipc", true), by("mpi", true));
  EXPECT_EQ(slower.change, Change::slower);
  ASSERT_EQ(changed(slower.differences), std::vector<std::string>{"transport"});
  EXPECT_EQ(slower.differences[0].now, "mpi");
  EXPECT_EQ(finding(by("ipc", true), by("ipc", false)).change, Change::same) << "a rerun";
  EXPECT_EQ(finding(by("ipc", false), by("mpi", true)).change, Change::refused);
}

TEST(Compare, MatchesByWhatIsMeasuredAndNotByHowItIsWritten) {
  std::vector<RunResult> base{run_of({record_of(about(1))}, "base")};
  Record other = record_of(about(1), R"toml([[case]]
name = "product"
workload = "summa"
variant = ["kokkos", "a variant that is gone"]
size = "(64,64,64)"
panel = "16"
grid = "1x2"
compute = "f64"
repetitions = 7
seed = 3
save = true
)toml");
  other.id = "product:kokkos";
  other.name = "product";
  other.grid = "1x2";
  other.size = {64, 64, 64};
  RunResult now = run_of({other});

  Comparison const comparison = compared(base, now);

  ASSERT_EQ(comparison.findings.size(), 1U);
  EXPECT_EQ(comparison.findings[0].change, Change::same) << render_text(comparison, true);
}

TEST(Compare, PairsASweepThatMovedAndListsTheRest) {
  auto const sized = [](int index, std::int64_t n) {
    Record record = record_of(about(1));
    record.name = fmt::format("square.{}", index);
    record.id = record.name + ":kokkos";
    record.size = {n};
    return record;
  };
  std::vector<RunResult> base{run_of({sized(1, 64), sized(2, 128), sized(3, 256)}, "base")};
  RunResult now = run_of({sized(1, 128), sized(2, 256), sized(3, 512)});

  Comparison const comparison = compared(base, now);

  EXPECT_EQ(comparison.count(Change::same), 2U);
  EXPECT_EQ(comparison.count(Change::only_in_base), 1U);
  EXPECT_EQ(comparison.count(Change::only_in_new), 1U);
  EXPECT_EQ(comparison.findings.size(), 4U);
}

TEST(Compare, EqualMeasurementsOfARunArePairedByName) {
  auto const named = [](std::string const& name, double median) {
    Record record = record_of(about(median));
    record.name = name;
    record.id = name + ":kokkos";
    return record;
  };
  std::vector<RunResult> base{run_of({named("a", 1), named("b", 2)}, "base1"),
                              run_of({named("b", 2), named("a", 1)}, "base2")};
  RunResult now = run_of({named("b", 2), named("a", 1)});

  Comparison const comparison = compared(base, now);

  EXPECT_EQ(comparison.count(Change::same), 2U) << render_text(comparison, true);
  for (Finding const& finding : comparison.findings) EXPECT_EQ(finding.base.size(), 2U);
}

TEST(Compare, RefusesTheBaseRunThatIsUnlikeTheOthers) {
  std::vector<RunResult> base{run_of({record_of(about(1))}, "base1"),
                              run_of({record_of(about(5))}, "base2")};
  base[1].records[0].device = "H200";
  RunResult now = run_of({record_of(about(1))});

  Comparison const comparison = compared(base, now);

  EXPECT_EQ(comparison.count(Change::same), 1U);
  ASSERT_EQ(comparison.count(Change::refused), 1U);
  EXPECT_EQ(changed(comparison.findings[0].differences), Names{"device"});
}

TEST(Compare, AConfigurationThatCannotBeReadIsRefusedWithTheReason) {
  std::vector<RunResult> base{run_of({record_of(about(1))}, "base")};
  RunResult now = base[0];
  now.records[0].config += "panle = 3\n";

  Comparison const comparison = compared(base, now);

  ASSERT_EQ(comparison.count(Change::refused), 1U);
  Difference const& why = comparison.findings[0].differences.at(0);
  EXPECT_EQ(why.what, "configuration");
  EXPECT_NE(why.now.find("did you mean 'panel'"), std::string::npos) << why.now;
  now.records[0].config = "[[case]]\nworkload = \"vector\"\nsize = 64\n";
  EXPECT_EQ(changed(compared(base, now).findings.at(0).differences), Names{"configuration"});
}

TEST(Compare, EachRecordHasTheConfigurationOfItsCase) {
  auto const with = [](std::string const& name, std::string const& line) {
    Record record = record_of(about(1), kCase + line);
    record.name = name;
    record.id = name + ":kokkos";
    return record;
  };
  Record const two = with("two", "buffers = 2\n"), three = with("three", "buffers = 3\n");
  Record const sustained = with("sustained", "clock = \"sustained\"\n");
  std::vector<RunResult> base{run_of({two, three, sustained}, "base")};
  std::vector<RunResult> only_two{run_of({two}, "base")};

  RunResult now = run_of({three, two});

  Comparison const comparison = compared(base, now);
  EXPECT_EQ(comparison.count(Change::same), 2U) << render_text(comparison, true);
  EXPECT_EQ(comparison.count(Change::only_in_base), 1U) << "not refused: another case of that run";
  RunResult only_three = run_of({three});
  EXPECT_EQ(compared(only_two, only_three).count(Change::only_in_new), 1U) << "another problem";
}

TEST(Compare, AConfigurationOfAVariantIsItsOwn) {
  auto const with = [](std::string const& variant, std::string const& tile) {
    Record record = record_of(about(1),
                              "[[case]]\nworkload = \"gemm\"\nsize = 64\nconfig = "
                              "\"tuned_tiles BM=" +
                                  tile + "\"\n");
    record.workload = "gemm";
    record.variant = variant;
    record.id = "gemm:" + variant;
    return record;
  };
  std::vector<RunResult> base{run_of({with("tuned_tiles", "64"), with("naive", "64")}, "base")};
  RunResult now = run_of({with("tuned_tiles", "128"), with("naive", "128")});

  Comparison const comparison = compared(base, now);

  EXPECT_EQ(comparison.count(Change::same), 1U);
  ASSERT_EQ(comparison.count(Change::refused), 1U) << render_text(comparison, true);
  EXPECT_EQ(changed(comparison.findings[0].differences), Names{"config"});
  EXPECT_EQ(comparison.findings[0].differences[0].now, "BM=128");
}

/// A run that passed, and one of this outcome.
Comparison after_pass(std::vector<RunResult>& base, RunResult& now, Outcome outcome) {
  now.records[0].outcome = outcome;
  now.records[0].batch = 1;  // as where nothing was timed
  return compared(base, now);
}

TEST(Compare, WhatPassedAndFailsIsBrokenAndARegression) {
  std::vector<RunResult> base{run_of({record_of(about(1))}, "base")};
  base[0].records[0].batch = 100;
  RunResult now = base[0];
  now.records[0].reason = "C(3, 4): expected 5, got nan";
  for (Outcome const outcome : {Outcome::fail, Outcome::error, Outcome::timeout}) {
    Comparison const comparison = after_pass(base, now, outcome);
    EXPECT_EQ(comparison.count(Change::broken), 1U);
    EXPECT_TRUE(comparison.is_regression());
    EXPECT_TRUE(comparison.is_comparable());
    EXPECT_EQ(
        comparison.findings[0].reason,
        fmt::format("base PASS, new {} (C(3, 4): expected 5, got nan)", core::to_text(outcome)));
  }
  for (Outcome const outcome : {Outcome::skip, Outcome::unsupported, Outcome::interrupted}) {
    Comparison const comparison = after_pass(base, now, outcome);
    EXPECT_EQ(comparison.count(Change::no_speed), 1U);
    EXPECT_FALSE(comparison.is_regression());
  }
  base[0].records[0].outcome = Outcome::fail;
  EXPECT_EQ(after_pass(base, now, Outcome::fail).count(Change::no_speed), 1U);
  EXPECT_EQ(after_pass(base, now, Outcome::pass).count(Change::no_speed), 1U);
}

TEST(Compare, OneBaseRunThatPassedIsEnough) {
  std::vector<RunResult> base{run_of({record_of(about(1))}, "base1"),
                              run_of({record_of(about(9))}, "base2")};
  base[1].records[0].outcome = Outcome::timeout;
  RunResult now = run_of({record_of(about(1))});

  EXPECT_EQ(compared(base, now).findings.at(0).change, Change::same);
  EXPECT_EQ(after_pass(base, now, Outcome::fail).findings.at(0).change, Change::broken);
}

TEST(Compare, ARunThatDiedDoesNotPassTheGate) {
  Record second = record_of(about(1));
  second.id = "square:reference";
  second.variant = "reference";
  std::vector<RunResult> base{run_of({record_of(about(1)), second}, "base")};
  RunResult now = run_of({record_of(about(1))});
  EXPECT_FALSE(compared(base, now).is_regression()) << "left out on purpose";

  now.info.status = "running";

  EXPECT_TRUE(compared(base, now).is_regression());
  base[0].records[1].outcome = Outcome::skip;
  EXPECT_FALSE(compared(base, now).is_regression()) << "it lacks nothing that passed";
  base[0].records.pop_back();
  EXPECT_TRUE(after_pass(base, now, Outcome::interrupted).is_regression());
}

TEST(Compare, ShowsWhatElseChanged) {
  std::vector<RunResult> base{run_of({record_of(about(1))}, "base1"),
                              run_of({record_of(about(1))}, "base2")};
  for (RunResult& run : base) {
    run.records[0].clock_hz.assign(4, 1.98e9);
    run.records[0].implementation = "dgemm_128";
    run.info.environment = {{"OMP_NUM_THREADS", "2"},
                            {"SLURM_JOB_ID", run.info.run_id},
                            {"OMPI_COMM_WORLD_SIZE", "2"},
                            {"OMPI_MCA_orte_num_nodes", "1"}};
  }
  base[1].info.build[0].second = "577c038";
  RunResult now = base[0];
  now.info.build[0].second = "64a3f98";
  now.info.ranks[1].node = "n2";
  now.info.ranks[1].threads = 3;
  now.info.environment = {{"NCCL_ALGO", "Ring"},
                          {"OMPI_MCA_btl", "self,tcp"},
                          {"OMPI_MCA_ess", "singleton"},
                          {"SLURM_HINT", "nomultithread"}};
  now.info.config.replace(0, now.info.config.find("[[case]]"),
                          "[run]\nchunk_bytes = \"1Mi\"\ntuned = \"off\"\n");
  now.records[0].clock_hz.assign(4, 1.5e9);
  now.records[0].kernels = {"gemm"};

  Comparison const comparison = compared(base, now);

  EXPECT_EQ(changed(comparison.environment),
            (Names{"commit", "run.tuned", "nodes", "threads", "NCCL_ALGO", "OMPI_MCA_btl",
                   "SLURM_HINT", "OMP_NUM_THREADS"}))
      << "what launchers set by themselves is in placement";
  EXPECT_EQ(comparison.environment[0].base, "1a72114, 577c038");
  EXPECT_EQ(comparison.environment[2].base, "2 x 2 x n1");
  EXPECT_EQ(comparison.environment[2].now, "n1, n2");
  ASSERT_EQ(comparison.findings.size(), 1U);
  EXPECT_EQ(changed(comparison.findings[0].differences), (Names{"clock", "kernels"}));
  EXPECT_EQ(comparison.findings[0].differences[0].now, "1.50 GHz");
}

TEST(Compare, TheLastBaseRunThatPassedExplains) {
  std::vector<RunResult> base;
  for (char const* const kernel : {"first", "second", "third"}) {
    base.push_back(run_of({record_of(about(1))}, kernel));
    base.back().records[0].implementation = kernel;
  }
  base[2].records[0].outcome = Outcome::timeout;
  RunResult now = run_of({record_of(about(1))});
  now.records[0].implementation = "other";

  Finding const finding = compared(base, now).findings.at(0);

  ASSERT_EQ(changed(finding.differences), (Names{"implementation"}));
  EXPECT_EQ(finding.differences[0].base, "second");
}

TEST(Compare, TellsOnceWhichSettingsOfCasesDiffer) {
  auto const run_with = [](std::string const& settings, std::string const& id) {
    std::vector<Record> records;
    for (char const* const variant : {"kokkos", "host_simd"}) {
      records.push_back(record_of(about(1), kCase + settings));
      records.back().variant = variant;
      records.back().id = fmt::format("square:{}", variant);
    }
    return run_of(std::move(records), id);
  };
  std::vector<RunResult> base{run_with("repetitions = 6\nseed = 3\n", "base1"),
                              run_with("repetitions = 9\nseed = 3\n", "base2")};
  RunResult now = run_with("repetitions = 12\nseed = 3\nwarmup.seconds = 0.25\n", "new");

  Comparison const comparison = compared(base, now);

  EXPECT_EQ(comparison.count(Change::same), 2U) << "they are compared all the same";
  EXPECT_EQ(changed(comparison.environment), (Names{"repetitions", "warmup.seconds"}));
  EXPECT_EQ(comparison.environment[0].base, "6, 9");
  EXPECT_EQ(comparison.environment[0].now, "12");
  RunResult again = run_with("repetitions = 9\nseed = 3\n", "again");
  std::vector<RunResult> last{base[1]};
  EXPECT_EQ(changed(compared(last, again).environment), Names{});
}

/// Two runs with a finding of each kind, and texts that nobody should trust.
struct Everything {
  std::vector<RunResult> base;
  RunResult now;
};
constexpr char const* kHostile = "<a&\"b'>\x1b[2J\n\x9b\xff";

Everything everything() {
  auto const named = [](std::string const& name, std::string const& variant, double median) {
    Record record = record_of(about(median));
    record.name = name;
    record.id = name + ":" + variant;
    record.variant = variant;
    return record;
  };
  Everything all;
  all.base = {
      run_of({named("same", "a", 1e-3), named("slow", "b", 1e-3), named("slower", "c", 1e-3),
              named("fast", "d", 1e-3), named("unclear", "e", 1e-3), named("broken", "f", 1e-3),
              named("skipped", "g", 1e-3), named("device", "h", 1e-3),
              named(std::string(95, 'l') + "ast", "i", 1e-3)},
             "20260101-a")};
  all.now = run_of(
      {named("same", "a", 1e-3), named("slow", "b", 1.05e-3), named("slower", "c", 25e-3),
       named("fast", "d", 0.5e-3), named("unclear", "e", 1.0101e-3), named("broken", "f", 1e-3),
       named("skipped", "g", 1e-3), named("device", "h", 1e-3), named(kHostile, "j", 1e-3)},
      "20260102-b");
  all.now.records[4].suspect = {std::string(60, 'v') + " because a fan failed in that node"};
  all.now.records[5].outcome = Outcome::fail;
  all.now.records[5].reason = kHostile;
  all.now.records[6].outcome = Outcome::unsupported;
  all.now.records[6].reason = "needs a GPU";
  all.now.records[7].device = "NVIDIA H200";
  all.now.info.build[1].second = kHostile + std::string(200, 'x');
  return all;
}

std::vector<std::string> lines_of(std::string const& text) {
  std::vector<std::string> lines;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(CompareText, ShowsEachFindingOnceTheWorstFirst) {
  Everything all = everything();
  std::string const text = render_text(compared(all.base, all.now), false);

  std::size_t at = 0;
  for (char const* const id : {"broken:f", "slower:c", "slow:b", "fast:d", "unclear:e", "skipped:g",
                               "device:h", "ast:i", ":j"}) {
    std::size_t const found = text.find(id);
    EXPECT_GT(found, at) << id;
    EXPECT_EQ(text.find(id, found + 1), std::string::npos) << id;
    at = found;
  }
  EXPECT_EQ(text.find("same:a"), std::string::npos);
  for (char const* const figure :
       {"25x [25x, 25x]", "1.00 ms -> 25.0 ms", "+5 % [+4.95, +5.05]", "-50 % [-50, -50]",
        "1.00 ms ->  500 us", "(+1.01 %) [+0.96, +1.06]", "FAIL", "UNSUPPORTED", "NVIDIA H200",
        "20260102-b", "20260101-a", "<a&\"b'>\\x1b[2J\\x0a\\x9b\\xff"}) {
    EXPECT_NE(text.find(figure), std::string::npos) << figure;
  }
}

TEST(CompareText, SaysOnceWhatMeasurementsInARowShare) {
  auto const named = [](std::string const& variant, std::vector<double> const& times) {
    Record record = record_of(times);
    record.variant = variant;
    record.id = "square:" + variant;
    return record;
  };
  std::vector<double> const few{1, 1, 1}, more{1, 1, 1, 1};
  constexpr char kRatio[] = "      +0 % no interval        1.00 s ->  1.00 s  ";
  std::vector<RunResult> base{run_of({named("a", few), named("b", few), named("c", more)}, "base")};
  RunResult now = run_of({named("a", few), named("b", few), named("c", more)});

  std::string const text = render_text(compared(base, now), false);

  EXPECT_NE(text.find(fmt::format("{0}square:a f64 64\n"
                                  "{0}square:b f64 64\n"
                                  "    these 2:\n"
                                  "    3 and 3 samples: a 95 % interval takes 6 on each side\n"
                                  "{0}square:c f64 64\n"
                                  "    4 and 4 samples: a 95 % interval takes 6 on each side\n",
                                  kRatio)),
            std::string::npos)
      << text;
}

TEST(CompareText, SaysOnceWhatDiffersInValuesAlone) {
  auto const doubtful = [](std::string const& variant, int percent) {
    Record record = record_of(about(1));
    record.variant = variant;
    record.id = "square:" + variant;
    record.suspect = {fmt::format("the times vary by {} % (standard deviation / mean)", percent)};
    return record;
  };
  std::vector<RunResult> base{run_of({doubtful("a", 1), doubtful("b", 2)}, "base")};
  for (Record& record : base[0].records) record.suspect.clear();
  RunResult now = run_of({doubtful("a", 31), doubtful("b", 22)});

  std::string const text = render_text(compared(base, now), true);

  EXPECT_NE(text.find("    these 2:\n    SUSPECT in new: the times vary by 22 to 31 % (standard "
                      "deviation / mean)\n"),
            std::string::npos)
      << text;
}

TEST(CompareText, FitsATerminalAndObeysNothing) {
  Everything all = everything();
  for (int i = 0; i < 30; ++i) {
    all.base.push_back(all.base[0]);
    all.base.back().info.run_id = fmt::format("another-run-{}", i);
  }
  std::string const text = render_text(compared(all.base, all.now), true);
  EXPECT_NE(text.find("SAME"), std::string::npos);
  for (std::string const& line : lines_of(text)) EXPECT_LE(line.size(), 80U) << line;
  bool const is_plain =
      std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); });
  EXPECT_TRUE(is_plain) << text;
}

std::string complaints_about(json const& value) {
  return test::complaints_about(value, QUADRILLE_COMPARE_SCHEMA);
}

TEST(CompareJson, FollowsItsSchemaAndTheSchemaBites) {
  Everything all = everything();
  json const good = json::parse(render_json(compared(all.base, all.now)));
  EXPECT_EQ(complaints_about(good), "");
  std::vector<RunResult> nothing(1);
  EXPECT_EQ(complaints_about(json::parse(render_json(compared(nothing, nothing[0])))), "");

  json damaged = good;
  damaged["schema_version"] = 2;
  damaged["measurements"][0]["change"] = "WORSE";
  damaged["measurements"][1]["ratio"] = "fast";
  damaged["measurements"][2].erase("margin");
  damaged["environment"][0].erase("what");
  damaged["counts"].erase("SAME");
  damaged["new"]["run_id"] = nullptr;
  std::string const complaints = complaints_about(damaged);
  EXPECT_EQ(std::ranges::count(complaints, '\n'), 7) << complaints;
}

TEST(CompareJson, KeysAreThoseOfTheSchemaInTheSchemasOrder) {
  using test::keys_of;
  Everything all = everything();
  std::ifstream file{QUADRILLE_COMPARE_SCHEMA};
  auto const schema = nlohmann::ordered_json::parse(file);
  auto const shown = nlohmann::ordered_json::parse(render_json(compared(all.base, all.now)));
  auto const& rules = schema["$defs"];
  EXPECT_EQ(keys_of(shown), keys_of(schema["properties"]));
  EXPECT_EQ(keys_of(shown["new"]), keys_of(rules["run"]["properties"]));
  EXPECT_EQ(keys_of(shown["measurements"][0]), keys_of(rules["measurement"]["properties"]));
  EXPECT_EQ(keys_of(shown["measurements"][0]["new"]), keys_of(rules["side"]["properties"]));
  EXPECT_EQ(keys_of(shown["environment"][0]), keys_of(rules["difference"]["properties"]));
  EXPECT_EQ(json(keys_of(shown["counts"])), json(schema["properties"]["counts"]["required"]));
}

TEST(CompareJson, TellsWhatWasFound) {
  Everything all = everything();
  json const shown = json::parse(render_json(compared(all.base, all.now)));
  EXPECT_EQ(shown["regression"], true);
  EXPECT_EQ(shown["counts"]["SLOWER"], 2);
  json const& broken = shown["measurements"][0];
  EXPECT_EQ(broken["change"], "BROKEN");
  EXPECT_TRUE(broken["ratio"].is_null());
  EXPECT_TRUE(broken["new"]["median_s"].is_null());
  json const& slower = shown["measurements"][1];
  EXPECT_EQ(slower["id"], "slower:c") << "the worst first";
  EXPECT_NEAR(slower["ratio"].get<double>(), 25, 1e-9);
  EXPECT_LT(slower["ratio_low"], 25);
  EXPECT_EQ(slower["base"][0]["samples"], 10);
}

TEST(CompareJunit, CountsEscapesAndFails) {
  Everything all = everything();
  std::string const xml = render_junit(compared(all.base, all.now));
  EXPECT_NE(xml.find("tests=\"10\" failures=\"3\" errors=\"0\" skipped=\"4\""), std::string::npos)
      << xml;
  EXPECT_NE(xml.find("name=\"&lt;a&amp;&quot;b'&gt;\\x1b[2J\\x0a\\x9b\\xff:j\""), std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<failure type=\"SLOWER\" message=\"SLOWER; new / base 25.0000, 95 %"),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<failure type=\"BROKEN\" message=\"BROKEN; base PASS, new FAIL ("),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<skipped message=\"REFUSED; device: 2 x host -&gt; NVIDIA H200, "
                     "host\"/>"),
            std::string::npos)
      << xml;
}

TEST(ComparePage, HasWhatWasFound) {
  Everything all = everything();

  json const data = test::data_of(test::kept(render_html(compared(all.base, all.now)), "compare"));

  json const plain = json::parse(render_json(compared(all.base, all.now)));
  EXPECT_EQ(data.at("counts"), plain.at("counts"));
  EXPECT_EQ(data.at("environment").size(), plain.at("environment").size());
  EXPECT_EQ(data.at("regression"), true);
  EXPECT_EQ(data.at("comparable"), true);
  EXPECT_EQ(data.at("new").at("ranks").size(), 2U);
  EXPECT_FALSE(data.at("new").contains("config"));
  json const& slower = data.at("measurements").at(1);
  EXPECT_EQ(slower.at("id"), "slower:c");
  EXPECT_NEAR(slower.at("base_s").get<double>(), 1e-3, 1e-9);
  EXPECT_EQ(slower.at("settings"), (json{{"panel", "16"}}));
  EXPECT_TRUE(data.at("measurements").at(0).at("base_s").is_null());
}

TEST(ComparePage, TakesTextsForTexts) {
  constexpr char kMarkup[] = "</script><img src=x onerror=\"document.title='broken'\"><!--";
  Everything all = everything();
  std::string const plain = render_html(compared(all.base, all.now));
  for (RunResult* run : {&all.base[0], &all.now}) {
    run->info.run_id = run->info.ranks[0].node = run->info.ranks[0].device = kMarkup;
    run->info.build[0].second = fmt::format("{}{}", kMarkup, run->records.size());
    for (Record& r : run->records) {
      r.id += kMarkup;
      r.name = r.reason = r.implementation = kMarkup;
      r.suspect = {kMarkup};
    }
  }

  std::string const page = test::kept(render_html(compared(all.base, all.now)), "compare-hostile");

  for (char const* const part : {"</script>", "<img", "<!--"}) {
    EXPECT_EQ(test::count(page, part), test::count(plain, part)) << part;
  }
}

TEST(ComparePage, OfManyMeasurementsStaysSmall) {
  std::vector<Record> was, is;
  for (int i = 0; i < 500; ++i) {
    Record record = record_of(about(1e-3));
    record.variant = fmt::format("variant{}", i);
    record.id = fmt::format("square:{}", record.variant);
    was.push_back(record);
    Record now = record_of(about(1e-3 * (1 + 0.0002 * (i - 250))));
    now.variant = record.variant;
    now.id = record.id;
    is.push_back(now);
  }
  std::vector<RunResult> base{run_of(std::move(was), "base")};
  RunResult now = run_of(std::move(is));

  std::string const page = test::kept(render_html(compared(base, now)), "compare-many");

  EXPECT_EQ(test::data_of(page).at("measurements").size(), 500U);
  EXPECT_LT(page.size(), 1'500'000U);
}

TEST(ComparePage, SaysThatNothingIsAlike) {
  std::vector<RunResult> base{run_of({}, "base")};
  RunResult now = run_of({record_of(about(1e-3))});

  json const data = test::data_of(test::kept(render_html(compared(base, now)), "compare-nothing"));

  EXPECT_EQ(data.at("comparable"), false);
  EXPECT_EQ(data.at("counts").at("ONLY_IN_NEW"), 1);
}

}  // namespace
}  // namespace quadrille::report
