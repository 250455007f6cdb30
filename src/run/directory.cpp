// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "run/directory.hpp"

#include "comm/job_guard.hpp"
#include "core/text.hpp"
#include "io/result_file.hpp"
#include "io/trace_file.hpp"
#include "io/whole_file.hpp"
#include "report/junit.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

namespace quadrille::run {
namespace {

namespace fs = std::filesystem;

// Another node may look at a directory as it was some time ago.
constexpr std::chrono::seconds kVisible{5};

constexpr std::array<std::string_view, 4> kFiles{"result.h5", "result.jsonl", "config.toml",
                                                 "log.txt"};
constexpr std::string_view kFields = "fields";

/// The files of an earlier run, whole, and as a killed one had begun them.
std::vector<fs::path> files_of_run(fs::path const& directory) {
  std::error_code none;
  std::vector<fs::path> found;
  for (auto const& entry : fs::directory_iterator{directory, none}) {
    std::string const name = entry.path().filename().string();
    bool const is_ours = name.starts_with(comm::JobGuard::kTicket) ||
                         std::ranges::any_of(kFiles, [&](std::string_view file) {
                           return name == file || name.starts_with(std::string{file} + ".tmp");
                         });
    if (is_ours) found.push_back(entry);
  }
  for (auto const& entry : fs::directory_iterator{directory / kFields, none}) {
    if (entry.path().filename().string().find(".h5") != std::string::npos) found.push_back(entry);
  }
  return found;
}

/// Removes all files of an earlier run. Empty, or a file that cannot be removed; then all of them stay.
std::string remove_run(fs::path const& directory) {
  // What can be renamed can be removed; else the names are given back.
  auto const renamed = [](fs::path path) { return path += ".tmp-removed"; };
  std::vector<fs::path> const files = files_of_run(directory);
  std::error_code error, none;
  std::size_t count = 0;
  for (; count < files.size() && !error; ++count) {
    fs::path const& file = files[count];
    // No run makes a folder of such a name.
    if (fs::is_directory(fs::symlink_status(file, none))) {
      error = std::make_error_code(std::errc::is_a_directory);
    } else {
      fs::rename(file, renamed(file), error);
    }
  }
  if (!error) {
    for (fs::path const& file : files) fs::remove(renamed(file), none);
    return {};
  }
  fs::path const& refused = files[--count];
  while (count-- > 0) fs::rename(renamed(files[count]), files[count], none);
  return fmt::format("--force: '{}' cannot be removed: {}", refused.string(), error.message());
}

/// On rank 0. Whether the directory is new goes to `is_new`.
std::string lock_directory(RunStart& start, bool force, bool& is_new) {
  fs::path const& directory = start.directory;
  std::error_code error;
  is_new = !fs::exists(fs::symlink_status(directory, error));
  if (!is_new && !force) {
    return fmt::format(
        "'{}' exists already; choose another --run-id or run.output, or overwrite it with "
        "--force",
        directory.string());
  }
  fs::create_directories(directory / kFields, error);
  if (!error) return start.lock.take(directory, start.result.info.started);
  return fmt::format("cannot write to '{}' ({}); set run.output to a directory you can write to",
                     directory.string(), error.message());
}

/// Whether this rank sees the file that says who has a directory.
bool sees(fs::path const& directory, std::string const& owner) {
  auto const end = std::chrono::steady_clock::now() + kVisible;
  do {
    // Opened, a directory of a network is looked at again.
    std::error_code none;
    fs::directory_iterator const listing{directory, none};
    if (io::RunLock::read_owner(directory) == owner) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

/// Whether a path names one of the files that a run has in its directory.
bool is_file_of_run(fs::path const& path, fs::path const& directory) {
  std::error_code none;
  fs::path const place = fs::weakly_canonical(path, none);
  fs::path const home = fs::weakly_canonical(directory, none);
  bool const is_named = std::ranges::find(kFiles, place.filename().string()) != kFiles.end();
  return (place.parent_path() == home && is_named) || place.parent_path() == home / kFields;
}

}  // namespace

std::string now_utc() {
  auto const now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  std::time_t const time = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string name_problem(std::string_view option, std::string const& id) {
  auto const is_usual = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  if (id.empty()) return {};
  if (id.front() == '.' || id.front() == '-' || !std::ranges::all_of(id, is_usual)) {
    return fmt::format(
        "{} '{}': letters, digits, '-', '_' and '.', the first a letter, a digit or '_'", option,
        core::one_line(id));
  }
  bool const is_file = std::ranges::find(kFiles, id) != kFiles.end() || id == kFields;
  return is_file ? fmt::format("{} '{}': a file of each run is called so; choose another name",
                               option, id)
                 : "";
}

core::Parsed<fs::path> find_run(fs::path const& output, std::string const& id) {
  if (id == kLatestRun) return io::latest_run(output);
  return output / id;
}

std::string make_directory(comm::World const& world, RunStart& start, bool force,
                           bool shares_files) {
  bool const is_first = world.rank() == 0;
  bool is_new = false;
  std::string why;
  if (is_first) why = lock_directory(start, force, is_new);
  world.group().broadcast(why);
  if (why.empty() && shares_files) why = unshared_problem(world, start);
  if (is_first && why.empty()) why = remove_run(start.directory);
  if (is_first && !why.empty() && is_new) {
    // Nothing else is in it.
    std::error_code none;
    for (char const* const name : {".lock", "fields", ""}) fs::remove(start.directory / name, none);
  }
  world.group().broadcast(why);
  return why;
}

std::string unshared_problem(comm::World const& world, RunStart const& start) {
  std::string owner;
  if (world.rank() == 0) owner = io::RunLock::read_owner(start.directory);
  world.group().broadcast(owner);
  std::string why;
  std::string const place = fmt::format("rank {} on {}", world.rank(), world.placement().node);
  if (!sees(start.directory, owner)) {
    why = fmt::format(
        "{} does not see the files of rank 0 in '{}'; set run.output to a directory that all nodes "
        "share",
        place, start.directory.string());
  } else if (access(start.directory.c_str(), W_OK) != 0) {
    why = fmt::format("{} cannot write to '{}': {}", place, start.directory.string(),
                      std::strerror(errno));
  }
  int const first = world.group().agree(!why.empty());
  if (first < 0) return {};
  world.group().broadcast(why, first);
  return why;
}

namespace {

/// ... this file. An earlier one of its kind begins with `begin`, and may give way, or with --force.
std::string problem_of(std::string const& path, std::string_view begin, bool gives_way,
                       std::string const& output, Destination const& destination) {
  std::string const& id = destination.resume.empty() ? destination.run_id : destination.resume;
  core::Parsed<fs::path> const directory = find_run(output, id);
  if (io::is_standard_output(path)) return "standard output has the tables; name a file";
  if (!directory) return directory.why();
  if (!id.empty() && is_file_of_run(path, *directory)) {
    return fmt::format("'{}' is a file of this run; name another", path);
  }
  std::string const why =
      io::unwritable_reason(path, gives_way ? std::optional{begin} : std::nullopt);
  bool const needs_force = !why.empty() && io::unwritable_reason(path, begin).empty();
  return needs_force ? why + ", or overwrite it with --force" : why;
}

}  // namespace

std::string file_problem(comm::World const& world, std::string const& output,
                         Destination const& destination) {
  std::string why;
  if (world.rank() == 0) {
    auto const check = [&](std::string_view option, std::string const& path, std::string_view begin,
                           bool gives_way) {
      if (path.empty() || !why.empty()) return;
      why = problem_of(path, begin, gives_way, output, destination);
      if (!why.empty()) why = fmt::format("{}: {}", option, why);
    };
    check("--trace", destination.trace, io::kTraceBegin, destination.force);
    check("--junit", destination.junit, report::kJunitBegin, true);
    bool const are_both = !destination.trace.empty() && !destination.junit.empty();
    if (are_both && io::name_same_place(destination.trace, destination.junit)) {
      why = "--trace and --junit name one file; give each its own";
    }
  }
  world.group().broadcast(why);
  return why;
}

}  // namespace quadrille::run
