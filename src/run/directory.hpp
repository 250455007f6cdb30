// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "io/journal.hpp"
#include "io/run_lock.hpp"
#include "measure/record.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace quadrille::run {

/// What --resume takes for the latest run of run.output.
inline constexpr std::string_view kLatestRun = "latest";

/// Where a run starts.
struct RunStart {
  std::filesystem::path directory;
  measure::RunResult result{};  ///< on rank 0 with the records of the cases that are finished
  io::RunLock lock{};           ///< of rank 0, as is the journal
  io::Journal journal{};
};

/// What a run writes, as the command line says it.
struct Destination {
  std::string run_id;  ///< name of the run directory; "" makes a unique one
  std::string resume;  ///< that of a run to go on with, or "latest"; "" starts another
  std::string trace;   ///< file for timelines; "": none
  std::string junit;   ///< file for JUnit's XML; "": none
  bool force = false;
  bool quiet = false;  ///< the result and errors alone are shown
};

/// "2026-01-31T12:00:00Z"
std::string now_utc();

/// The directory of the run of this name in `output`, or of "latest", then empty where there is none, or why
/// it is not known.
core::Parsed<std::filesystem::path> find_run(std::filesystem::path const& output,
                                             std::string const& id);

/// Why `option` cannot name a run's directory so; empty where it can.
std::string name_problem(std::string_view option, std::string const& id);

/// Collective. Makes start.directory and takes its lock on rank 0. With `force` one that is there loses
/// the files of its run; not where another process writes to it, or one of them cannot be removed. With
/// `shares_files` all ranks must see it. Empty, or why there is none.
std::string make_directory(comm::World const& world, RunStart& start, bool force,
                           bool shares_files);

/// Collective. The first rank that does not see rank 0's files in start.directory, or cannot write
/// beside them, as a sentence; empty where all do.
std::string unshared_problem(comm::World const& world, RunStart const& start);

/// Collective. Why rank 0 cannot write destination.trace or .junit, of a run in `output`; empty where it
/// can. An earlier trace gives way with --force, an earlier file of JUnit's always, nothing else does.
std::string file_problem(comm::World const& world, std::string const& output,
                         Destination const& destination);

}  // namespace quadrille::run
