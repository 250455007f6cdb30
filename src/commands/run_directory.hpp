// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "commands/resume.hpp"
#include "commands/run.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace quadrille::commands {

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

/// Collective. Why rank 0 cannot write arguments.trace, of a run in `output`; empty where it can. An
/// earlier trace gives way with --force, nothing else does.
std::string trace_problem(comm::World const& world, std::string const& output,
                          RunArguments const& arguments);

/// Standard output and log.txt of rank 0. Where one takes no more, it is left out from then on, which is
/// reported once: the run goes on, and its results lie in other files.
class Output {
 public:
  Output(bool speaks, std::filesystem::path const& log);
  void show(std::string_view text);
  void log(std::string_view text);
  void print(std::string_view text);
  /// Reports what could not be written, if anything.
  void report(std::string const& problem);
  /// The first that was reported.
  std::string const& problem() const { return problem_; }

 private:
  std::filesystem::path path_;
  std::ofstream log_;
  bool shows_ = false, logs_ = false;
  std::string problem_;
};

}  // namespace quadrille::commands
