// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "commands/commands.hpp"
#include "core/config.hpp"
#include "measure/selection.hpp"

#include <optional>
#include <string>
#include <vector>

namespace quadrille::commands {

/// Says something once for all ranks and returns this code.
core::Exit refuse(comm::World const& world, std::string const& why, core::Exit code);

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
core::Exit refuse_interrupted(comm::World const& world);

/// Resolves automatic sizes, makes a case for each transport where all are wanted, and checks
/// everything that can be checked before any work. Stops at a case once World::interrupted(). Collective.
Plan make_plan(comm::World const& world, core::Config const& config);

/// Names in each case that asks for transport = "auto" the one that is best for its messages, but where
/// there is nothing to choose. Measures what `earlier`, of rank 0, does not tell, and returns on rank 0
/// the times of both. Collective.
std::vector<comm::TransportTime> choose_transports(comm::World& world, Plan& plan,
                                                   std::vector<comm::TransportTime> earlier);

/// "under 1 s", "about 40 s", "about 7 min", "about 3.1 h"
std::string format_duration(double seconds);

/// The plan as a table, for --dry-run.
std::string render_plan(Plan const& plan, int ranks);

}  // namespace quadrille::commands
