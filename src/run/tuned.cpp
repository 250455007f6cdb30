// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "run/tuned.hpp"

#include "common/kernel_sources.hpp"
#include "core/config.hpp"
#include "core/files.hpp"
#include "core/user_cache.hpp"
#include "io/whole_file.hpp"
#include "measure/selection.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <sstream>

namespace quadrille::run {
namespace {

measure::TunedTable parsed(std::string_view text, std::string const& origin) {
  core::Parsed<measure::TunedTable> const table = measure::TunedTable::parse(text, origin);
  if (!table) {
    core::fail(fmt::format("{}; mend or delete this file, or set run.tuned = \"off\"", table.why()),
               core::Exit::bad_config);
  }
  return *table;
}

measure::TunedTable all_tables() {
  measure::TunedTable table = parsed(kernels::shipped_tuning(), "the table of this program");
  measure::TunedTable const users = read_table(user_table_path());
  for (measure::TunedEntry const& entry : users.entries()) table.put(entry);
  return table;
}

/// Why this rank cannot run an entry; empty where it can.
std::string unusable_reason(comm::Machine const& machine, core::Case const& spec,
                            measure::WorkloadEntry const& entry, std::string const& config) {
  core::Case tried = spec;
  tried.config = config;
  auto const workload = entry.make(tried, machine.size(), machine.rank());
  std::string const name = core::configurations_of(tried).front().variant;
  std::vector<std::string> const reasons =
      measure::unsupported_reasons(*workload, entry, tried, machine.device());
  std::string reason = "is no variant of this program";
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    kernels::VariantInfo const& row = *entry.variants[i];
    if (row.name == name && row.runs_on(machine.device().kind())) reason = reasons[i];
  }
  return reason;
}

}  // namespace

std::string user_table_path() {
  std::string const folder = core::user_cache();
  return folder.empty() ? "" : folder + "/tuned.toml";
}

measure::TunedTable read_table(std::string const& path) {
  // A device or a pipe, to which a table may be written, has none to read.
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return {};
  core::Parsed<std::string> const text = core::read_file(path, core::kMaxConfigBytes);
  if (text) return parsed(*text, path);
  core::fail(
      fmt::format("{}: cannot be read: {}; allow it, or set run.tuned = \"off\"", path, text.why()),
      core::Exit::bad_config);
}

std::string tuned_config(comm::Machine const& machine, core::Case const& spec,
                         measure::WorkloadEntry const& entry) {
  std::optional<measure::TuningClass> of =
      entry.make(spec, machine.size(), machine.rank())->tuning_class();
  if (!of) return "auto";
  of->device = machine.device().facts().name;
  std::string names;  // one a line
  if (machine.rank() == 0) {
    for (measure::TunedEntry const& found : all_tables().find(*of)) {
      names +=
          found.variant + (found.configuration.empty() ? "" : " ") + found.configuration + '\n';
    }
  }
  machine.broadcast(names);
  std::string config;
  std::istringstream lines{names};
  for (std::string line; std::getline(lines, line);) {
    bool const is_usable =
        core::parse_configurations(line) && unusable_reason(machine, spec, entry, line).empty();
    if (machine.min(is_usable ? 1 : 0) < 1) continue;
    config += (config.empty() ? "" : "; ") + line;
  }
  return config.empty() ? "auto" : config;
}

measure::BestMemory memory_of_best() {
  return {.recall =
              [](measure::TuningClass const& of) {
                auto const found = all_tables().find(of);
                return found.empty() ? std::string{} : found.front().variant;
              },
          .keep =
              [](measure::TunedEntry entry) {
                std::filesystem::path const path = user_table_path();
                std::error_code error;
                if (path.empty()) return;
                std::filesystem::create_directories(path.parent_path(), error);
                bool const is_other = std::filesystem::exists(path, error) &&
                                      !std::filesystem::is_regular_file(path, error);
                if (is_other || !io::unwritable_reason(path, "").empty()) return;
                measure::TunedTable table = read_table(path);
                table.put_problem(std::move(entry));
                [[maybe_unused]] std::string const why =
                    io::replace_whole_file(path, table.to_toml());
              }};
}

}  // namespace quadrille::run
