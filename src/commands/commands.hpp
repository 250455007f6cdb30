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
  bool dry_run = false;
  bool print_config = false;
  bool force = false;
};
/// Starts MPI, measures, writes the result. The same exit code on every rank.
core::Exit run(RunArguments const& arguments, int& argc, char**& argv);

struct DoctorArguments {
  bool allow_shared_gpu = false;
  std::string device_map = "auto";
  bool json = false;
};
/// Starts MPI and proves placement and capabilities without measuring anything. Exit::environment
/// where runs would fail.
core::Exit doctor(DoctorArguments const& arguments, int& argc, char**& argv);

struct SelftestArguments {
  std::vector<std::string> sets;  ///< of [run] alone
  std::vector<std::string> only;
  bool json = false;
};
/// Starts MPI and injects every fault into every workload over every transport that exists here.
/// Exit::wrong_result where one is not found, or a run without a fault fails.
core::Exit selftest(SelftestArguments const& arguments, int& argc, char**& argv);

struct TuneArguments {
  std::string operation;          ///< a workload with tunable variants
  std::vector<std::string> sets;  ///< run.KEY=VALUE, or KEY=VALUE of the case
  std::string output;       ///< the table that takes what is found; "": that of the user's cache
  bool exhaustive = false;  ///< time everything as `run` does
  bool restart = false;     ///< forget what an interrupted search has found
};
/// Finds the fastest configurations of an operation's variants for the device of one rank, and keeps
/// them for runs.
core::Exit tune(TuneArguments const& arguments, int& argc, char**& argv);

struct ListArguments {
  std::string what = "workloads";  ///< workloads | variants | transports | metrics | faults
  bool json = false;
};
core::Exit list(ListArguments const& arguments);

core::Exit explain(std::string const& name);

struct ReportArguments {
  std::vector<std::string> files;
  std::string format = "table";  ///< table | markdown | csv | json
};
core::Exit report(ReportArguments const& arguments);

struct CompareArguments {
  std::vector<std::string> files;  ///< of the base runs, then of the new one
  std::string margin = "1%";
  std::string junit;  ///< file to write; "": none
  bool json = false;
  bool gate = false;
  bool details = false;
};
/// Exit::nothing_executed without a baseline; with `gate` Exit::regression where something is slower
/// or broken.
core::Exit compare(CompareArguments const& arguments);

}  // namespace quadrille::commands
