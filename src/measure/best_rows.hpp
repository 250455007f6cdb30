// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/search.hpp"
#include "core/config.hpp"
#include "measure/quick_time.hpp"
#include "measure/workload.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::measure {

/// What the search for "best" found.
struct BestRow {
  kernels::VariantInfo const* row = nullptr;
  double seconds = 0;  ///< of an execution; 0: no clock showed it
  std::string text;    ///< "best: fastest of 12 tried, of 40 candidates"
};

/// The rows among which "best" of a case is found by timing them, the likeliest first: own rows that
/// run it. Empty where it is not: the case does not ask for it, tuning is off or has found something, rows
/// of this workload are no alternatives, there is no work or no choice. `reasons` are those of
/// unsupported_reasons().
Selection candidates_for_best(Workload const& workload, WorkloadEntry const& entry,
                              core::Case const& spec, core::Tuned tuned,
                              std::vector<std::string> const& reasons);

/// What of searches outlives a run, by the class of a problem. Called on rank 0.
struct BestMemory {
  /// The name of a row; empty where none is known.
  std::function<std::string(TuningClass const&)> recall = [](TuningClass const&) { return ""; };
  std::function<void(TunedEntry)> keep = [](TunedEntry const&) {};
};

/// What "best" is of the cases of a run: a row for all cases whose executions do not differ.
class BestRows {
 public:
  using MakeClock = std::function<std::unique_ptr<QuickClock>(comm::World&)>;
  static std::unique_ptr<QuickClock> quick_clock(comm::World& world) {
    return std::make_unique<QuickClock>(world);
  }
  explicit BestRows(MakeClock make_clock = quick_clock, BestMemory memory = {});

  // A search takes no more execution time than this, but three executions of each of so many
  // candidates, where they take longer. The one half is for a first look at all of them; what the last
  // look takes beyond it is added.
  static constexpr double kSeconds = 50e-3;
  static constexpr std::size_t kMinCandidates = 4;
  /// The same for kernels::rank(), by rows of launches that are long enough for the clock.
  static constexpr kernels::Effort kEffort{.looks_s = kSeconds / 2,
                                           .min_looks = kMinCandidates,
                                           .all_s = kSeconds,
                                           .min_rows = kMinCandidates,
                                           .min_row_s = 1e-3,
                                           .max_row_s = 1e-3,
                                           .min_launches = 1};

  /// Of a case with these candidates, of which there is one at least: the same on every rank.
  /// Collective.
  BestRow find(comm::World& world, core::Case const& spec, WorkloadEntry const& entry,
               Workload const& workload, Selection const& candidates);

 private:
  BestRow of_stand_in(comm::World& world, StandIn const& other, Selection const& candidates);
  BestRow recalled(comm::World& world, TuningClass const& of, Selection const& candidates) const;
  BestRow searched(comm::World& world, core::Case const& spec, WorkloadEntry const& entry,
                   Selection const& candidates) const;

  MakeClock make_clock_;
  BestMemory memory_;
  std::vector<std::pair<core::Case, BestRow>> known_;
};

}  // namespace quadrille::measure
