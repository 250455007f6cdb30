// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "run/rerun.hpp"

#include "core/former_names.hpp"
#include "core/text.hpp"
#include "io/result_file.hpp"
#include "report/compare.hpp"
#include "report/open.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace quadrille::run {
namespace {

using measure::Record;
using measure::RunResult;

/// The measurement, or those of the case, that has this name.
std::vector<Record const*> records_of(RunResult const& result, std::string_view id) {
  std::vector<Record const*> found;
  for (Record const& record : result.records) {
    if (record.id == id || record.name == id) found.push_back(&record);
  }
  return found;
}

/// A case as it ran: what its records say, or where it has none, as the run was configured.
core::Parsed<core::Case> case_of(std::string const& config, std::string const& origin) {
  auto const read = core::resolve(config, origin, {}, workloads::name_table());
  return read ? core::Parsed{read->cases.front()} : core::Parsed<core::Case>::error(read.why());
}

core::Parsed<std::string> nothing_called(RunResult const& result, std::string const& id) {
  std::vector<std::string> names;
  for (Record const& record : result.records) {
    names.push_back(record.id);
    names.push_back(record.name);
  }
  return core::Parsed<std::string>::error(
      fmt::format("--case: no measurement or case of this result is called '{}'{}; `quadrille "
                  "report --csv` lists them as id and case",
                  id, core::suggestion(id, names)));
}

}  // namespace

core::Parsed<std::string> earlier_config(std::string const& path, std::string const& called) {
  using Result = core::Parsed<std::string>;
  std::string const id = core::with_present_id(called);
  core::Parsed<RunResult> const result = io::read_result(path);
  if (!result) return Result::error(result.why());
  std::string const origin = "configuration of " + path;
  auto const resolved = core::resolve(result->info.config, origin, {}, workloads::name_table());
  if (!resolved) return Result::error(resolved.why());
  core::Config config{.run = resolved->run, .cases = {}};

  if (!id.empty()) {
    std::vector<Record const*> const records = records_of(*result, id);
    if (records.empty()) return nothing_called(*result, id);
    core::Parsed<core::Case> const spec = case_of(records.front()->config, origin);
    if (!spec) return Result::error(spec.why());
    config.cases.push_back(*spec);
    bool const is_measurement = records.front()->id == id;
    if (is_measurement) config.cases.front().variants = {records.front()->variant};
    return core::to_toml(config);
  }

  for (core::Case const& wanted : resolved->cases) {
    // transport = "all" stays: what could not serve a case is reported, and ends a run that names it.
    bool const is_expanded = wanted.transport == "all";
    auto const record = std::ranges::find_if(result->records, [&](Record const& one) {
      return one.name == wanted.name ||
             (is_expanded && one.name == fmt::format("{}.{}", wanted.name, one.transport));
    });
    if (record == result->records.end()) {
      config.cases.push_back(wanted);
      continue;
    }
    core::Parsed<core::Case> const spec = case_of(record->config, origin);
    if (!spec) return Result::error(spec.why());
    core::Case& again = config.cases.emplace_back(*spec);
    again.name = wanted.name;
    if (is_expanded) again.transport = wanted.transport;
  }
  return core::to_toml(config);
}

std::string render_changes(std::string const& path, measure::RunInfo const& now) {
  core::Parsed<RunResult> const result = report::open_result(path);
  if (!result) return {};
  measure::RunInfo const& was = result->info;
  std::string text =
      fmt::format("rerun of {}, which started at {} ({})\n", was.run_id, was.started, was.status);
  std::vector<report::Difference> const changes =
      report::environment_differences(std::span{&*result, 1}, now);
  auto const shown = [](std::string const& value) { return value.empty() ? "none" : value; };
  text += changes.empty()
              ? "commit, libraries, driver, devices, ranks and environment are as they were\n"
              : "what differs now, then -> now:\n";
  for (report::Difference const& change : changes) {
    text += fmt::format("  {}: {} -> {}\n", change.what, shown(change.base), shown(change.now));
  }
  if (was.ranks.size() != now.ranks.size()) {
    text += fmt::format("to repeat it as it was, start {} ranks\n", was.ranks.size());
  }
  for (std::string const& event : was.events) text += fmt::format("then: {}\n", event);
  return core::printable(text);
}

}  // namespace quadrille::run
