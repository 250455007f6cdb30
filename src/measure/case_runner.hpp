// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/best_rows.hpp"
#include "measure/sampler.hpp"
#include "measure/selection.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace quadrille::measure {

/// What a case tells about its progress; called on rank 0 only.
struct Progress {
  std::string case_name;
  std::string step;     ///< "prepare", "check", "warm up", "time"
  double fraction = 0;  ///< of this case
};

struct CaseOptions {
  std::function<void(Progress const&)> on_progress = [](Progress const&) {};
  /// Called once per case after the last repetition, collectively, with outputs in place.
  std::function<void(Workload&)> on_outputs = [](Workload&) {};
  /// Where there is one, it gets an extra repetition of each measurement that was timed, behind the last
  /// timed one. Collective.
  std::function<void(TracedRepetition)> on_trace{};
  /// Called on rank 0 with what there is to show of the case, at its start and after each repetition
  /// that takes long: another may never end.
  std::function<void(std::vector<Record>)> on_partial = [](std::vector<Record>) {};
  /// What runs in place of the workload that the entry makes.
  std::function<std::unique_ptr<Workload>(std::unique_ptr<Workload>)> decorate =
      [](std::unique_ptr<Workload> workload) { return workload; };
  /// What "best" has been found to be in this run.
  std::shared_ptr<BestRows> best_rows = std::make_shared<BestRows>();
  /// What times it.
  std::function<std::unique_ptr<Instruments>(comm::World const&, core::Timing)> make_instruments =
      measure::make_instruments;
};

/// Checks each variant on other data than the timed, warms up, times, checks again; one record per
/// variant that was asked for, the same on every rank but for samples and what is derived from
/// them, which rank 0 alone has. Collective.
/// Takes the workload of `selected`; once that is taken, as in a further round, it makes another.
std::vector<Record> measure_case(comm::World& world, core::Case const& spec,
                                 WorkloadEntry const& entry, SelectedCase& selected,
                                 CaseOptions const& options);
/// ... of a case that nobody has planned.
std::vector<Record> measure_case(comm::World& world, core::Case const& spec,
                                 WorkloadEntry const& entry, CaseOptions const& options);

/// Those of a case that a run ended before: INTERRUPTED, but for what cannot run or was left out.
std::vector<Record> unmeasured_records(comm::World const& world, core::Case const& spec,
                                       std::vector<Selected> const& selected);

/// That of a case which these ranks cannot run, by the variant that it asks for first.
Record unsupported_record(comm::World const& world, core::Case const& spec, std::string reason);

}  // namespace quadrille::measure
