// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/best_rows.hpp"

#include "core/text.hpp"
#include "measure/sampler.hpp"
#include "measure/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace quadrille::measure {
namespace {

using kernels::VariantInfo;

// A first execution may load its kernels.
constexpr double kLoadSeconds = 20e-3;
// Of two that differ by less the likelier one is taken: in another run it would be the other.
constexpr double kTie = 0.01;

/// What the time of an execution depends on.
core::Case essence_of(core::Case const& spec) {
  core::Case essence;
  essence.workload = spec.workload;
  essence.type = spec.type;
  essence.compute = spec.compute;
  essence.size = spec.size;
  essence.config = spec.config;
  essence.data = spec.data;
  essence.cache = spec.cache;
  essence.parameters = spec.parameters;
  return essence;
}

/// A problem as the tuned table has it: with other candidates, as another program has, it is another.
TuningClass problem_of(comm::World const& world, core::Case const& essence,
                       Workload const& workload, Selection const& candidates) {
  std::string facts = core::to_toml(essence);
  for (VariantInfo const* row : candidates) facts.append(row->name).push_back('\n');
  TuningClass of = workload.tuning_class().value_or(TuningClass{
      .operation = std::string{essence.workload->name},
      .device = {},
      .type = std::string{core::to_text(essence.type)},
      .layout = {},
      .shape = shape_class(
          std::span{essence.size.value}.first(static_cast<std::size_t>(essence.size.count)))});
  of.device = world.device().facts().name;
  for (int i = 0; i < essence.size.count; ++i) {
    of.problem += fmt::format("{}{}", i == 0 ? "" : "x", essence.size[i]);
  }
  of.problem += fmt::format(" {:016x}", core::fnv1a(facts));
  return of;
}

/// The case once for each set of buffers that executions rotate over, as timed ones do.
std::vector<std::unique_ptr<Workload>> prepared(comm::World& world, core::Case const& spec,
                                                WorkloadEntry const& entry,
                                                Selection const& candidates) {
  std::vector<std::unique_ptr<Workload>> sets;
  auto const add = [&] {
    sets.push_back(entry.make(spec, world.size(), world.rank()));
    sets.back()->prepare(world, spec.seed, candidates);
  };
  add();
  if (spec.cache != core::Cache::cold) return sets;
  std::int64_t const wanted =
      cold_buffer_sets(world.device().facts().l2_bytes,  // 0 on hosts
                       sets[0]->describe(candidates).memory_bytes, Sampler::kAutomaticBatch);
  while (std::ssize(sets) < wanted) add();
  return sets;
}

/// Times candidates, and counts what their executions take.
class Search {
 public:
  Search(comm::World& world, core::Case const& spec, WorkloadEntry const& entry,
         Selection const& candidates, QuickClock& clock)
      : world_{world},
        candidates_{candidates},
        clock_{clock},
        sets_{prepared(world, spec, entry, candidates)},
        is_gated_{sets_[0]->describe(candidates).traits.graph_capturable} {}

  std::vector<kernels::Ranked> run() {
    return kernels::rank(candidates_.size(),
                         {.look = [this](std::size_t i) { return look(i); },
                          .row = [this](std::size_t i, std::int64_t n) { return row(i, n); },
                          .spent = [this] { return spent_; }},
                         BestRows::kEffort);
  }

 private:
  /// Twice, but once what is far behind in spite of all that its first execution may have to load.
  double look(std::size_t candidate) {
    double const first = clock_.plainly(executions(candidate)).seconds;
    spent_ += first;
    if (first > kernels::kFarBehind * least_ + kLoadSeconds) return first;
    double const second = row(candidate, 1);
    least_ = std::min(least_, second);
    return second;
  }

  double row(std::size_t candidate, std::int64_t launches) {
    QuickClock::Time const time = is_gated_ ? clock_.behind_gate(executions(candidate), launches)
                                            : clock_.plainly(executions(candidate), launches);
    spent_ += static_cast<double>(launches) * time.seconds;
    return time.is_valid ? time.seconds : kernels::kUntimed;
  }

  /// From outputs as a repetition finds them.
  std::function<void()> executions(std::size_t candidate) {
    VariantInfo const& row = *candidates_[candidate];
    for (std::unique_ptr<Workload> const& set : sets_) set->reset(world_, row);
    return [this, &row, i = std::size_t{0}]() mutable {
      sets_[i++ % sets_.size()]->run(world_, Leg::overlapped, row);
    };
  }

  comm::World& world_;
  Selection const& candidates_;
  QuickClock& clock_;
  std::vector<std::unique_ptr<Workload>> sets_;
  bool is_gated_;  ///< else an execution may wait for the device, which waits for the gate
  double least_ = kernels::kUntimed;
  double spent_ = 0;
};

}  // namespace

Selection candidates_for_best(Workload const& workload, WorkloadEntry const& entry,
                              core::Case const& spec, core::Tuned tuned,
                              std::vector<std::string> const& reasons) {
  bool const is_asked = std::ranges::find(spec.variants, "best") != spec.variants.end();
  if (!is_asked || tuned == core::Tuned::off) return {};
  if (!core::configurations_of(spec).empty()) return {};
  Description const description = workload.describe({});
  if (!description.traits.searches_best || !(description.amount > 0)) return {};
  Selection rows;
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    VariantInfo const* const row = entry.variants[i];
    bool const is_eligible = row->role == kernels::Role::own && row->preference >= 0;
    if (is_eligible && reasons[i].empty()) rows.push_back(row);
  }
  // Of those that nobody prefers the last of the table first, as a technique stands behind those that
  // it improves.
  std::ranges::reverse(rows);
  std::ranges::stable_sort(rows, std::greater{}, &VariantInfo::preference);
  return rows.size() > 1 ? rows : Selection{};
}

BestRows::BestRows(MakeClock make_clock, BestMemory memory)
    : make_clock_{std::move(make_clock)}, memory_{std::move(memory)} {}

BestRow BestRows::find(comm::World& world, core::Case const& spec, WorkloadEntry const& entry,
                       Workload const& workload, Selection const& candidates) {
  if (auto const other = workload.stand_in()) return of_stand_in(world, *other, candidates);
  core::Case const essence = essence_of(spec);
  auto const known = std::ranges::find(known_, essence, &std::pair<core::Case, BestRow>::first);
  if (known != known_.end()) return known->second;
  TuningClass const of = problem_of(world, essence, workload, candidates);
  BestRow found = recalled(world, of, candidates);
  if (found.row == nullptr) {
    found = searched(world, spec, entry, candidates);
    if (world.rank() == 0 && found.seconds > 0) {
      double const amount = workload.describe(candidates).amount;
      memory_.keep({of, std::string{found.row->name}, "", amount / found.seconds});
    }
  }
  return known_.emplace_back(essence, std::move(found)).second;
}

/// The likeliest where the stand-in takes none of them.
BestRow BestRows::of_stand_in(comm::World& world, StandIn const& other,
                              Selection const& candidates) {
  auto const& [entry, spec] = other;
  std::unique_ptr<Workload> const workload = entry->make(spec, world.size(), world.rank());
  std::vector<std::string> const reasons =
      agreed_reasons(world, std::span{&workload, 1}, *entry, spec);
  Selection common;
  for (VariantInfo const* row : candidates) {
    auto const place = std::ranges::find(entry->variants, row) - entry->variants.begin();
    bool const runs =
        place < std::ssize(reasons) && reasons[static_cast<std::size_t>(place)].empty();
    if (runs) common.push_back(row);
  }
  if (common.empty()) return {candidates.front(), 0, ""};
  return find(world, spec, *entry, *workload, common);
}

/// Without a row where none is known.
BestRow BestRows::recalled(comm::World& world, TuningClass const& of,
                           Selection const& candidates) const {
  std::string name = world.rank() == 0 ? memory_.recall(of) : "";
  world.group().broadcast(name);
  auto const row = std::ranges::find(candidates, name, &VariantInfo::name);
  return row == candidates.end() ? BestRow{} : BestRow{*row, 0, "best: found by an earlier run"};
}

BestRow BestRows::searched(comm::World& world, core::Case const& spec, WorkloadEntry const& entry,
                           Selection const& candidates) const {
  std::unique_ptr<QuickClock> const clock = make_clock_(world);
  std::vector<kernels::Ranked> const ranked = Search{world, spec, entry, candidates, *clock}.run();
  kernels::Ranked best = ranked.front();
  for (kernels::Ranked const& other : ranked) {
    bool const is_tie = other.seconds <= (1 + kTie) * ranked.front().seconds;
    if (is_tie && other.candidate < best.candidate) best = other;
  }
  return {candidates[best.candidate], std::isfinite(best.seconds) ? best.seconds : 0,
          "best: " + kernels::search_text(ranked.size(), candidates.size())};
}

}  // namespace quadrille::measure
