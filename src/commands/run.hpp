// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.hpp"
#include "run/directory.hpp"
#include "run/input.hpp"

#include <string>

namespace quadrille::commands {

struct RunArguments : run::Input, run::Destination {
  std::string fault;
  bool dry_run = false;
  std::string as;     ///< a known device to plan for, or "list"; "": those here
  int as_ranks = 0;   ///< 0: those of [about], or 1
  bool json = false;  ///< of plans
  bool print_config = false;
};
/// Starts MPI, measures, writes the result. The same exit code on every rank.
core::Exit run(RunArguments const& arguments, int& argc, char**& argv);

/// run --as: plans for a device that need not be here, without MPI. Fails as the run would, unless the
/// input has an [about] that does not name the device.
core::Exit plan_as(RunArguments const& arguments);

}  // namespace quadrille::commands
