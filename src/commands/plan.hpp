// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "commands/run.hpp"
#include "core/config.hpp"
#include "measure/selection.hpp"

#include <optional>
#include <string>
#include <vector>

namespace quadrille::commands {

/// Says something once for all ranks and returns this code.
core::Exit refuse(comm::Machine const& machine, std::string const& why, core::Exit code);

/// The file or the bare case with --set applied and sweeps resolved. Not collective.
core::Parsed<core::Config> read_input(RunArguments const& arguments);
/// ... with the grids of so many ranks, and what --only keeps of it.
core::Parsed<core::Config> cases_for(core::Config const& input, RunArguments const& arguments,
                                     int ranks);

/// Rank 0 reads the file or the bare case, applies --set, resolves sweeps and grids, and keeps what
/// --only names; all ranks get the same. An error is the same on every rank. Collective.
core::Parsed<core::Config> read_config(comm::World const& world, RunArguments const& arguments);

/// What names of cases or workloads keep; an error where one names nothing. All where there are none.
core::Parsed<core::Config> keep_only(core::Config config, std::vector<std::string> const& only);

/// One case as it will run.
struct Planned {
  core::Case spec;
  measure::WorkloadEntry const* entry = nullptr;
  std::vector<measure::Selected> variants;
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

/// After make_plan() was interrupted.
core::Exit refuse_interrupted(comm::Machine const& machine);

/// Resolves automatic sizes, makes a case for each transport where all are wanted, and checks
/// everything that can be checked before any work. Stops at a case once Machine::interrupted(). Collective.
Plan make_plan(comm::Machine const& machine, core::Config const& config);

/// Names in each case that asks for transport = "auto" the one that is best for its messages, but where
/// there is nothing to choose. Measures what `earlier`, of rank 0, does not tell, and returns on rank 0
/// the times of both. Collective.
std::vector<comm::TransportTime> choose_transports(comm::World& world, Plan& plan,
                                                   std::vector<comm::TransportTime> earlier);

/// "under 1 s", "about 40 s", "about 7 min", "about 3.1 h"
std::string format_duration(double seconds);

/// A variant that a case names and that cannot run, so that the run fails.
struct NamedProblem {
  std::string name;  ///< of the case
  std::string_view variant;
  std::string reason;  ///< with the variant
};
std::vector<NamedProblem> named_problems(Plan const& plan);

/// The plan as a table with the named problems below it, for --dry-run.
std::string render_plan(Plan const& plan, int ranks);
/// ... for --json.
std::string plan_as_json(Plan const& plan, device::Facts const& device, int ranks);

/// run --as: plans for a device that need not be here, without MPI. Fails as the run would, unless the
/// input has an [about] that does not name the device.
core::Exit plan_as(RunArguments const& arguments);

}  // namespace quadrille::commands
