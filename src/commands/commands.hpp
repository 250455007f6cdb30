// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.hpp"

#include <cstdint>
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

struct SlurmArguments {
  int nodes = 1;
  int gpus_per_node = 0;
  int ranks_per_node = 0;  ///< 0: one per GPU
  int cpus_per_rank = 0;   ///< 0: an even share of the node's
  std::string time = "1h";
  std::string partition, account;
  std::string name = "quadrille";
  std::string mpi = "pmix";  ///< one of "srun --mpi=list"
  std::vector<std::string> modules;
  std::string container;              ///< an image that holds the program; "": none
  std::string runtime = "apptainer";  ///< apptainer | pyxis
  std::string program;                ///< "": this one, in a container "quadrille"
  std::string input = "inputs/quickstart.toml";
  std::vector<std::string> sets;
};
/// Prints a job script for Slurm.
core::Exit slurm(SlurmArguments const& arguments);

struct ListArguments {
  std::string what =
      "workloads";  ///< workloads | variants | inputs | transports | metrics | faults
  bool json = false;
  bool here = false;  ///< of inputs, those for the devices of this machine, for scripts
};
core::Exit list(ListArguments const& arguments);

/// Without a name: what there is to be explained.
core::Exit explain(std::string const& name);

struct ReportArguments {
  std::vector<std::string> files;
  std::string format = "table";  ///< table | details | markdown | csv | json | ladder
  std::string html;              ///< file to write in place of printing; "": none
  bool scaling = false;          ///< join results of different numbers of ranks
};
core::Exit report(ReportArguments const& arguments);

struct PredictArguments {
  std::vector<std::string> files;  ///< the run to predict from, then runs to check against
  std::string ranks;               ///< a sweep
  std::int64_t ranks_per_node = 0;
  std::string between_nodes;  ///< "RATE, LATENCY"; "": as within a node
  bool weak = false;
};
/// Exit::nothing_executed where the result has nothing to predict from, Exit::bad_config where none of
/// the rank counts can do what it has.
core::Exit predict(PredictArguments const& arguments);

struct CompareArguments {
  std::vector<std::string> files;  ///< of the base runs, then of the new one
  std::string margin = "1%";
  std::string junit, html;  ///< files to write; "": none
  bool json = false;
  bool gate = false;
  bool details = false;
};
/// Exit::nothing_executed without a baseline, Exit::undecided where of nothing can be said whether it
/// changed; with `gate` Exit::regression where something is slower
/// or broken.
core::Exit compare(CompareArguments const& arguments);

}  // namespace quadrille::commands
