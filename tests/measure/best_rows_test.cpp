// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/best_rows.hpp"

#include "measure/case_runner.hpp"
#include "measure/fake_workload.hpp"
#include "support/mpi_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>

namespace quadrille::measure {
namespace {

using kernels::Role;
using kernels::VariantInfo;
using test::fake_row;
using test::world;
using Names = std::vector<std::string>;

/// Shows the time of a script.
class FakeClock final : public QuickClock {
 public:
  FakeClock(test::Script& script, bool is_valid)
      : QuickClock{world()}, script_{script}, is_valid_{is_valid} {}
  Time plainly(std::function<void()> const& enqueue, std::int64_t count) override {
    return behind_gate(enqueue, count);
  }
  Time behind_gate(std::function<void()> const& enqueue, std::int64_t count) override {
    double const start = script_.now;
    for (std::int64_t i = 0; i < count; ++i) enqueue();
    double const seconds = (script_.now - start) / static_cast<double>(count);
    return {world().group().max(seconds), is_valid_};
  }

 private:
  test::Script& script_;
  bool is_valid_;
};

/// A case of made-up rows that asks for "best", by what their executions take.
struct Rig {
  explicit Rig(std::vector<std::pair<std::string_view, double>> const& rows) {
    Selection infos;
    for (auto const& [name, seconds] : rows) {
      infos.push_back(&infos_.emplace_back(fake_row(name, static_cast<int>(infos_.size()))));
      seconds_[infos.back()] = seconds;
    }
    // The last has the highest preference.
    entry = test::fake_entry(infos);
    script.description.traits.searches_best = true;
    script.description.traits.graph_capturable = true;
    script.cost = [this](VariantInfo const& row, Leg) { return seconds_.at(&row); };
    spec = test::fake_case(entry, script);
    spec.vendor = core::VendorLine::off;
  }

  Selection candidates(core::Tuned tuned = core::Tuned::automatic) {
    auto const workload = entry.make(spec, world().size(), world().rank());
    return candidates_for_best(*workload, entry, spec, tuned,
                               unsupported_reasons(*workload, entry, spec, world().device()));
  }
  Names names(core::Tuned tuned = core::Tuned::automatic) {
    Names names;
    for (VariantInfo const* row : candidates(tuned)) names.emplace_back(row->name);
    return names;
  }
  std::shared_ptr<BestRows> of_a_run() {
    return std::make_shared<BestRows>(
        [this](comm::World&) { return std::make_unique<FakeClock>(script, is_clock_valid); },
        BestMemory{
            .recall = [this](TuningClass const& of) { return table[of.problem]; },
            .keep = [this](TunedEntry const& kept) { table[kept.of.problem] = kept.variant; }});
  }
  BestRow best() {
    auto const workload = entry.make(spec, world().size(), world().rank());
    return best_rows->find(world(), spec, entry, *workload, candidates());
  }
  double spent_s() const { return script.now; }
  std::size_t rows_run() const {
    Names runs = script.runs();
    std::ranges::sort(runs);
    return static_cast<std::size_t>(std::unique(runs.begin(), runs.end()) - runs.begin());
  }

  std::deque<VariantInfo> infos_;
  std::map<VariantInfo const*, double> seconds_;
  test::Script script;
  WorkloadEntry entry;
  core::Case spec;
  bool is_clock_valid = true;
  std::map<std::string, std::string> table;  ///< on rank 0
  std::shared_ptr<BestRows> best_rows = of_a_run();
};

TEST(CandidatesForBest, AreOwnRowsThatRunTheLikeliestFirst) {
  Rig rig{{{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}, {"f", 1}}};
  EXPECT_EQ(rig.names(), (Names{"f", "e", "d", "c", "b", "a"}));

  rig.infos_[3].preference = rig.infos_[4].preference = 0;
  EXPECT_EQ(rig.names(), (Names{"f", "c", "b", "e", "d", "a"})) << "the last of equals first";

  rig.infos_[5].preference = -1;
  EXPECT_EQ(rig.names(), (Names{"c", "b", "e", "d", "a"})) << "nobody wants the last";

  rig.infos_[5].role = Role::reference;
  rig.script.unsupported = [](VariantInfo const& row) {
    return row.name == "c" ? "takes others" : "";
  };
  EXPECT_EQ(rig.names(), (Names{"b", "e", "d", "a"}));
}

TEST(CandidatesForBest, AreNoneWhereNothingIsSearched) {
  Rig rig{{{"a", 1}, {"b", 1}}};
  ASSERT_EQ(rig.names().size(), 2U);

  EXPECT_EQ(rig.names(core::Tuned::off), Names{});
  rig.spec.variants = {"a", "all"};
  EXPECT_EQ(rig.names(), Names{});
  rig.spec.variants = {"a", "best"};
  EXPECT_EQ(rig.names().size(), 2U);
  rig.spec.config = "a; b X=1";
  EXPECT_EQ(rig.names(), Names{}) << "tuning has found what is best";
  rig.spec.config = "auto";
  EXPECT_EQ(rig.names().size(), 2U);
  rig.script.description.amount = 0;
  EXPECT_EQ(rig.names(), Names{}) << "without work nothing has a rate";
  rig.script.description.amount = 1;
  rig.script.description.traits.searches_best = false;
  EXPECT_EQ(rig.names(), Names{}) << "rows are no alternatives";
}

TEST(BestRows, FindTheFastest) {
  Rig rig{{{"a", 30e-6}, {"b", 10e-6}, {"c", 12e-6}, {"d", 90e-6}}};

  BestRow const best = rig.best();

  EXPECT_EQ(best.row->name, "b");
  EXPECT_NEAR(best.seconds, 10e-6, 1e-9);
  EXPECT_EQ(best.text, "best: fastest of 4 tried, of 4 candidates");
}

TEST(BestRows, TakeTheLikelierOfEquals) {
  Rig rig{{{"a", 100e-6}, {"b", 100.5e-6}, {"c", 103e-6}}};

  EXPECT_EQ(rig.best().row->name, "b");
}

TEST(BestRows, SpendNoMoreThanTheirTime) {
  for (double const seconds : {1e-6, 100e-6, 2e-3}) {
    std::vector<std::pair<std::string_view, double>> const rows(100, {"row", seconds});
    Rig rig{rows};
    rig.best();
    // The last look, of two executions, and the last row of launches may have begun just before.
    double const last = 2 * seconds + std::max(1e-3, seconds);
    EXPECT_LE(rig.spent_s(), BestRows::kSeconds + last + 1e-6) << seconds;
    EXPECT_GE(rig.spent_s(), BestRows::kSeconds / 2) << seconds;
  }
}

TEST(BestRows, ExecuteThreeTimesFourThatTakeLonger) {
  std::vector<std::pair<std::string_view, double>> const rows{{"a", 1},   {"b", 1},   {"c", 1},
                                                              {"d", 1.1}, {"e", 1.2}, {"f", 1.2}};
  Rig rig{rows};

  EXPECT_EQ(rig.best().row->name, "c");

  EXPECT_EQ(rig.rows_run(), 4U);
  EXPECT_EQ(rig.script.runs().size(), 12U);
}

TEST(BestRows, ExecuteOnceWhatIsFarBehind) {
  Rig rig{{{"slow", 9}, {"fast", 1}}};

  EXPECT_EQ(rig.best().row->name, "fast");

  EXPECT_EQ(rig.script.count("run slow"), 1);
}

TEST(BestRows, AreTheSameOnAllRanks) {
  // Each rank has another favourite; what counts is the slowest rank.
  Rig rig{{{"a", 20e-6}, {"b", 20e-6}, {"c", 20e-6}, {"even", 8e-6}}};
  rig.script.cost = [&](VariantInfo const& row, Leg) {
    std::size_t const favourite = static_cast<std::size_t>(world().rank()) % 3;
    if (world().size() > 1 && &row == &rig.infos_[favourite]) return 1e-6;
    return rig.seconds_.at(&row);
  };

  BestRow const best = rig.best();

  EXPECT_EQ(best.row->name, "even");
  EXPECT_EQ(best.seconds, world().group().max(best.seconds));
  auto const runs = static_cast<std::int64_t>(rig.script.runs().size());
  EXPECT_EQ(runs, world().group().max(runs)) << "executions may be collective";
}

TEST(BestRows, RememberTheRun) {
  Rig rig{{{"a", 30e-6}, {"b", 10e-6}}};
  rig.best();
  auto const runs = rig.script.runs().size();
  // What does not change an execution.
  rig.spec.name = "other";
  rig.spec.seed = 7;
  rig.spec.repetitions = 9;
  rig.spec.variants = {"best", "a"};
  rig.seconds_[rig.entry.variants[0]] = 1e-6;

  EXPECT_EQ(rig.best().row->name, "b");
  EXPECT_EQ(rig.script.runs().size(), runs);

  rig.spec.size.value[0] = 2;
  EXPECT_EQ(rig.best().row->name, "a");
  EXPECT_GT(rig.script.runs().size(), runs);
  rig.spec.data = core::DataKind::zeros;
  rig.seconds_[rig.entry.variants[0]] = 1;
  EXPECT_EQ(rig.best().row->name, "b");
}

TEST(BestRows, AreKeptForExactlyThisProblem) {
  bool const is_first = world().rank() == 0;
  Rig rig{{{"a", 30e-6}, {"b", 10e-6}, {"c", 20e-6}}};
  rig.best();
  ASSERT_EQ(rig.table.size(), is_first ? 1U : 0U);
  for (auto& [problem, variant] : rig.table) {
    EXPECT_EQ(variant, "b");
    variant = "c";
  }
  auto const runs = rig.script.runs().size();

  rig.best_rows = rig.of_a_run();
  EXPECT_EQ(rig.best().row->name, "c");
  EXPECT_EQ(rig.best().text, "best: found by an earlier run");
  EXPECT_EQ(rig.script.runs().size(), runs);

  for (auto& [problem, variant] : rig.table) variant = "of_another_time";
  rig.best_rows = rig.of_a_run();
  EXPECT_EQ(rig.best().row->name, "b");

  for (auto& [problem, variant] : rig.table) variant = "c";
  rig.best_rows = rig.of_a_run();
  rig.spec.data = core::DataKind::zeros;
  EXPECT_EQ(rig.best().row->name, "b") << "of other data nothing is known";

  rig.spec.data = core::DataKind::uniform;
  EXPECT_EQ(rig.best().row->name, "c");
  rig.script.unsupported = [](VariantInfo const& row) {
    return row.name == "a" ? "is of another program" : "";
  };
  EXPECT_EQ(rig.best().row->name, "c") << "the run's memory comes first";
  rig.best_rows = rig.of_a_run();
  EXPECT_EQ(rig.best().row->name, "b") << "of other candidates nothing is known";
}

TEST(BestRows, PreferWhereNoClockShowsAnything) {
  Rig rig{{{"a", 10e-6}, {"b", 30e-6}}};
  rig.is_clock_valid = false;

  BestRow const best = rig.best();

  EXPECT_EQ(best.row->name, "b");
  EXPECT_EQ(best.seconds, 0);
}

TEST(BestRows, AreThoseOfAStandIn) {
  Rig rig{{{"a", 10e-6}, {"b", 30e-6}, {"c", 50e-6}}};
  Rig other{{{"unknown", 1e-6}}};
  other.entry.variants.insert(other.entry.variants.end(), {&rig.infos_[0], &rig.infos_[1]});
  other.seconds_.insert({{&rig.infos_[0], 30e-6}, {&rig.infos_[1], 10e-6}});
  rig.script.stand_in = StandIn{&other.entry, other.spec};
  rig.best_rows = other.best_rows;
  EXPECT_EQ(rig.best().row->name, "b");
  EXPECT_EQ(rig.rows_run(), 0U);

  other.script.unsupported = [](VariantInfo const&) { return "takes others"; };
  EXPECT_EQ(rig.best().row->name, "c") << "that of the highest preference";
}

TEST(BestRows, AreWhatACaseMeasures) {
  Rig rig{{{"a", 10e-6}, {"b", 20e-6}, {"c", 50e-6}}};
  CaseOptions options;
  options.best_rows = rig.best_rows;
  options.make_instruments = [&](comm::World const&, core::Timing) {
    return std::make_unique<test::FakeInstruments>(rig.script);
  };
  rig.script.implementation = "a call";

  std::vector<Record> const records = measure_case(world(), rig.spec, rig.entry, options);

  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].variant, "a");
  EXPECT_EQ(records[0].outcome, Outcome::pass);
  EXPECT_EQ(records[0].implementation, "a call; best: fastest of 3 tried, of 3 candidates");

  rig.script.description.traits.searches_best = false;
  EXPECT_EQ(measure_case(world(), rig.spec, rig.entry, options).at(0).variant, "c");
}

}  // namespace
}  // namespace quadrille::measure
