// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/sampler.hpp"

#include "measure/fake_workload.hpp"
#include "support/mpi_world.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
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
  std::vector<Line> lines;
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

TEST(WarmUp, RunsAsOftenAsTheCaseSays) {
  Rig rig;
  rig.spec.warmup = {.count = 3, .seconds = 0};

  rig.sampler().warm_up(rig.lines);

  EXPECT_EQ(rig.script.runs(), (Names{"a", "b", "a", "b", "a", "b"}));
  for (Line const& line : rig.lines) EXPECT_EQ(line.warmup, std::vector(3, kTick));
}

/// Seconds of the untimed executions of a variant.
double warmed(Rig const& rig, VariantInfo const& variant) {
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

  EXPECT_NEAR(warmed(rig, kA), 4, 2 * kShort) << "as short as it is";
  EXPECT_EQ(rig.lines[0].warmup_s, warmed(rig, kA));
  EXPECT_EQ(rig.lines[0].warmup, std::vector(rig.lines[0].warmup.size(), kShort));
  EXPECT_LT(rig.lines[0].warmup.size(), 100U) << "not one sample for each of 262144";
  EXPECT_EQ(warmed(rig, kB), 4);
  EXPECT_EQ(rig.lines[1].warmup, std::vector(8, 0.5));
}

TEST(WarmUp, NothingFollowsItselfThatMayNot) {
  Rig rig{{&kInPlace}};
  rig.spec.warmup = {.count = 1, .seconds = 1500 * kTick};

  rig.sampler().warm_up(rig.lines);

  EXPECT_EQ(rig.script.count("reset in_place"), 1500);
  EXPECT_EQ(rig.script.count("run in_place"), 1500);
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
  for (Line const& line : rig.lines) {
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

TEST(Sample, TellsOfEveryRepetition) {
  Rig rig;
  Names told;
  rig.hooks.on_step = [&](Line const& line, std::string_view step) {
    told.push_back(fmt::format("{} {}", step, line.variant->name));
  };
  rig.hooks.after_repetition = [&](Line& line, std::int64_t i) {
    told.push_back(
        fmt::format("after {} of {}: {}", i, line.variant->name, line.seconds.back().size()));
  };
  rig.hooks.on_progress = [&](std::string_view step, double done) {
    told.push_back(fmt::format("{} {}", step, done));
  };

  rig.sampler().sample(rig.lines);

  EXPECT_EQ(told, (Names{"time a", "after 0 of a: 1", "time b", "after 0 of b: 1", "time 0.5",
                         "time a", "after 1 of a: 2", "time b", "after 1 of b: 2", "time 1"}));
}

TEST(Sample, KeepsWhatTheDeviceTells) {
  Rig rig;
  rig.script.telemetry = device::Telemetry{.clock_hz = 1.5e9, .power_w = 400};
  Rig silent;

  rig.sampler().sample(rig.lines);
  silent.sampler().sample(silent.lines);

  for (Line const& line : rig.lines) {
    EXPECT_EQ(line.clock_hz, std::vector(2, 1.5e9));
    EXPECT_EQ(line.power_w, std::vector(2, 400.0));
  }
  EXPECT_TRUE(silent.lines[0].clock_hz.empty() && silent.lines[0].power_w.empty());
}

/// The batch of the first line after a warm-up.
std::int64_t batch_of(Rig& rig) {
  Sampler sampler = rig.sampler();
  sampler.warm_up(rig.lines);
  sampler.sample(rig.lines);
  std::int64_t const runs = static_cast<std::int64_t>(rig.script.runs().size());
  auto const lines = static_cast<std::int64_t>(rig.lines.size());
  EXPECT_EQ(runs, lines * (rig.spec.warmup.count + rig.spec.repetitions * rig.lines[0].batch));
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

  EXPECT_EQ(batch_of(rig), Sampler::kAutomaticBatch);
  EXPECT_EQ(rig.lines[0].seconds[0], std::vector(2, kShort)) << "of one execution";
  EXPECT_EQ(rig.lines[0].warmup, std::vector(1, kShort));
}

TEST(Batch, IsOneForLongKernels) {
  Short rig;
  rig.script.cost = always(Sampler::kShortKernelSeconds);

  EXPECT_EQ(batch_of(rig), 1);
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

  EXPECT_EQ(batch_of(rig), world().size() == 1 ? Sampler::kAutomaticBatch : 1);
}

TEST(Batch, IsThatOfTheSlowestRank) {
  Short rig;
  bool const is_last = world().rank() == world().size() - 1;
  if (is_last) rig.script.cost = always(4 * kShort);  // 61 us

  EXPECT_EQ(batch_of(rig), 1);
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

TEST(Sustained, GoesOnUntilEveryVariantHadItsSeconds) {
  Rig rig;
  rig.spec.clock = core::Clock::sustained;
  rig.script.cost = [](VariantInfo const& variant, Leg) {
    return variant.name == kA.name ? 0.5 : 2;
  };

  rig.sampler().sample(rig.lines);

  for (Line const& line : rig.lines) {
    EXPECT_EQ(line.seconds[0].size(), static_cast<std::size_t>(Sampler::kSustainedSeconds / 0.5));
  }
}

TEST(Sustained, TakesTheRepetitionsOfTheCaseAtLeast) {
  Rig rig;
  rig.spec.clock = core::Clock::sustained;
  rig.spec.repetitions = 4;
  rig.script.cost = always(2);

  rig.sampler().sample(rig.lines);

  EXPECT_EQ(rig.lines[0].seconds[0].size(), 4U);
}

TEST(Sustained, RanksAgreeOnTheEnd) {
  Rig rig{{&kA}};
  rig.spec.clock = core::Clock::sustained;
  rig.script.cost = always(0.5 * (world().rank() + 1));

  rig.sampler().sample(rig.lines);

  EXPECT_EQ(rig.lines[0].seconds[0].size(), 6U) << "of the fastest rank";
}

TEST(Sustained, ABurstIsShort) {
  Rig rig;
  rig.script.cost = always(0.5);

  rig.sampler().sample(rig.lines);

  EXPECT_EQ(rig.lines[0].seconds[0].size(), 2U);
}

TEST(Timing, AutomaticIsTheDevicesOnGpusAlone) {
  EXPECT_EQ(resolved(core::Timing::automatic, device::Kind::cuda), core::Timing::device);
  EXPECT_EQ(resolved(core::Timing::automatic, device::Kind::host), core::Timing::synchronised);
  for (core::Timing const asked :
       {core::Timing::device, core::Timing::synchronised, core::Timing::launch_only}) {
    EXPECT_EQ(resolved(asked, device::Kind::host), asked);
    EXPECT_EQ(resolved(asked, device::Kind::cuda), asked);
  }
}

TEST(Timing, InstrumentsTimeWhatTheStreamDoes) {
  constexpr double kSeconds = 0.02;
  auto const seconds = [&](core::Timing timing) {
    std::unique_ptr<Instruments> const instruments = make_instruments(world(), timing);
    instruments->start();
    world().stream().run([&] {
      auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>{kSeconds};
      while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
    });
    double const measured = instruments->stop();
    world().stream().synchronize();
    return measured;
  };

  EXPECT_GE(seconds(core::Timing::synchronised), kSeconds);
  EXPECT_GE(seconds(core::Timing::device), 0.9 * kSeconds);
  EXPECT_LT(seconds(core::Timing::launch_only), kSeconds + 1);
}

// Last, because nothing takes a signal back.
TEST(Signal, EndsSamplingOnAllRanksBehindTheRound) {
  Rig rig;
  rig.spec.repetitions = 100;
  rig.hooks.after_repetition = [&](Line& line, std::int64_t i) {
    bool const is_time = i == 1 && line.variant == &kA && world().rank() == world().size() - 1;
    if (is_time) std::raise(SIGUSR1);
  };
  Sampler sampler = rig.sampler();
  sampler.warm_up(rig.lines);
  EXPECT_FALSE(sampler.interrupted());

  sampler.sample(rig.lines);

  EXPECT_TRUE(sampler.interrupted());
  for (Line const& line : rig.lines) EXPECT_EQ(line.seconds[0].size(), 2U);
  auto const runs = rig.script.runs().size();
  sampler.sample(rig.lines);
  sampler.warm_up(rig.lines);
  EXPECT_EQ(rig.script.runs().size(), runs) << "nothing runs after a signal";
}

}  // namespace
}  // namespace quadrille::measure
