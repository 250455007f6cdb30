// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "run/measure_all.hpp"

#include "device/profiler_range.hpp"
#include "io/field_file.hpp"
#include "io/json.hpp"
#include "io/whole_file.hpp"
#include "report/junit.hpp"
#include "run/case_loop.hpp"
#include "run/output.hpp"
#include "run/resume.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <random>

namespace quadrille::run {
namespace {

namespace fs = std::filesystem;

/// Time, job and chance: unique without asking anybody.
std::string unique_id() {
  std::string id = now_utc();
  std::erase_if(id, [](char c) { return c == ':' || c == '-'; });
  if (char const* const job = std::getenv("SLURM_JOB_ID")) id += fmt::format("-job{}", job);
  return fmt::format("{}-{:04x}", id, std::random_device{}() & 0xffff);
}

/// Collective. Says in the file of JUnit's, if any, that the run has not ended: whatever ends it, no
/// earlier file passes for its own. Of a pipe that would be a second document. Empty, or why not.
std::string begin_junit(comm::World const& world, std::string const& path,
                        measure::RunResult const& result) {
  std::string why;
  std::error_code none;
  bool const is_file = fs::is_regular_file(path, none) || !fs::exists(path, none);
  if (world.rank() == 0 && !path.empty() && is_file) {
    why = io::replace_whole_file(path, report::render_junit(result));
  }
  world.group().broadcast(why);
  return why.empty() ? why : "--junit: " + why;
}

}  // namespace

core::Exit measure_all(comm::World& world, core::Config const& config, Plan& plan,
                       Destination const& destination, measure::RunInfo const& about,
                       measure::Fault fault) {
  device::ProfilerRange const range{"run"};
  world.enter_phase("open the result", config.run.timeout.init_s);
  std::string id = destination.run_id.empty() ? unique_id() : destination.run_id;
  world.group().broadcast(id);
  RunStart start{.directory = fs::path{config.run.output} / id};
  start.result.info = about;
  start.result.info.run_id = id;
  bool const shares_files = std::ranges::any_of(plan.cases, [](Planned const& planned) {
    return planned.entry->shares_files || (planned.spec.save && io::writes_fields_together());
  });
  if (destination.resume.empty()) {
    std::string const why = make_directory(world, start, destination.force, shares_files);
    if (!why.empty()) return refuse(world, why, core::Exit::environment);
  } else {
    std::string const why = config.run.duration_s > 0
                                ? "--resume: a burn-in (--duration) begins anew"
                                : resume(world, config.run.output, destination.resume, start);
    if (!why.empty()) return refuse(world, why, core::Exit::bad_config);
    std::string const unshared = shares_files ? unshared_problem(world, start) : "";
    if (!unshared.empty()) return refuse(world, unshared, core::Exit::environment);
  }
  Output out{world.rank() == 0, start.directory / "log.txt", destination.quiet};
  if (world.group().agree(!out.problem().empty()) >= 0) return core::Exit::environment;
  if (std::string const lost = begin_junit(world, destination.junit, start.result); !lost.empty()) {
    return refuse(world, lost, core::Exit::environment);
  }
  measure::RunInfo& info = start.result.info;
  if (!start.lock.warning().empty()) info.events.push_back(start.lock.warning());
  // Of a run that has ended nothing is left to be measured, and its journal stays as it is.
  bool const has_ended = info.status == "finished";
  if (world.group().agree(has_ended) < 0) {
    std::vector<comm::TransportTime> const times =
        choose_transports(world, plan, info.transport_times);
    world.enter_phase("open the result", config.run.timeout.init_s);
    if (world.rank() == 0) {
      if (destination.resume.empty()) {
        start.journal = io::Journal{(start.directory / "result.jsonl").string()};
        std::string const why =
            io::write_whole_file((start.directory / "config.toml").string(), info.config);
        if (!why.empty()) core::fail(why);
      } else if (times != info.transport_times) {
        info.events.emplace_back("transports were measured for the cases that were left");
      }
      info.transport_times = times;
      start.journal.append(io::to_json_line(info));
    }
  }
  return run_cases(world, config, plan.cases, fault, destination, start, out);
}

}  // namespace quadrille::run
