// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "core/config.hpp"
#include "measure/selection.hpp"

#include <optional>
#include <string>
#include <vector>

namespace quadrille::run {

/// One case as it will run.
struct Planned {
  core::Case spec;
  measure::WorkloadEntry const* entry = nullptr;
  measure::SelectedCase selected;        ///< its workload is taken where it is measured
  measure::Memory memory;                ///< per rank, at most
  double seconds = 0;                    ///< about, on the slowest rank
  std::optional<comm::Traffic> traffic;  ///< of what will run; for choose_transports()
  std::string too_few_ranks;             ///< why none of the variants runs; empty where they do
  /// Why its transport, one of all, cannot serve these ranks; then it is reported and does not run.
  std::string unsupported;
  std::string problem;                 ///< why it cannot run, with what would; empty when it can
  core::Exit code = core::Exit::pass;  ///< what the problem ends with
};

struct Plan {
  measure::Memory memory;  ///< that each rank may use
  std::vector<Planned> cases;
};

/// Resolves automatic sizes, makes a case for each transport where all are wanted, and checks
/// everything that can be checked before any work. Stops at a case once Machine::interrupted(). Collective.
Plan make_plan(comm::Machine const& machine, core::Config const& config);

/// Names in each case that asks for transport = "auto" the one that is best for its messages, but where
/// there is nothing to choose. Measures what `earlier`, of rank 0, does not tell, and returns on rank 0
/// the times of both. Collective.
std::vector<comm::TransportTime> choose_transports(comm::World& world, Plan& plan,
                                                   std::vector<comm::TransportTime> earlier);

/// A variant that a case names and that cannot run, so that the run fails.
struct NamedProblem {
  std::string name;  ///< of the case
  std::string_view variant;
  std::string reason;  ///< with the variant
};
std::vector<NamedProblem> named_problems(Plan const& plan);

/// "1.5 GiB of device memory and 64 MiB of host memory"; without the host's where nobody knows it.
std::string format_memory(measure::Memory const& memory);

}  // namespace quadrille::run
