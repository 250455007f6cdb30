// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/case_runner.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::measure {

/// A variant and, where it is tunable, a configuration of it.
struct Candidate {
  kernels::VariantInfo const* row = nullptr;
  kernels::Configuration configuration;

  /// "tuned_tiles BM=64,BN=64", as `config` of a case names it.
  std::string name() const;
};

/// The own variant that the case takes without tuning, which the others are compared with, and behind
/// it all legal configurations of the tunable variants that take the case. Empty where no variant
/// does, or none of them is tunable.
std::vector<Candidate> candidates_of(Workload const& workload, WorkloadEntry const& entry,
                                     core::Case const& spec, device::Device const& device);

struct TunerOptions {
  bool exhaustive = false;  ///< times all candidates as often as the case wants, like `run`
  /// Costs that an earlier, interrupted search has found, by candidates.
  std::vector<std::vector<double>> known;
  /// The time of a candidate over that of the first one in the same turn.
  std::function<void(std::size_t candidate, double cost)> on_cost = [](std::size_t, double) {};
  /// The fastest so far, and samples taken and to be taken in all.
  std::function<void(std::size_t best, double best_s, std::size_t taken, std::size_t of)>
      on_progress = [](std::size_t, double, std::size_t, std::size_t) {};
  std::function<std::unique_ptr<Instruments>(comm::World const&, core::Timing)> make_instruments =
      measure::make_instruments;
};

struct TuningResult {
  std::vector<std::size_t> ranking;  ///< of right results, from the fastest on
  std::vector<double> seconds;       ///< of each candidate; 0: it was not timed to the end
  /// Candidates that are out, with the reason.
  std::vector<std::string> dropped;
  double measured_s = 0;  ///< that searching took, without preparing
  bool interrupted = false;
};

/// Finds the fastest of some candidates for a case, which the workload takes all. What wins was
/// compared with the reference on other data than the timed. For one rank.
TuningResult tune(comm::World& world, core::Case const& spec, WorkloadEntry const& entry,
                  std::span<Candidate const> candidates, TunerOptions const& options);

}  // namespace quadrille::measure
