// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace quadrille::report {
namespace {

using Json = nlohmann::ordered_json;
using measure::Outcome;
using measure::Record;

/// The numbers of a record that are shown: a wrong result has no speed, and what is not finite is
/// missing.
struct Shown {
  explicit Shown(Record const& record) : r{record} {}
  Record const& r;
  bool fast = r.outcome == Outcome::pass && r.time.n > 0;

  static std::optional<double> finite(std::optional<double> value) {
    return value && std::isfinite(*value) ? value : std::nullopt;
  }
  std::optional<double> speed(std::optional<double> value) const {
    return fast ? finite(value) : std::nullopt;
  }
  std::optional<double> checked(double value) const {
    bool const was = r.outcome == Outcome::pass || r.outcome == Outcome::fail;
    return was ? finite(value) : std::nullopt;
  }
  std::optional<double> leg(double measure::LegSummary::*member) const {
    if (r.outcome != Outcome::pass || !r.leg_summary) return std::nullopt;
    return finite((*r.leg_summary).*member);
  }
};

struct LegColumn {
  std::string_view name;
  double measure::LegSummary::*member;
};
constexpr LegColumn kLegColumns[] = {
    {"compute_s", &measure::LegSummary::compute_s},
    {"communicate_s", &measure::LegSummary::communicate_s},
    {"serial_s", &measure::LegSummary::serial_s},
    {"overlapped_s", &measure::LegSummary::overlapped_s},
    {"hidden", &measure::LegSummary::hidden},
    {"slowdown_compute", &measure::LegSummary::slowdown_compute},
    {"slowdown_communicate", &measure::LegSummary::slowdown_communicate},
};

Json json(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }
Json json(std::string const& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json json(std::vector<std::pair<std::string, std::string>> const& facts) {
  Json object = Json::object();
  for (auto const& [name, value] : facts) object[name] = value;
  return object;
}

/// Negative is unknown.
Json json(int value) { return value < 0 ? Json(nullptr) : Json(value); }
Json json(std::int64_t value) { return value; }

Json rank_json(comm::Placement const& rank) {
  Json object = Json::object();
  visit_members(rank, [&](char const* name, auto const& member) { object[name] = json(member); });
  return object;
}

Json run_json(measure::RunInfo const& info) {
  Json ranks = Json::array();
  for (comm::Placement const& rank : info.ranks) ranks.push_back(rank_json(rank));
  return {{"run_id", info.run_id},
          {"started", json(info.started)},
          {"finished", json(info.finished)},
          {"status", json(info.status)},
          {"config", info.config},
          {"build", json(info.build)},
          {"environment", json(info.environment)},
          {"ranks", ranks},
          {"events", info.events}};
}

Json case_json(Record const& r) {
  Shown const shown{r};
  Json legs = nullptr;
  if (r.outcome == Outcome::pass && r.leg_summary) {
    legs = Json::object();
    for (LegColumn const& leg : kLegColumns)
      legs[std::string{leg.name}] = json(shown.leg(leg.member));
  }
  Json published = nullptr;
  if (r.published > 0) {
    published = {{"rate", r.published}, {"device", r.published_on}, {"source", r.source}};
  }
  Json extras = Json::array();
  for (measure::Extra const& extra : r.extras) {
    extras.push_back({{"name", extra.name},
                      {"rate", json(shown.speed(rate_of(extra, r)))},
                      {"unit", extra.unit}});
  }
  return {{"id", r.id},
          {"workload", r.workload},
          {"type", r.type},
          {"size", r.size},
          {"variant", r.variant},
          {"backend", json(r.backend)},
          {"transport", json(r.transport)},
          {"ranks", r.ranks},
          {"grid", json(r.grid)},
          {"device", json(r.device)},
          {"verdict", core::to_text(r.outcome)},
          {"reason", json(r.reason)},
          {"suspect", r.suspect},
          {"samples", r.time.n},
          {"median_s", json(shown.speed(r.time.median))},
          {"min_s", json(shown.speed(r.time.min))},
          {"rate", json(shown.speed(r.rate))},
          {"unit", json(r.unit)},
          {"percent_of_peak", json(shown.speed(percent_of_peak(r)))},
          {"ratio_to_vendor", json(shown.speed(r.ratio_to_vendor))},
          {"ratio_to_copy", json(shown.speed(r.ratio_to_copy))},
          {"error", json(shown.checked(r.check.error))},
          {"bound", json(shown.checked(r.check.bound))},
          {"digest", r.check.digest.empty() ? Json{} : Json(r.check.digest)},
          {"published", published},
          {"legs", legs},
          {"modelled_link", r.modelled_link},
          {"extras", extras},
          {"kernels", r.kernels}};
}

/// Fields with a comma, a quote or a line end are quoted, quotes doubled.
std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string{text};
  std::string quoted = "\"";
  for (char const c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

using CsvRow = std::vector<std::pair<std::string_view, std::string>>;

/// Names and values together, so that a column cannot get another's title.
CsvRow csv_row(std::string const& run_id, Record const& r) {
  Shown const shown{r};
  auto const number = [](std::optional<double> value) {
    return value ? fmt::format("{}", *value) : "";
  };
  auto const speed = [&](std::optional<double> value) { return number(shown.speed(value)); };
  CsvRow row{{"run_id", run_id},
             {"id", r.id},
             {"case", r.name},
             {"workload", r.workload},
             {"type", r.type},
             {"size", fmt::format("{}", fmt::join(r.size, "x"))},
             {"variant", r.variant},
             {"backend", r.backend},
             {"transport", r.transport},
             {"ranks", fmt::format("{}", r.ranks)},
             {"grid", r.grid},
             {"device", r.device},
             {"verdict", std::string{core::to_text(r.outcome)}},
             {"reason", r.reason},
             {"suspect", fmt::format("{}", fmt::join(r.suspect, "; "))},
             {"modelled_link", r.modelled_link ? "1" : "0"},
             {"samples", fmt::format("{}", r.time.n)},
             {"median_s", speed(r.time.median)},
             {"median_low_s", speed(r.time.median_low)},
             {"median_high_s", speed(r.time.median_high)},
             {"min_s", speed(r.time.min)},
             {"p95_s", speed(r.time.p95)},
             {"max_s", speed(r.time.max)},
             {"first_use_s", speed(r.first_use_s)},
             {"imbalance", speed(r.imbalance)},
             {"slowest_rank", shown.fast ? fmt::format("{}", r.slowest_rank) : ""},
             {"rate", speed(r.rate)},
             {"unit", r.unit},
             {"percent_of_peak", speed(percent_of_peak(r))},
             {"ratio_to_vendor", speed(r.ratio_to_vendor)},
             {"ratio_to_vendor_low", speed(r.ratio_to_vendor_low)},
             {"ratio_to_vendor_high", speed(r.ratio_to_vendor_high)},
             {"ratio_to_copy", speed(r.ratio_to_copy)},
             {"published_rate", r.published > 0 ? fmt::format("{}", r.published) : ""},
             {"published_on", r.published_on},
             {"error", number(shown.checked(r.check.error))},
             {"bound", number(shown.checked(r.check.bound))},
             {"wrong_count", fmt::format("{}", r.check.wrong)},
             {"first_wrong", r.check.first_wrong}};
  for (LegColumn const& leg : kLegColumns)
    row.emplace_back(leg.name, number(shown.leg(leg.member)));
  return row;
}

}  // namespace

std::string render_csv(measure::RunResult const& result) {
  std::vector<std::string> fields;
  for (auto const& [name, value] : csv_row("", {})) fields.emplace_back(name);
  std::string text = fmt::format("{}\n", fmt::join(fields, ","));
  for (Record const& record : result.records) {
    fields.clear();
    for (auto const& [name, value] : csv_row(result.info.run_id, record)) {
      fields.push_back(csv_field(value));
    }
    text += fmt::format("{}\n", fmt::join(fields, ","));
  }
  return text;
}

std::string render_json(measure::RunResult const& result) {
  Json cases = Json::array();
  for (Record const& record : result.records) cases.push_back(case_json(record));
  Json const all{{"run", run_json(result.info)}, {"cases", cases}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace quadrille::report
