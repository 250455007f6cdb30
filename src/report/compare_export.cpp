// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/columns.hpp"
#include "report/compare.hpp"
#include "report/glossary.hpp"
#include "report/html.hpp"
#include "report/json.hpp"
#include "report/junit.hpp"
#include "report/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace quadrille::report {
namespace {

using measure::Outcome;
using measure::Record;

constexpr int kSchemaVersion = 1;

Json number(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json json(std::vector<Difference> const& differences) {
  Json list = Json::array();
  for (Difference const& one : differences) {
    list.push_back({{"what", one.what}, {"base", one.base}, {"new", one.now}});
  }
  return list;
}

Json json(measure::RunInfo const& info) {
  return {{"run_id", info.run_id},
          {"started", text_json(info.started)},
          {"status", text_json(info.status)}};
}

/// One side of a measurement.
Json json(Record const& record) {
  return {{"id", record.id},
          {"verdict", core::to_text(record.outcome)},
          {"samples", record.time.n},
          {"median_s", has_speed(record) ? number(record.time.median) : Json(nullptr)},
          {"suspect", record.suspect}};
}

Json json(Finding const& finding) {
  Record const& record = finding.record();
  Json base = Json::array();
  for (Record const* one : finding.base) base.push_back(json(*one));
  auto const of_ratio = [&](double core::MedianRatio::*member) {
    return finding.ratio ? number((*finding.ratio).*member) : Json(nullptr);
  };
  return {{"change", core::to_text(finding.change)},
          {"id", record.id},
          {"workload", record.workload},
          {"type", record.type},
          {"size", record.size},
          {"variant", record.variant},
          {"transport", text_json(record.transport)},
          {"ranks", record.ranks},
          {"grid", text_json(record.grid)},
          {"modelled_link", record.modelled_link},
          {"ratio", of_ratio(&core::MedianRatio::value)},
          {"ratio_low", of_ratio(&core::MedianRatio::low)},
          {"ratio_high", of_ratio(&core::MedianRatio::high)},
          {"margin", finding.margin},
          {"reason", text_json(finding.reason)},
          {"base", base},
          {"new", finding.now == nullptr ? Json(nullptr) : json(*finding.now)},
          {"differences", json(finding.differences)}};
}

JunitCase::Ending ending_of(Change change) {
  using Ending = JunitCase::Ending;
  switch (change) {
    case Change::broken:
    case Change::slower: return Ending::failure;
    case Change::no_speed:
    case Change::refused:
    case Change::only_in_base:
    case Change::only_in_new: return Ending::skipped;
    default: return Ending::passed;
  }
}

std::string message_of(Finding const& finding) {
  std::vector<std::string> parts{std::string{core::to_text(finding.change)}};
  if (finding.ratio) {
    parts.push_back(fmt::format("new / base {:.4f}", finding.ratio->value));
    if (finding.ratio->has_interval()) {
      parts.back() +=
          fmt::format(", 95 % interval [{:.4f}, {:.4f}]", finding.ratio->low, finding.ratio->high);
    }
  }
  if (!finding.reason.empty()) parts.push_back(finding.reason);
  for (Difference const& one : finding.differences) {
    parts.push_back(fmt::format("{}: {} -> {}", one.what, one.base, one.now));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

Json comparison_json(Comparison const& comparison) {
  Json counts = Json::object(), base = Json::array(), findings = Json::array();
  for (auto const& [change, word] : enum_names(Change{})) {
    counts[std::string{word}] = comparison.count(change);
  }
  for (measure::RunInfo const* info : comparison.base) base.push_back(json(*info));
  for (Finding const& finding : comparison.findings) findings.push_back(json(finding));
  return {{"schema", "quadrille-compare"},
          {"schema_version", kSchemaVersion},
          {"base", base},
          {"new", json(*comparison.now)},
          {"margin", comparison.margin},
          {"regression", comparison.is_regression()},
          {"undecided", comparison.is_undecided()},
          {"counts", counts},
          {"measurements", findings},
          {"environment", json(comparison.environment)}};
}

/// Who ran where, of a page.
Json page_run_json(measure::RunInfo const& info) {
  Json run = run_json(info);
  for (char const* const unused : {"config", "environment", "events"}) run.erase(unused);
  return run;
}

}  // namespace

std::string render_json(Comparison const& comparison) {
  return comparison_json(comparison).dump(2, ' ', true, Json::error_handler_t::replace);
}

std::string render_html(Comparison const& comparison) {
  Json all = comparison_json(comparison);
  all["comparable"] = comparison.is_comparable();
  all["new"] = page_run_json(*comparison.now);
  for (std::size_t i = 0; i < comparison.base.size(); ++i) {
    all["base"][i] = page_run_json(*comparison.base[i]);
  }
  for (auto const& [change, word] : enum_names(Change{})) {
    all["meanings"][std::string{word}] = meaning_of("comparison", word);
  }
  for (std::size_t i = 0; i < comparison.findings.size(); ++i) {
    Finding const& finding = comparison.findings[i];
    Json& to = all["measurements"][i];
    // The median time of the base, of several that which the ratio is to.
    to["base_s"] = finding.ratio ? number(finding.ratio->base) : Json(nullptr);
    to["settings"] = facts_json(settings_of(finding.record()));
  }
  return make_page(comparison_script(), all);
}

std::string render_junit(Comparison const& comparison) {
  std::vector<std::pair<std::string, std::string>> differing;
  for (Difference const& one : comparison.environment) {
    differing.emplace_back(one.what, fmt::format("{} -> {}", one.base, one.now));
  }
  std::vector<JunitCase> cases;
  for (Finding const& finding : comparison.findings) {
    Record const& record = finding.record();
    cases.push_back({.workload = record.workload,
                     .name = record.id,
                     .ending = ending_of(finding.change),
                     .type = core::to_text(finding.change),
                     .message = message_of(finding)});
    if (finding.now != nullptr && has_speed(record)) cases.back().seconds = record.time.median;
  }
  return write_junit("quadrille compare", differing, cases);
}

}  // namespace quadrille::report
