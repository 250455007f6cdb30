// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/open.hpp"

#include "core/config.hpp"
#include "io/result_file.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>

#include <array>
#include <map>

namespace quadrille::report {
namespace {

struct Found {
  std::shared_ptr<core::Case const> spec;
  std::string unreadable;
};

Found case_of(std::string const& config) {
  // The record says which variant it is; others of its case may be gone since.
  std::array<std::string, 1> const any_variant{"variant=best"};
  auto const read =
      core::resolve(config, "its configuration", any_variant, workloads::name_table(), true);
  if (!read) return {nullptr, read.why()};
  return {std::make_shared<core::Case>(read->cases.front()), {}};
}

}  // namespace

void read_cases(measure::RunResult& result) {
  std::map<std::string_view, Found> known;  // the variants of a case have one text
  for (measure::Record& record : result.records) {
    if (record.spec) continue;
    auto const [place, is_new] = known.try_emplace(record.config);
    if (is_new) place->second = case_of(record.config);
    Found const& found = place->second;
    record.unreadable = found.unreadable;
    if (!found.spec) continue;
    if (found.spec->workload->name == record.workload) {
      record.spec = found.spec;
    } else {
      record.unreadable = fmt::format("its configuration is one of {}", found.spec->workload->name);
    }
  }
  if (result.info.settings) return;
  auto const run =
      core::resolve(result.info.config, "resolved configuration", {}, workloads::name_table());
  if (run) result.info.settings = std::make_shared<core::RunSettings>(run->run);
}

core::Parsed<measure::RunResult> open_result(std::string const& path) {
  core::Parsed<measure::RunResult> const read = io::read_result(path);
  if (!read) return read;
  measure::RunResult result = *read;
  read_cases(result);
  return result;
}

}  // namespace quadrille::report
