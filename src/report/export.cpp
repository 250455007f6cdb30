// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/columns.hpp"
#include "report/json.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace quadrille::report {
namespace {

using measure::Record;

Json json(std::string const& text) { return text_json(text); }
/// Negative is unknown.
Json json(int value) { return value < 0 ? Json(nullptr) : Json(value); }
Json json(std::int64_t value) { return value; }
Json json(double value) { return value; }

/// A rank, or a row of another table of a run.
template <class TableRow>
Json row_json(TableRow const& row) {
  Json object = Json::object();
  visit_members(row, [&](char const* name, auto const& member) { object[name] = json(member); });
  return object;
}

Json json(Value const& value) {
  return std::visit(
      []<class T>(T const& known) {
        if constexpr (std::is_same_v<T, std::monostate>) {
          return Json(nullptr);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return json(known);
        } else {
          return Json(known);
        }
      },
      value);
}

}  // namespace

Json text_json(std::string const& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json facts_json(std::vector<std::pair<std::string, std::string>> const& facts) {
  Json object = Json::object();
  for (auto const& [name, value] : facts) object[name] = value;
  return object;
}

Json run_json(measure::RunInfo const& info) {
  Json ranks = Json::array(), times = Json::array();
  for (comm::Placement const& rank : info.ranks) ranks.push_back(row_json(rank));
  for (comm::TransportTime const& time : info.transport_times) times.push_back(row_json(time));
  return {{"run_id", info.run_id},
          {"started", json(info.started)},
          {"finished", json(info.finished)},
          {"status", json(info.status)},
          {"config", info.config},
          {"build", facts_json(info.build)},
          {"environment", facts_json(info.environment)},
          {"ranks", ranks},
          {"transport_times", times},
          {"events", info.events}};
}

Json columns_json(Record const& r, std::initializer_list<In> in) {
  Json object = Json::object();
  for (Column const& column : columns()) {
    if (std::ranges::find(in, column.in) == in.end()) continue;
    object[std::string{column.key}] = json(column.value(r));
  }
  return object;
}

Json case_json(Record const& r) {
  auto const value = [&](std::string_view key) { return json(column(key).value(r)); };
  Json to = columns_json(r, {In::json, In::both});
  to["published"] = nullptr;
  if (r.published > 0) {
    to["published"] = {{"rate", value("published_rate")},
                       {"device", value("published_on")},
                       {"source", value("source")}};
  }
  to["legs"] = nullptr;
  if (has_legs(r)) to["legs"] = columns_json(r, {In::legs});
  to["modelled_link"] = value("modelled_link");
  to["extras"] = Json::array();
  for (measure::SecondaryMetric const& extra : r.extras) {
    to["extras"].push_back(
        {{"name", extra.name}, {"rate", json(speed(r, rate_of(extra, r)))}, {"unit", extra.unit}});
  }
  to["kernels"] = value("kernels");
  to["implementation"] = value("implementation");
  to["pairs"] = Json::array();
  for (measure::PairTimes const& pair : r.pairs) {
    to["pairs"].push_back({{"from", pair.from},
                           {"to", pair.to},
                           {"link", pair.link},
                           {"latency_s", json(speed(r, latency_of(pair)))},
                           {"rate", json(speed(r, rate_of(pair)))}});
  }
  return to;
}

namespace {

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

// Of the lines that a measurement of pairs has behind its own, one for each.
constexpr std::string_view kPairColumns[]{"pair_from", "pair_to", "pair_link", "pair_latency_s",
                                          "pair_rate"};
using PairFields = std::array<std::string, std::size(kPairColumns)>;

/// The text of a cell: by an apostrophe before it, a table calculation takes none for a formula.
std::string csv_text(Value const& value) {
  std::string text = to_text(value);
  bool const is_number =
      std::holds_alternative<double>(value) || std::holds_alternative<std::int64_t>(value);
  bool const is_formula = !is_number && !text.empty() &&
                          std::string_view{"=+-@\t\r"}.find(text[0]) != std::string_view::npos;
  return is_formula ? '\'' + text : text;
}

/// The run, what `field` makes of each column, and a pair.
std::string csv_line(std::string_view run_id, auto const& field, PairFields const& pair) {
  std::string line = csv_field(csv_text(std::string{run_id}));
  for (Column const& column : columns()) {
    bool const has = column.in == In::csv || column.in == In::both || column.in == In::legs;
    if (has) line += ',' + csv_field(field(column));
  }
  for (std::string const& of_pair : pair) line += ',' + csv_field(of_pair);
  return line + '\n';
}

}  // namespace

std::string render_csv(measure::RunResult const& result) {
  PairFields names;
  std::ranges::copy(kPairColumns, names.begin());
  std::string text = csv_line(
      "run_id", [](Column const& column) { return column.key; }, names);
  for (Record const& record : result.records) {
    auto const field = [&](Column const& column) { return csv_text(column.value(record)); };
    text += csv_line(result.info.run_id, field, {});
    for (measure::PairTimes const& pair : record.pairs) {
      text += csv_line(
          result.info.run_id, field,
          {std::to_string(pair.from), std::to_string(pair.to), csv_text(pair.link),
           to_text(speed(record, latency_of(pair))), to_text(speed(record, rate_of(pair)))});
    }
  }
  return text;
}

std::string render_json(measure::RunResult const& result) {
  Json cases = Json::array();
  for (Record const& record : result.records) cases.push_back(case_json(record));
  measure::Ending const ending = ending_of(result);
  Json const all{{"passed", ending.has_passed()},
                 {"reason", ending.has_passed() ? Json{} : Json(ending.reason)},
                 {"run", run_json(result.info)},
                 {"cases", cases}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace quadrille::report
