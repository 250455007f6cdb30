// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "run/resume.hpp"

#include "comm/job_guard.hpp"
#include "core/config.hpp"
#include "io/result_file.hpp"
#include "report/compare.hpp"
#include "report/open.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <sstream>

namespace quadrille::run {
namespace {

namespace fs = std::filesystem;

std::string differs(std::string_view what, std::string_view was, std::string_view is) {
  return fmt::format("{} was '{}' and is '{}' now", what, was, is);
}

/// The next line of a resolved configuration that sets a key.
std::string next_setting(std::istream& text) {
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && line.front() != '[') return line;
  }
  return "no further case";
}

/// The first settings by which two resolved configurations differ, and whose they are.
std::string differing_setting(std::string const& was, std::string const& is) {
  std::istringstream before{was}, now{is};
  std::string section = "[run]";
  while (before || now) {
    std::string const old_line = next_setting(before), new_line = next_setting(now);
    bool const is_case = old_line.starts_with("name = ");
    if (old_line != new_line) return differs(is_case ? "a case" : section, old_line, new_line);
    if (is_case) section = "case " + old_line.substr(old_line.find('"'));
  }
  return "the configuration is written in another way";
}

/// The first thing by which the ranks, devices, builds or configurations of two runs differ; empty
/// where they do not.
std::string difference(measure::RunInfo const& was, measure::RunInfo const& is) {
  if (was.ranks.size() != is.ranks.size()) {
    return differs("the number of ranks", std::to_string(was.ranks.size()),
                   std::to_string(is.ranks.size()));
  }
  for (std::size_t i = 0; i < is.ranks.size(); ++i) {
    comm::Placement const &before = was.ranks[i], &now = is.ranks[i];
    auto const of_rank = [&](std::string_view what, auto const& old_value, auto const& new_value) {
      return differs(fmt::format("the {} of rank {}", what, i), fmt::to_string(old_value),
                     fmt::to_string(new_value));
    };
    if (before.device != now.device) return of_rank("device", before.device, now.device);
    if (before.threads != now.threads) {
      return of_rank("number of threads", before.threads, now.threads);
    }
    // As many ranks on each node, whichever.
    if (before.local_rank != now.local_rank) {
      return of_rank("local rank", before.local_rank, now.local_rank);
    }
  }
  for (auto const& [name, value] : is.build) {
    auto const old =
        std::ranges::find(was.build, name, [](auto const& fact) { return fact.first; });
    std::string const& old_value = old == was.build.end() ? "" : old->second;
    if (old_value != value) return differs(name, old_value, value);
  }
  return was.config == is.config ? "" : differing_setting(was.config, is.config);
}

/// Removes what the cases that run now will write, and the result of the run so far, which is in its
/// journal too. Empty, or the first file that stays.
std::string remove_unfinished(fs::path const& directory, std::vector<std::string> const& finished) {
  std::error_code error;
  std::vector<fs::path> unfinished;
  for (auto const& entry : fs::directory_iterator{directory, error}) {
    std::string const name = entry.path().filename().string();
    bool const is_of_end =
        name.starts_with("result.h5") || name.starts_with(comm::JobGuard::kTicket);
    if (is_of_end) unfinished.push_back(entry);
  }
  for (auto const& entry : fs::directory_iterator{directory / "fields", error}) {
    bool const is_finished =
        std::ranges::find(finished, entry.path().stem().string()) != finished.end();
    if (!is_finished) unfinished.push_back(entry);
  }
  for (fs::path const& path : unfinished) {
    fs::remove(path, error);
    if (error) return fmt::format("'{}' cannot be removed: {}", path.string(), error.message());
  }
  return {};
}

/// On rank 0.
std::string reopen(fs::path const& output, std::string const& id, RunStart& start) {
  core::Parsed<fs::path> const directory = find_run(output, id);
  if (!directory) return directory.why();
  start.directory = *directory;
  if (start.directory.empty()) return fmt::format("'{}' holds no run", output.string());
  std::string const path = (start.directory / "result.jsonl").string();
  if (std::string why = start.journal.reopen(path); !why.empty()) return why;
  std::string const now = start.result.info.started;
  if (std::string why = start.lock.take(start.directory, now); !why.empty()) return why;
  core::Parsed<io::FinishedCases> const kept = io::read_finished_cases(path);
  if (!kept) return kept.why();
  measure::RunResult run = kept->result;
  report::read_cases(run);
  measure::RunInfo earlier = run.info;
  // With the defaults of keys that it did not have yet.
  auto const config = core::resolve(earlier.config, path, {}, workloads::name_table());
  if (config) earlier.config = core::to_toml(*config);
  if (std::string const what = difference(earlier, start.result.info); !what.empty()) {
    return fmt::format("'{}' cannot go on: {}; give what it had, or start another run",
                       start.directory.string(), what);
  }
  // Other nodes, CPUs, GPUs of the same model, variables: rates may differ, and the header is of before.
  std::vector<report::Difference> const changes =
      report::environment_differences(std::span{&run, 1}, start.result.info);
  start.result = std::move(run);
  bool const has_ended = earlier.status == "finished";
  bool const has_result = has_ended && fs::exists(start.directory / "result.h5");
  std::string why =
      has_result ? "" : remove_unfinished(start.directory, start.result.finished_cases);
  if (has_ended || !why.empty()) return why;

  start.journal.truncate(kept->bytes);
  measure::RunInfo& info = start.result.info;
  info.status = "running";
  info.finished = "";
  info.events.push_back(fmt::format("resumed at {}, behind {} finished cases", now,
                                    start.result.finished_cases.size()));
  for (report::Difference const& change : changes) {
    info.events.push_back(fmt::format("cases since {}: {} was '{}' and is '{}'", now, change.what,
                                      change.base, change.now));
  }
  return {};
}

}  // namespace

std::string resume(comm::World const& world, std::string const& output, std::string const& id,
                   RunStart& start) {
  std::string why, directory;
  if (world.rank() == 0) {
    why = reopen(output, id, start);
    directory = start.directory.string();
  }
  world.group().broadcast(why);
  world.group().broadcast(directory);
  start.directory = directory;
  return why.empty() ? why : "--resume: " + why;
}

}  // namespace quadrille::run
