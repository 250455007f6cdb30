// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/sampler.hpp"

#include "core/generator.hpp"
#include "measure/fake_workload.hpp"
#include "support/mpi_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <numeric>
#include <thread>

namespace quadrille::measure {
namespace {

using kernels::VariantInfo;
using test::fake_row;
using test::world;
using Names = std::vector<std::string>;

constexpr VariantInfo kA = fake_row("a");
constexpr VariantInfo kB = fake_row("b");
constexpr VariantInfo kInPlace = [] {
  VariantInfo row = fake_row("in_place");
  row.in_place = true;
  return row;
}();
// Sums of such times are exact.
constexpr double kTick = 0x1p-10;
constexpr double kShort = 0x1p-16;  // 15 us

/// A sampler of a fake workload with a line for each variant.
struct Rig {
  explicit Rig(Selection rows = {&kA, &kB}) : entry{test::fake_entry(std::move(rows))} {
    for (VariantInfo const* row : entry.variants) lines.emplace_back().variant = row;
  }

  /// To be called once script and case say what the test wants.
  Sampler sampler() {
    workload = entry.make(spec, world().size(), world().rank());
    description = workload->describe({});
    return {world(), spec, description, instruments, *workload, hooks};
  }

  test::Script script;
  WorkloadEntry entry;
  core::Case spec = test::fake_case(entry, script);
  test::FakeInstruments instruments{script};
  std::vector<VariantRun> lines;
  Description description;
  std::unique_ptr<Workload> workload;
  Sampler::Hooks hooks{
      .make_set = [this] { return entry.make(spec, world().size(), world().rank()); }};
};

std::function<double(VariantInfo const&, Leg)> always(double seconds) {
  return [seconds](VariantInfo const&, Leg) { return seconds; };
}

TEST(Repetition, ResetsThenTimesTheExecutionsOfTheBatch) {
  Rig rig;
  rig.script.cost = always(kTick);
  rig.lines[0].batch = 3;
  Sampler sampler = rig.sampler();

  EXPECT_EQ(sampler.repetition(rig.lines[0], Leg::serial), kTick);

  EXPECT_EQ(rig.script.calls, (Names{"reset a", "run a serial", "run a serial", "run a serial"}));
  EXPECT_EQ(rig.script.timing, (Names{"start", "stop"}));
}

using Expiry = std::optional<device::Gate::Expiry>;

TEST(Gate, HoldsBackTimedRepetitionsAlone) {
  Rig rig;
  Sampler sampler = rig.sampler();

  sampler.first_run(rig.lines[0]);
  sampler.warm_up(rig.lines);
  EXPECT_EQ(rig.script.max_calls, std::vector<std::int64_t>(3, 0));
  rig.script.max_calls.clear();
  sampler.sample(rig.lines);

  EXPECT_EQ(rig.script.max_calls, std::vector<std::int64_t>(4, device::Gate::kMaxCalls));
}

TEST(Gate, IsForClocksThatShowTheDevice) {
  using enum core::Timing;
  for (core::Timing const timing : {automatic, device, synchronised, launch_only}) {
    EXPECT_EQ(is_gated(timing, {}), timing == automatic || timing == device);
    EXPECT_FALSE(is_gated(timing, {.host_timed = true}));
  }
}

TEST(Gate, ASampleThatItDoesNotHoldBackIsTakenAgainWithHalfTheLaunches) {
  Rig rig{{&kA}};
  rig.spec.batch = 100;
  // Of one rank.
  rig.script.expiry = [](std::int64_t max_calls) -> Expiry {
    bool const is_last_rank = world().rank() == world().size() - 1;
    if (max_calls <= 100 || !is_last_rank) return std::nullopt;
    return device::Gate::Expiry{max_calls, "copy on stream 's'"};
  };

  rig.sampler().sample(rig.lines);

  EXPECT_EQ(rig.script.max_calls, (std::vector<std::int64_t>{500, 250, 125, 62, 62}));
  EXPECT_EQ(rig.lines[0].batch, 12);
  EXPECT_EQ(rig.lines[0].seconds, std::vector(1, std::vector(2, kTick)));
  EXPECT_TRUE(rig.lines[0].is_complete);
}

TEST(Gate, ALineThatNeverGetsThroughHasNoNumber) {
  Rig rig;
  // The first call of b waits for the device.
  rig.script.expiry = [&](std::int64_t) -> Expiry {
    bool const is_b = rig.script.runs().back() == "b";
    if (!is_b || world().rank() > 0) return std::nullopt;
    return device::Gate::Expiry{1, "synchronize on stream 's'"};
  };

  rig.sampler().sample(rig.lines);

  EXPECT_EQ(rig.lines[0].seconds, std::vector(1, std::vector(2, kTick)));
  EXPECT_TRUE(rig.lines[0].blocked.empty());
  EXPECT_EQ(rig.lines[1].seconds, std::vector(1, std::vector<double>{}));
  EXPECT_NE(rig.lines[1].blocked.find("synchronize on stream 's'"), std::string::npos);
  EXPECT_FALSE(rig.lines[1].is_complete);
  EXPECT_EQ(rig.script.count("run b"), 1);
}

TEST(PairsOfRanks, AreTimedStepByStepByTheirSlowerRank) {
  if (world().size() < 3) GTEST_SKIP() << "a third rank must have no part in a pair";
  Rig rig{{&kA}};
  rig.script.description.traits = {.communicates = true, .repeatable = false};
  rig.script.description.pairs = PairSchedule{.rounds = {{{0, 1}}, {{2, 0}}}};
  rig.script.cost = [](VariantInfo const&, Leg) { return kTick * (1 + world().rank()); };

  rig.sampler().sample(rig.lines);

  std::vector<double> const once{2 * kTick, 2 * kTick, 3 * kTick, 3 * kTick};
  EXPECT_EQ(rig.lines[0].pair_seconds, std::vector(2, once)) << "small, large; small, large";
  EXPECT_EQ(rig.lines[0].seconds.at(0), std::vector(2, 5 * kTick)) << "of the large ones";
  EXPECT_EQ(Names(rig.script.calls.begin(), rig.script.calls.begin() + 9),
            (Names{"reset a", "step 0", "run a", "step 1", "run a", "step 2", "run a", "step 3",
                   "run a"}));
  EXPECT_EQ(rig.script.count("reset a"), 2);
}

TEST(WarmUp, RunsAsOftenAsTheCaseSays) {
  Rig rig;
  rig.spec.warmup = {.count = 3, .seconds = 0};

  rig.sampler().warm_up(rig.lines);

  EXPECT_EQ(rig.script.runs(), (Names{"a", "b", "a", "b", "a", "b"}));
  for (VariantRun const& line : rig.lines) EXPECT_EQ(line.warmup, std::vector(3, kTick));
}

/// Seconds of all executions of a variant that the script remembers.
double ran(Rig const& rig, VariantInfo const& variant) {
  return static_cast<double>(rig.script.count(fmt::format("run {}", variant.name))) *
         rig.script.cost(variant, Leg::overlapped);
}

TEST(WarmUp, EveryVariantRunsAsLongAsTheCaseSays) {
  Rig rig;
  rig.spec.warmup = {.count = 1, .seconds = 4};
  rig.script.cost = [](VariantInfo const& variant, Leg) {
    return variant.name == kA.name ? kShort : 0.5;
  };

  rig.sampler().warm_up(rig.lines);

  EXPECT_NEAR(ran(rig, kA), 4, 2 * kShort) << "as short as it is";
  EXPECT_EQ(rig.lines[0].warmup_s, ran(rig, kA));
  EXPECT_EQ(rig.lines[0].warmup, std::vector(rig.lines[0].warmup.size(), kShort));
  EXPECT_LT(rig.lines[0].warmup.size(), 100U) << "not one sample for each of 262144";
  EXPECT_EQ(ran(rig, kB), 4);
  EXPECT_EQ(rig.lines[1].warmup, std::vector(8, 0.5));
}

TEST(WarmUp, NothingFollowsItselfThatMayNot) {
  Rig rig{{&kInPlace}};
  rig.spec.warmup = {.count = 1, .seconds = 30 * kTick};

  rig.sampler().warm_up(rig.lines);

  EXPECT_EQ(rig.script.count("reset in_place"), 30);
  EXPECT_EQ(rig.script.count("run in_place"), 30);
}

TEST(WarmUp, EndsByTheWallClockWhereResetsTakeLonger) {
  Rig rig{{&kInPlace}};
  rig.spec.warmup = {.count = 1, .seconds = 0x1p-4};
  rig.script.cost = always(kShort);
  rig.script.reset_s = kTick;

  rig.sampler().warm_up(rig.lines);

  // 4096 executions would fill it.
  double const wall = static_cast<double>(rig.script.count("reset in_place")) * kTick;
  double const limit = Sampler::kWarmUpFactor * rig.spec.warmup.seconds;
  EXPECT_GE(wall, 0.9 * limit);
  EXPECT_LE(wall, limit + static_cast<double>(Sampler::kMaxResets) * kTick);
}

TEST(WarmUp, BothLimitsHold) {
  Rig rig;
  rig.spec.warmup = {.count = 5, .seconds = kTick};

  rig.sampler().warm_up(rig.lines);

  EXPECT_EQ(rig.lines[0].warmup.size(), 5U);
}

TEST(WarmUp, MayBeNone) {
  Rig rig;
  rig.spec.warmup = {.count = 0, .seconds = 0};

  rig.sampler().warm_up(rig.lines);

  EXPECT_TRUE(rig.script.calls.empty());
}

TEST(WarmUp, EndsWhereTheClockStands) {
  Rig rig{{&kA}};
  rig.spec.warmup = {.count = 1, .seconds = 1};
  rig.script.cost = always(0);

  rig.sampler().warm_up(rig.lines);

  EXPECT_EQ(rig.lines[0].warmup.size(), 1U);
}

TEST(WarmUp, AllRanksDoAsManyAsTheFastestNeeds) {
  Rig rig{{&kA}};
  rig.spec.warmup = {.count = 1, .seconds = 10 * kTick};
  rig.script.cost = always((world().rank() + 1) * kTick);

  rig.sampler().warm_up(rig.lines);

  EXPECT_EQ(rig.script.count("run a"), 10);
  EXPECT_EQ(rig.lines[0].warmup_s, 10 * kTick) << "of the rank that had the fewest";
}

TEST(WarmUp, RunsOtherLegsOnce) {
  Rig rig;
  rig.spec.warmup.count = 2;
  rig.lines[0].legs.assign(std::begin(kLegs), std::end(kLegs));

  rig.sampler().warm_up(rig.lines);

  EXPECT_EQ(rig.script.runs(),
            (Names{"a compute", "a communicate", "a serial", "a", "b", "a", "b"}));
  EXPECT_EQ(rig.lines[0].warmup.size(), 2U);
}

TEST(Sample, TakesTheVariantsInTurn) {
  Rig rig;
  rig.spec.repetitions = 3;

  rig.sampler().sample(rig.lines);

  EXPECT_EQ(rig.script.calls, (Names{"reset a", "run a", "reset b", "run b", "reset a", "run a",
                                     "reset b", "run b", "reset a", "run a", "reset b", "run b"}));
  for (VariantRun const& line : rig.lines) {
    EXPECT_EQ(line.seconds, std::vector(1, std::vector(3, kTick)));
    EXPECT_EQ(line.batch, 1);
    EXPECT_EQ(line.buffer_sets, 1);
  }
}

TEST(Sample, TimesEachLegOfALine) {
  Rig rig;
  rig.lines[0].legs.assign(std::begin(kLegs), std::end(kLegs));
  rig.script.cost = [](VariantInfo const&, Leg leg) {
    return leg == Leg::overlapped ? kTick : (static_cast<double>(leg) + 2) * kTick;
  };

  rig.sampler().sample(rig.lines);

  EXPECT_EQ(rig.script.runs(), (Names{"a compute", "a communicate", "a serial", "a", "b",  //
                                      "a compute", "a communicate", "a serial", "a", "b"}));
  EXPECT_EQ(
      rig.lines[0].seconds,
      (std::vector<std::vector<double>>{
          {2 * kTick, 2 * kTick}, {3 * kTick, 3 * kTick}, {4 * kTick, 4 * kTick}, {kTick, kTick}}));
  EXPECT_EQ(rig.lines[1].seconds, (std::vector<std::vector<double>>{{kTick, kTick}}));
}

TEST(Sample, EachRankKeepsItsOwnTime) {
  Rig rig{{&kA}};
  double const mine = (world().rank() + 1) * kTick;
  rig.script.cost = always(mine);

  rig.sampler().sample(rig.lines);

  EXPECT_EQ(rig.lines[0].seconds, std::vector(1, std::vector(2, mine)));
}

/// A cost of b that is twice as much on the last rank in every second one of its first repetitions.
void make_wide(Rig& rig, std::int64_t first) {
  bool const is_last_rank = world().rank() == world().size() - 1;
  rig.script.cost = [=, &rig](VariantInfo const& variant, Leg) {
    std::int64_t const i = rig.script.count("run b");  // from 1 on
    bool const is_slow = variant.name == kB.name && is_last_rank && i <= first && i % 2 == 0;
    return is_slow ? 2 * kTick : kTick;
  };
}

TEST(Stop, ContinuesUntilTheMedianOfEachVariantIsKnown) {
  Rig rig;
  rig.spec.stop_percent = 1;
  // As long as the interval of the median, with one more of them, could reach to the tenth from the end.
  make_wide(rig, 20);
  std::int64_t enough = 20;
  while (core::median_interval(enough)->low <= 10) ++enough;
  Names told;
  rig.hooks.after_repetition = [&](VariantRun& line, bool is_last) {
    if (is_last) told.push_back(std::string{line.variant->name});
  };

  rig.sampler().sample(rig.lines);

  EXPECT_EQ(told, (Names{"a", "b"}));
  EXPECT_EQ(rig.lines[0].seconds[0].size(), 7U);
  EXPECT_EQ(rig.lines[1].seconds[0].size(), static_cast<std::size_t>(enough));
}

TEST(Suspect, AWideMedianGetsMoreRepetitions) {
  Rig rig;
  rig.spec.repetitions = 9;
  make_wide(rig, 20);
  std::int64_t enough = 20;
  while (core::median_interval(enough)->low <= 10) ++enough;

  rig.sampler().sample(rig.lines);

  EXPECT_EQ(rig.lines[0].seconds[0].size(), 9U);
  EXPECT_EQ(rig.lines[1].seconds[0].size(), static_cast<std::size_t>(enough));
  EXPECT_TRUE(rig.lines[1].is_complete);
}

TEST(Suspect, IsMoreWhereTheHostDrivesMessages) {
  core::Case spec;
  EXPECT_EQ(suspect_percent(spec, false), 5);
  EXPECT_EQ(suspect_percent(spec, true), 15);
  spec.suspect_percent = 7;
  EXPECT_EQ(suspect_percent(spec, true), 7) << "a case has said it";
}

TEST(Suspect, IsTheLegThatIsKnownLeast) {
  Rig rig{{&kA}};
  rig.lines[0].legs = {Leg::compute, Leg::overlapped};
  rig.script.cost = [&](VariantInfo const&, Leg leg) {
    return leg == Leg::compute && rig.script.count("run a compute") == 3 ? 2 * kTick : kTick;
  };
  rig.spec.repetitions = 4;

  rig.sampler().sample(rig.lines);

  EXPECT_EQ(rig.lines[0].seconds[1].size(), 12U) << "of eleven the second may be as slow";
}

TEST(Suspect, GivesUpAfterSomeSeconds) {
  for (double const percent : {5.0, 0.0}) {
    Rig rig{{&kA}};
    rig.spec.suspect_percent = percent;
    rig.spec.repetitions = 3;
    rig.script.cost = [&](VariantInfo const&, Leg) {
      return rig.script.ran.size() % 2 == 0 ? 0.25 : 0.125;
    };

    rig.sampler().sample(rig.lines);

    // On average 0.1875 s.
    EXPECT_EQ(rig.lines[0].seconds[0].size(), percent == 0 ? 3U : 15U);
    EXPECT_TRUE(rig.lines[0].is_complete);
  }
}

TEST(Suspect, IsNotWhatTheLastRepetitionMakesOfIt) {
  // Of two values that differ by a fifth, one or the other: the median's interval is narrow or it is not.
  int more = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rig rig{{&kA}};
    rig.spec.repetitions = 9;
    rig.script.cost = [&](VariantInfo const&, Leg) {
      return core::mix(seed * 1000 + rig.script.ran.size()) % 10 < 4 ? 1.2 * kTick : kTick;
    };

    rig.sampler().sample(rig.lines);

    std::vector<double> const& slowest = rig.lines[0].slowest[0];
    bool const gave_up = std::ssize(slowest) == Sampler::kMaxAutomatic;
    EXPECT_TRUE(gave_up || core::summarize(slowest).half_width() <= 0.05) << seed;
    more += slowest.size() > 9;
  }
  EXPECT_GT(more, 30);
}

TEST(Stop, NeedsAnIntervalAndTheRepetitionsOfTheCase) {
  Rig rig;
  rig.spec.stop_percent = 1;
  rig.sampler().sample(rig.lines);
  EXPECT_EQ(rig.lines[0].seconds[0].size(), 7U) << "five have none";

  Rig more;
  more.spec.stop_percent = 1;
  more.spec.repetitions = 12;
  more.sampler().sample(more.lines);
  EXPECT_EQ(more.lines[0].seconds[0].size(), 12U);
}

TEST(Stop, HasAnEndWhereTimesNeverAgree) {
  if (world().size() > 1) GTEST_SKIP() << "the same on one rank, and quicker";
  Rig rig{{&kA}};
  rig.script.cost = [&](VariantInfo const&, Leg) {
    return rig.script.ran.size() % 2 == 0 ? kTick : 2 * kTick;
  };
  rig.spec.stop_percent = 1;

  rig.sampler().sample(rig.lines);

  EXPECT_EQ(rig.lines[0].seconds[0].size(), static_cast<std::size_t>(Sampler::kMaxRepetitions));
  EXPECT_TRUE(rig.lines[0].is_complete);
}

TEST(Sample, TellsOfEveryRepetition) {
  Rig rig;
  Names told;
  rig.hooks.on_step = [&](VariantRun const& line, std::string_view step) {
    told.push_back(fmt::format("{} {}", step, line.variant->name));
  };
  rig.hooks.after_repetition = [&](VariantRun& line, bool is_last) {
    EXPECT_EQ(line.is_complete, is_last);
    told.push_back(fmt::format("after {} of {}{}", line.seconds.back().size(), line.variant->name,
                               is_last ? ", the last" : ""));
  };
  rig.hooks.on_progress = [&](std::string_view step, double done) {
    told.push_back(fmt::format("{} {}", step, done));
  };

  rig.sampler().sample(rig.lines);

  EXPECT_EQ(told, (Names{"time a", "after 1 of a", "time b", "after 1 of b", "time 0.5",  //
                         "time a", "after 2 of a, the last", "time b", "after 2 of b, the last",
                         "time 1"}));
}

TEST(Sample, KeepsWhatTheDeviceTells) {
  Rig rig;
  core::EnumSet<device::ClockLimit> const limits{device::ClockLimit::power};
  rig.script.telemetry = {.clock_hz = 1.5e9, .power_w = 400, .clock_limits = limits};
  Rig silent;

  rig.sampler().sample(rig.lines);
  silent.sampler().sample(silent.lines);

  for (VariantRun const& line : rig.lines) {
    EXPECT_EQ(line.clock_hz, std::vector(2, 1.5e9));
    EXPECT_EQ(line.power_w, std::vector(2, 400.0));
    EXPECT_EQ(line.clock_limits, limits);
  }
  EXPECT_TRUE(silent.lines[0].clock_hz.empty() && silent.lines[0].power_w.empty());
}

/// The batch of the first line after a warm-up, and so many looks.
std::int64_t batch_of(Rig& rig, std::int64_t looks = 0) {
  Sampler sampler = rig.sampler();
  sampler.warm_up(rig.lines);
  sampler.sample(rig.lines);
  std::int64_t const runs = static_cast<std::int64_t>(rig.script.runs().size());
  auto const lines = static_cast<std::int64_t>(rig.lines.size());
  EXPECT_EQ(runs,
            lines * (rig.spec.warmup.count + looks + rig.spec.repetitions * rig.lines[0].batch));
  return rig.lines[0].batch;
}

/// With executions that a batch is for, by the device's clock.
struct Short : Rig {
  explicit Short(Selection rows = {&kA}) : Rig{std::move(rows)} {
    spec.timing = core::Timing::device;
    script.cost = always(kShort);
  }
};

TEST(Batch, ShortKernelsRunManyTimesForASampleByTheDevicesClock) {
  Short rig;

  EXPECT_EQ(batch_of(rig, Sampler::kLooks), Sampler::kAutomaticBatch);
  EXPECT_EQ(rig.lines[0].seconds[0], std::vector(2, kShort)) << "of one execution";
  EXPECT_EQ(rig.lines[0].warmup, std::vector(1, kShort));
}

TEST(Batch, IsAsLongAsASampleIsMeantToBe) {
  Short rig;
  rig.script.cost = always(0x1p-13);  // 122 us

  EXPECT_EQ(batch_of(rig, Sampler::kLooks), 17);
}

TEST(Batch, IsOneForLongKernels) {
  Short rig;
  rig.script.cost = always(0x1p-12);  // 244 us

  EXPECT_EQ(batch_of(rig, Sampler::kLooks), 1);
}

TEST(Batch, IsNotLessWhereTheHostsCallsTakeLonger) {
  Short rig;
  rig.script.cost = [&](VariantInfo const&, Leg) {
    return kShort + (rig.script.max_calls.back() > 0 ? 0 : 0x1p-11);
  };

  EXPECT_EQ(batch_of(rig, Sampler::kLooks), Sampler::kAutomaticBatch);
}

TEST(Batch, IsWhatWarmUpsTellWhereNoGateHolds) {
  Short rig;
  rig.script.expiry = [looks = 0](std::int64_t) mutable -> Expiry {
    return looks++ == 0 ? Expiry{{.calls = 1, .last_call = "copy"}} : std::nullopt;
  };

  EXPECT_EQ(batch_of(rig, 1), Sampler::kAutomaticBatch);
}

TEST(Batch, IsOneByOtherClocks) {
  for (core::Timing const timing : {core::Timing::synchronised, core::Timing::launch_only}) {
    Short rig;
    rig.spec.timing = timing;
    EXPECT_EQ(batch_of(rig), 1);
  }
}

TEST(Batch, IsOneWithoutAWarmUpThatTells) {
  Short rig;
  rig.spec.warmup.count = 0;

  EXPECT_EQ(batch_of(rig), 1);
}

TEST(Batch, IsOneWhereRanksWaitForEachOther) {
  Short rig;
  rig.script.description.traits.communicates = true;

  EXPECT_EQ(batch_of(rig, world().size() == 1 ? Sampler::kLooks : 0),
            world().size() == 1 ? Sampler::kAutomaticBatch : 1);
}

TEST(Batch, IsForExchangesThatMayFollowOneAnother) {
  Short rig;
  rig.script.description.traits.communicates = true;
  rig.script.description.traits.can_pipeline = true;

  EXPECT_EQ(batch_of(rig, Sampler::kLooks), Sampler::kAutomaticBatch);
  EXPECT_EQ(rig.lines[0].buffer_sets, 1);
}

TEST(Batch, IsThatOfTheSlowestRank) {
  Short rig;
  bool const is_last = world().rank() == world().size() - 1;
  if (is_last) rig.script.cost = always(16 * kShort);  // 244 us

  EXPECT_EQ(batch_of(rig, Sampler::kLooks), 1);
}

TEST(Batch, IsWhatTheCaseSays) {
  Short rig;
  rig.spec.batch = 7;
  rig.spec.timing = core::Timing::synchronised;
  rig.script.cost = always(kTick);

  EXPECT_EQ(batch_of(rig), 7);
  EXPECT_EQ(rig.lines[0].seconds[0], std::vector(2, kTick));
}

TEST(Batch, IsOneWhereRunsMayNotFollowRuns) {
  for (std::int64_t const batch : {0, 7}) {
    Short fixed{{&kInPlace}};
    fixed.spec.batch = batch;
    EXPECT_EQ(batch_of(fixed), 1);
    Short consuming;
    consuming.spec.batch = batch;
    consuming.script.description.traits.repeatable = false;
    EXPECT_EQ(batch_of(consuming), 1);
  }
}

TEST(Cold, BatchesRotateOverBuffersOfThreeCaches) {
  Short rig;
  rig.spec.repetitions = 1;
  rig.spec.warmup.count = 0;
  rig.spec.batch = 25;
  rig.script.last_level_cache_bytes = 1000;
  rig.script.description.memory_bytes = 310;

  Sampler sampler = rig.sampler();
  sampler.sample(rig.lines);

  EXPECT_EQ(rig.lines[0].buffer_sets, 10) << "ceil(3000 / 310)";
  EXPECT_EQ(rig.script.sets, 10);
  EXPECT_EQ(rig.script.count("reset a"), 10) << "every set, before the clock";
  for (std::size_t i = 0; i < rig.script.ran.size(); ++i) {
    EXPECT_EQ(rig.script.ran[i], static_cast<int>(i) % 10);
  }
}

/// The sets of a case with a cache of 1000 bytes and memory of 300.
std::int64_t sets_of(Rig& rig) {
  rig.script.last_level_cache_bytes = 1000;
  rig.script.description.memory_bytes = 300;
  rig.sampler().sample(rig.lines);
  EXPECT_EQ(rig.script.sets, rig.lines[0].buffer_sets);
  return rig.lines[0].buffer_sets;
}

TEST(Cold, NoMoreSetsThanExecutions) {
  Short rig;
  rig.spec.batch = 4;

  EXPECT_EQ(sets_of(rig), 4);
}

TEST(Cold, OneSetWhereTheCacheMayBeHot) {
  Short rig;
  rig.spec.batch = 4;
  rig.spec.cache = core::Cache::hot;

  EXPECT_EQ(sets_of(rig), 1);
}

TEST(Cold, OneSetWhereRanksWaitForEachOther) {
  Short rig;
  rig.spec.batch = 4;
  rig.script.description.traits.communicates = true;

  EXPECT_EQ(sets_of(rig), world().size() == 1 ? 4 : 1);
}

TEST(Cold, OneSetWhereOperandsAreLargerThanTheCaches) {
  Short rig;
  rig.spec.batch = 4;
  rig.script.last_level_cache_bytes = 1000;
  rig.script.description.memory_bytes = 3000;

  rig.sampler().sample(rig.lines);

  EXPECT_EQ(rig.lines[0].buffer_sets, 1);
  EXPECT_EQ(rig.script.sets, 1);
}

TEST(Cold, LinesShareTheSets) {
  Short rig{{&kInPlace, &kA}};
  rig.spec.batch = 4;
  rig.script.last_level_cache_bytes = 1000;
  rig.script.description.memory_bytes = 300;

  rig.sampler().sample(rig.lines);

  EXPECT_EQ(rig.lines[0].buffer_sets, 1);
  EXPECT_EQ(rig.lines[1].buffer_sets, 4);
  EXPECT_EQ(rig.script.sets, 4);
}

/// With a sustained clock and executions of a tick, of which 51 fill a chunk.
struct Steady : Rig {
  explicit Steady(Selection rows = {&kA, &kB}) : Rig{std::move(rows)} {
    spec.clock = core::Clock::sustained;
    script.cost = always(kTick);
  }
  /// Sampled after a warm-up, which the script forgets.
  void sample() {
    Sampler sampler = this->sampler();
    sampler.warm_up(lines);
    script.calls.clear();
    script.timing.clear();
    sampler.sample(lines);
  }
};

double total(VariantRun const& line) {
  double sum = 0;
  for (double const seconds : line.seconds.back()) {
    sum += seconds * static_cast<double>(line.batch);
  }
  return sum;
}

TEST(Sustained, EachVariantHasItsSecondsOneAfterTheOther) {
  Steady rig;

  rig.sample();

  std::string run;  // each call once where it repeats
  for (std::string const& call : rig.script.calls) {
    if (!run.ends_with(call + "; ")) run += call + "; ";
  }
  EXPECT_EQ(run, "reset a; run a; reset b; run b; ");
  for (VariantRun const& line : rig.lines) {
    EXPECT_EQ(line.batch, 51);
    EXPECT_GE(total(line), Sampler::kSustainedSeconds);
    EXPECT_LT(total(line), Sampler::kSustainedSeconds + 3 * Sampler::kChunkSeconds);
    EXPECT_EQ(total(line), ran(rig, *line.variant));
    EXPECT_EQ(line.seconds[0], std::vector(line.seconds[0].size(), kTick)) << "of one execution";
  }
}

TEST(Sustained, TheQueueNeverRunsDry) {
  Steady rig{{&kA}};

  rig.sample();

  EXPECT_EQ(std::ranges::count(rig.script.timing, "start"), 1);
  std::vector<std::string> const& timing = rig.script.timing;
  auto const last_mark = std::ranges::find(timing.rbegin(), timing.rend(), "mark").base();
  std::size_t waiting = 0;
  for (auto at = timing.begin(); at != last_mark; ++at) {
    if (*at == "mark") ++waiting;
    if (*at != "lap") continue;
    EXPECT_EQ(waiting, Instruments::kMaxMarks);
    --waiting;
  }
  EXPECT_EQ(timing.end() - last_mark, static_cast<std::ptrdiff_t>(waiting)) << "all are read";
}

TEST(Sustained, SecondsAreThoseOfWholeBatches) {
  Steady rig{{&kA}};
  rig.spec.batch = 500;

  rig.sample();

  EXPECT_EQ(rig.lines[0].batch, 500);
  EXPECT_LT(total(rig.lines[0]), Sampler::kSustainedSeconds + 3 * 500 * kTick);
}

TEST(Sustained, BatchesOfTheCaseAreFilledUp) {
  Steady rig{{&kA}};
  rig.spec.batch = 2;

  rig.sample();

  EXPECT_EQ(rig.lines[0].batch, 51);
}

TEST(Sustained, FindsItsBatchWithoutAWarmUp) {
  Steady rig{{&kA}};
  rig.spec.warmup.count = 0;

  rig.sample();

  EXPECT_EQ(rig.lines[0].batch, 51);
}

TEST(Sustained, TakesTheRepetitionsOfTheCaseAtLeast) {
  Steady rig;
  rig.spec.repetitions = 4;
  rig.script.cost = always(2);

  rig.sample();

  EXPECT_EQ(rig.lines[0].seconds[0].size(), 4 + Instruments::kMaxMarks - 1);
}

TEST(Sustained, RanksThatDoNotWaitForEachOtherHaveTheirOwnSeconds) {
  Steady rig{{&kA}};
  rig.script.telemetry = device::Telemetry{.clock_hz = 1.5e9, .power_w = 400};
  rig.script.cost = always(0.5 * (world().rank() + 1));

  rig.sample();

  auto const expected = static_cast<std::int64_t>(std::ceil(6.0 / (world().rank() + 1)));
  EXPECT_EQ(rig.script.count("run a"), expected + 2);
  auto const of_slowest = static_cast<std::size_t>(std::ceil(6.0 / world().size())) + 2;
  EXPECT_EQ(rig.lines[0].seconds[0].size(), of_slowest);
  EXPECT_EQ(rig.lines[0].clock_hz.size(), of_slowest);
}

TEST(Sustained, RanksThatWaitForEachOtherAgreeOnTheEnd) {
  Steady rig{{&kA}};
  rig.script.description.traits.communicates = true;
  rig.script.cost = always(0.5 * (world().rank() + 1));

  rig.sample();

  EXPECT_EQ(rig.script.count("run a"), 6 + 2) << "until the fastest has its seconds";
  EXPECT_EQ(rig.lines[0].seconds[0].size(), 6U + 2U);
}

TEST(Sustained, KeepsTheCounterOfEnergyAndABurstDoesNot) {
  Steady rig{{&kA}};
  rig.script.telemetry = device::Telemetry{.clock_hz = 1.5e9, .power_w = 400, .energy_j = 7};
  rig.sample();
  EXPECT_EQ(rig.lines[0].energy_j, std::vector(rig.lines[0].seconds[0].size(), 7.0));

  Rig burst;
  burst.script.telemetry = rig.script.telemetry;
  burst.sampler().sample(burst.lines);
  EXPECT_TRUE(burst.lines[0].energy_j.empty());
  Steady silent{{&kA}};
  silent.script.telemetry = device::Telemetry{.clock_hz = 1.5e9, .power_w = 400};
  silent.sample();
  EXPECT_TRUE(silent.lines[0].energy_j.empty());
}

TEST(Sustained, EveryLegHasItsSeconds) {
  Steady rig{{&kA}};
  rig.lines[0].legs.assign(std::begin(kLegs), std::end(kLegs));

  rig.sample();

  for (std::vector<double> const& seconds : rig.lines[0].seconds) {
    EXPECT_GE(static_cast<double>(seconds.size()) * 51 * kTick, Sampler::kSustainedSeconds);
  }
}

TEST(Sustained, IsJudgedOnceAtTheEnd) {
  Steady rig;
  Names told;
  rig.hooks.after_repetition = [&](VariantRun& line, bool is_last) {
    told.push_back(fmt::format("{} {} {}", line.variant->name, is_last, line.is_complete));
  };

  rig.sample();

  EXPECT_EQ(told, (Names{"a true true", "b true true"}));
}

TEST(Sustained, RotatesOverNoMoreSetsThanABurst) {
  Steady rig{{&kA}};
  rig.script.cost = always(kShort);
  rig.script.last_level_cache_bytes = 1'000'000;

  rig.sample();

  EXPECT_EQ(rig.lines[0].batch, 3276);
  EXPECT_EQ(rig.script.sets, Sampler::kAutomaticBatch);
}

TEST(Sustained, ABurstIsShort) {
  Rig rig;
  rig.script.cost = always(0.5);

  rig.sampler().sample(rig.lines);

  EXPECT_EQ(rig.lines[0].seconds[0].size(), 2U);
}

TEST(ColdBufferSets, FillThreeCachesAndAreNoMoreThanExecutions) {
  EXPECT_EQ(cold_buffer_sets(50, 10, 100), 15);
  EXPECT_EQ(cold_buffer_sets(50, 11, 100), 14);
  EXPECT_EQ(cold_buffer_sets(50, 10, 4), 4);
  EXPECT_EQ(cold_buffer_sets(50, 0, 100), 100);
  EXPECT_EQ(cold_buffer_sets(50, 1000, 100), 1);
  EXPECT_EQ(cold_buffer_sets(0, 10, 100), 1);
}

TEST(Timing, AutomaticIsTheDevicesOnGpusAlone) {
  EXPECT_EQ(resolved(core::Timing::automatic, device::Kind::cuda, {}), core::Timing::device);
  EXPECT_EQ(resolved(core::Timing::automatic, device::Kind::cuda, {.host_timed = true}),
            core::Timing::synchronised);
  EXPECT_EQ(resolved(core::Timing::automatic, device::Kind::host, {}), core::Timing::synchronised);
  for (core::Timing const asked :
       {core::Timing::device, core::Timing::synchronised, core::Timing::launch_only}) {
    EXPECT_EQ(resolved(asked, device::Kind::host, {}), asked);
    EXPECT_EQ(resolved(asked, device::Kind::cuda, {}), asked);
  }
}

TEST(Timing, InstrumentsTimeWhatTheStreamDoes) {
  constexpr double kSeconds = 0.02;
  auto const seconds = [&](core::Timing timing) {
    std::unique_ptr<Instruments> const instruments = make_instruments(world(), timing);
    instruments->start(0);
    world().stream().run([&] {
      auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>{kSeconds};
      while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
    });
    double const measured = instruments->stop().seconds;
    world().stream().synchronize();
    return measured;
  };

  EXPECT_GE(seconds(core::Timing::synchronised), kSeconds);
  EXPECT_GE(seconds(core::Timing::device), 0.9 * kSeconds);
  // A busy machine may take the processor from a launch, but not from each.
  double launch_s = kSeconds;
  for (int i = 0; i < 10 && launch_s >= kSeconds; ++i)
    launch_s = seconds(core::Timing::launch_only);
  EXPECT_LT(launch_s, kSeconds);
}

TEST(Timing, BehindAGateTheHostsCallsTakeNoTime) {
  constexpr double kSeconds = 0.2;
  for (core::Timing const timing : {core::Timing::device, core::Timing::synchronised}) {
    for (bool const is_gated : {true, false}) {
      std::unique_ptr<Instruments> const instruments = make_instruments(world(), timing);
      instruments->start(is_gated ? device::Gate::kMaxCalls : 0);
      std::this_thread::sleep_for(std::chrono::duration<double>{kSeconds});
      Instruments::Sample const sample = instruments->stop();
      EXPECT_FALSE(sample.expiry);
      if (is_gated) {
        EXPECT_LT(sample.seconds, kSeconds);
      } else {
        EXPECT_GE(sample.seconds, 0.9 * kSeconds);
      }
    }
  }
}

TEST(Timing, AGateThatTheHostDoesNotOpenSpoilsTheSample) {
  std::unique_ptr<Instruments> const instruments = make_instruments(world(), core::Timing::device);
  instruments->start(device::Gate::kMaxCalls);
  bool ran = false;
  world().stream().run([&] { ran = true; });
  world().stream().synchronize();
  EXPECT_TRUE(ran);
  EXPECT_TRUE(instruments->stop().expiry);
}

TEST(Timing, MarksTimeWhatTheStreamDoesBetweenThem) {
  constexpr double kSeconds = 0.01;
  constexpr std::size_t kAll = 3 * Instruments::kMaxMarks;
  auto const seconds_of = [](std::size_t i) { return static_cast<double>(i % 2 + 1) * kSeconds; };
  for (core::Timing const timing : {core::Timing::synchronised, core::Timing::device}) {
    std::unique_ptr<Instruments> const instruments = make_instruments(world(), timing);
    instruments->start(0);
    std::vector<double> laps;
    double sum = 0;
    for (std::size_t i = 0; i < kAll; ++i) {
      world().stream().run(
          [=] { std::this_thread::sleep_for(std::chrono::duration<double>{seconds_of(i)}); });
      instruments->mark();
      sum += seconds_of(i);
      // As many wait as may.
      if (i + 1 >= Instruments::kMaxMarks) laps.push_back(instruments->lap());
    }
    while (laps.size() < kAll) laps.push_back(instruments->lap());

    // Seen by the host's clock, a lap is shorter where the host looked late at the one before.
    for (std::size_t i = 0; timing == core::Timing::device && i < kAll; ++i) {
      EXPECT_GE(laps[i], 0.9 * seconds_of(i)) << "lap " << i;
    }
    double const measured = std::accumulate(laps.begin(), laps.end(), 0.0);
    EXPECT_GE(measured, 0.9 * sum);
    EXPECT_LT(measured, sum + 10);
  }
}

// Last, because nothing takes a signal back.
TEST(Signal, EndsTheVariantThatIsSampledAndNoEarlierOne) {
  Steady rig{{&kA, &kB, &kInPlace}};
  rig.script.cost = [&](VariantInfo const& variant, Leg) {
    bool const is_time = variant.name == kB.name && rig.script.count("run b") == 600;
    if (is_time && world().rank() == world().size() - 1) std::raise(SIGUSR1);
    return kTick;
  };
  // So that a signal to one rank ends all of them.
  rig.script.description.traits.communicates = true;
  Sampler sampler = rig.sampler();
  sampler.warm_up(rig.lines);
  EXPECT_FALSE(sampler.interrupted());

  sampler.sample(rig.lines);

  EXPECT_TRUE(sampler.interrupted());
  EXPECT_TRUE(rig.lines[0].is_complete);
  EXPECT_GE(total(rig.lines[0]), Sampler::kSustainedSeconds);
  EXPECT_FALSE(rig.lines[1].is_complete);
  EXPECT_LT(total(rig.lines[1]), 1.5);
  EXPECT_GT(total(rig.lines[1]), 0.5) << "what ran is kept";
  EXPECT_TRUE(rig.lines[2].seconds[0].empty());
  auto const runs = rig.script.runs().size();
  sampler.sample(rig.lines);
  sampler.warm_up(rig.lines);
  EXPECT_EQ(rig.script.runs().size(), runs) << "nothing runs after a signal";
}

}  // namespace
}  // namespace quadrille::measure
