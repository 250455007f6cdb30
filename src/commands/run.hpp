// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.hpp"

#include <string>
#include <vector>

namespace quadrille::commands {

struct RunArguments {
  std::string file;
  std::string workload;  ///< --case: one case without a file
  std::vector<std::string> sets;
  std::vector<std::string> only;
  std::string run_id;  ///< name of the run directory; "" makes a unique one
  std::string resume;  ///< that of a run to go on with, or "latest"; "" starts another
  std::string fault;
  std::string trace;  ///< file for timelines; "": none
  bool dry_run = false;
  std::string as;     ///< a known device to plan for, or "list"; "": those here
  int as_ranks = 0;   ///< 0: those of [about], or 1
  bool json = false;  ///< of plans
  bool print_config = false;
  bool force = false;
  /// The cases of this result as they ran, in place of a file; "" where `rerun` is not meant.
  std::string rerun;
  std::string rerun_case;  ///< of these one measurement, or all of one case
};
/// Starts MPI, measures, writes the result. The same exit code on every rank.
core::Exit run(RunArguments const& arguments, int& argc, char**& argv);

}  // namespace quadrille::commands
