// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/tuner.hpp"

#include "measure/fake_workload.hpp"
#include "measure/halving.hpp"
#include "support/mpi_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace quadrille::measure {
namespace {

using kernels::Configuration;
using kernels::VariantInfo;
using test::world;

constexpr auto kValues = [] {
  std::array<int, 60> values{};
  std::iota(values.begin(), values.end(), 1);
  return values;
}();
constexpr kernels::TunedParameter kParameters[] = {{"X", kValues}};

/// Of its values multiples of 7 are not legal.
std::optional<device::BlockNeeds> needs_of(Configuration const& configuration,
                                           kernels::ProblemKind const&) {
  if (configuration[0] % 7 == 0) return std::nullopt;
  return device::BlockNeeds{};
}

constexpr Configuration kCompiled[] = {Configuration{1}};
constexpr kernels::Tunable kTunable{.header = "",
                                    .kernel = nullptr,
                                    .parameters = kParameters,
                                    .rule = "no multiples of 7",
                                    .needs = needs_of,
                                    .preset = Configuration{1},
                                    .compiled = kCompiled};

constexpr VariantInfo kPlain = test::fake_row("plain", 1);
constexpr VariantInfo kTuned = [] {
  VariantInfo row = test::fake_row("tunable");
  row.tunable = &kTunable;
  return row;
}();

/// The best value of X is 40, and plain costs as much as X = 1.
struct Rig {
  Rig() {
    script.cost = [this](VariantInfo const& row, Leg) {
      int const x = &row == &kTuned ? script.configured[&row][0] : 1;
      return 0x1p-8 * (1 + 0.1 * std::abs(40 - x));
    };
    options.make_instruments = [this](comm::World const&, core::Timing) {
      return std::make_unique<test::FakeInstruments>(script);
    };
    options.on_cost = [this](std::size_t candidate, double cost) {
      costs.resize(std::max(costs.size(), candidate + 1));
      costs[candidate].push_back(cost);
    };
  }

  std::vector<Candidate> candidates() const {
    return candidates_of(*entry.make(spec, 1, 0), entry, spec, world().device());
  }
  TuningResult tune() { return measure::tune(world(), spec, entry, all, options); }
  int x(std::size_t candidate) const { return all[candidate].configuration[0]; }
  std::int64_t runs() const { return std::ssize(script.runs()); }

  test::Script script;
  WorkloadEntry entry = test::fake_entry({&kPlain, &kTuned});
  core::Case spec = test::fake_case(entry, script);
  std::vector<Candidate> all = candidates();
  TunerOptions options;
  std::vector<std::vector<double>> costs;
};

TEST(Tuner, TriesTheUntunedChoiceAndAllLegalConfigurations) {
  Rig const rig;
  ASSERT_EQ(rig.all.size(), 1U + 60 - 8);
  EXPECT_EQ(rig.all[0].name(), "plain");
  EXPECT_EQ(rig.all[1].name(), "tunable X=1");
  EXPECT_EQ(rig.all[7].name(), "tunable X=8");
}

TEST(Tuner, HasNoCandidatesWhereNothingIsTunable) {
  Rig rig;
  rig.script.unsupported = [](VariantInfo const& row) {
    return row.tunable == nullptr ? "" : "does not want to";
  };
  EXPECT_TRUE(rig.candidates().empty());
}

TEST(Tuner, HasNoCandidatesWithoutWork) {
  Rig rig;
  rig.script.description.amount = 0;
  EXPECT_TRUE(rig.candidates().empty());
}

TEST(Tuner, FindsTheFastest) {
  Rig rig;
  TuningResult const result = rig.tune();
  ASSERT_FALSE(result.ranking.empty());
  EXPECT_EQ(rig.x(result.ranking[0]), 40);
  EXPECT_NEAR(result.seconds[result.ranking[0]], 0x1p-8, 1e-9);
  EXPECT_LE(result.ranking.size(), Halving::kFinalists);
  // All ran, and the best of them most often.
  EXPECT_EQ(rig.costs.size(), rig.all.size());
  for (std::vector<double> const& costs : rig.costs) EXPECT_GE(costs.size(), 1U);
  EXPECT_EQ(rig.costs[result.ranking[0]].size(), 25U);
}

/// A device that gets slower from one turn to the next changes no cost: each is divided by the first
/// candidate's time of the same turn.
TEST(Tuner, ComparesWithinATurn) {
  Rig rig;
  double speed = 1;
  auto const steady = rig.script.cost;
  rig.script.cost = [&](VariantInfo const& row, Leg leg) {
    if (&row != &kTuned) speed *= 0.95;
    return steady(row, leg) / speed;
  };
  TuningResult const result = rig.tune();
  ASSERT_FALSE(result.ranking.empty());
  EXPECT_EQ(rig.x(result.ranking[0]), 40);
  for (std::size_t i = 1; i < rig.costs.size(); ++i) {
    for (double const cost : rig.costs[i]) {
      EXPECT_NEAR(cost, (1 + 0.1 * std::abs(40 - rig.x(i))) / (1 + 0.1 * 39), 1e-9)
          << rig.all[i].name();
    }
  }
}

TEST(Tuner, TakesATenthOfTheTimeOfAnExhaustiveSearch) {
  Rig rig;
  // The rest is for a few finalists, however many candidates there are.
  rig.spec.repetitions = 60;
  double const halving_s = rig.tune().measured_s;
  rig.options.exhaustive = true;
  rig.spec.warmup.count = 3;
  TuningResult const result = rig.tune();
  EXPECT_EQ(rig.x(result.ranking[0]), 40);
  EXPECT_LE(halving_s, 0.1 * result.measured_s);
}

TEST(Tuner, LeavesOutWhatComputesSomethingElse) {
  Rig rig;
  rig.script.is_wrong = [&rig](VariantInfo const& row, std::uint64_t) {
    return &row == &kTuned && rig.script.configured[&row][0] == 40;
  };
  TuningResult const result = rig.tune();
  ASSERT_EQ(result.dropped.size(), 1U);
  EXPECT_TRUE(result.dropped[0].starts_with("tunable X=40: output")) << result.dropped[0];
  EXPECT_EQ(rig.x(result.ranking[0]), 39);
}

TEST(Tuner, ComparesWithTheReferenceOnOtherData) {
  Rig rig;
  rig.tune();
  std::vector<std::string> const& calls = rig.script.calls;
  auto const timed = std::ranges::find(calls, "prepare 1");
  auto const checked = std::ranges::find(calls, "prepare 2");
  ASSERT_TRUE(timed < checked && checked != calls.end());
  EXPECT_EQ(std::ranges::count(checked, calls.end(), "validate"),
            static_cast<std::ptrdiff_t>(Halving::kFinalists));
}

TEST(Tuner, GoesOnWithWhatIsKnown) {
  Rig first;
  TuningResult const whole = first.tune();

  Rig second;
  second.options.known = first.costs;
  // The journal of a killed search lacks its end.
  second.options.known[whole.ranking[0]].resize(20);
  TuningResult const resumed = second.tune();
  EXPECT_EQ(resumed.ranking[0], whole.ranking[0]);
  EXPECT_EQ(second.costs[whole.ranking[0]].size(), 5U);
  // 5 turns with the first candidate, a warm-up of both, and the checks.
  EXPECT_EQ(second.runs(), 5 * 2 + 2 + 4);
}

// Last, because nothing takes a signal back.
TEST(Signal, EndsTheSearchWhileCandidatesAreWarmedUp) {
  Rig rig;
  rig.spec.warmup.count = 2;
  rig.options.exhaustive = true;
  rig.script.cost = [&](VariantInfo const&, Leg) {
    if (rig.runs() == 1) std::raise(SIGUSR1);
    return 0x1p-8;
  };
  TuningResult const result = rig.tune();
  EXPECT_TRUE(result.interrupted);
  EXPECT_TRUE(rig.costs.empty());
}

}  // namespace
}  // namespace quadrille::measure
