// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/assessment.hpp"
#include "report/columns.hpp"
#include "report/json.hpp"
#include "report/settings.hpp"
#include "report/table.hpp"
#include "report/tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <map>
#include <span>
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

/// A fact of a pair of ranks: in the list of JSON under its key, in CSV behind the columns of the
/// measurement as "pair_" and the key.
struct PairColumn {
  std::string_view key;
  Value (*value)(Record const&, measure::PairTimes const&);
};
constexpr PairColumn kPairColumns[]{
    {"from", [](Record const&, measure::PairTimes const& pair) { return Value{pair.from}; }},
    {"to", [](Record const&, measure::PairTimes const& pair) { return Value{pair.to}; }},
    {"link", [](Record const&, measure::PairTimes const& pair) { return Value{pair.link}; }},
    {"bytes", [](Record const&, measure::PairTimes const& pair) { return finite(pair.bytes); }},
    {"latency_s",
     [](Record const& r, measure::PairTimes const& pair) { return speed(r, latency_of(pair)); }},
    {"rate",
     [](Record const& r, measure::PairTimes const& pair) { return speed(r, rate_of(pair)); }}};

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
  to["settings"] = facts_json(settings_of(r));
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
    Json& object = to["pairs"].emplace_back(Json::object());
    for (PairColumn const& one : kPairColumns) {
      object[std::string{one.key}] = json(one.value(r, pair));
    }
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

/// The text of a cell: by an apostrophe before it, a table calculation takes none for a formula.
std::string csv_text(Value const& value) {
  std::string text = to_text(value);
  bool const is_number =
      std::holds_alternative<double>(value) || std::holds_alternative<std::int64_t>(value);
  bool const is_formula = !is_number && !text.empty() &&
                          std::string_view{"=+-@\t\r"}.find(text[0]) != std::string_view::npos;
  return is_formula ? '\'' + text : text;
}

// What stands in front of the columns of each record: of its run.
constexpr std::string_view kRunColumns[]{"run_id",  "started", "node",  "cpu",
                                         "network", "commit",  "driver"};

using Fields = std::vector<std::string>;

Fields run_fields(measure::RunInfo const& info) {
  return {info.run_id,
          info.started,
          info.ranks.empty() ? "" : info.ranks.front().node,
          build_fact(info, "cpu"),
          build_fact(info, "network"),
          build_fact(info, "commit"),
          build_fact(info, "driver")};
}

bool is_in_csv(Column const& column) {
  return column.in == In::csv || column.in == In::both || column.in == In::legs;
}

std::string csv_line(Fields const& fields) {
  Fields quoted;
  for (std::string const& field : fields) quoted.push_back(csv_field(field));
  return fmt::format("{}\n", fmt::join(quoted, ","));
}

std::string extra_column(measure::SecondaryMetric const& extra) {
  return extra.unit.empty() ? extra.name : fmt::format("{} ({})", extra.name, extra.unit);
}

/// Whether a case is as fast as it can be, where that is known by this row; else empty.
std::string answer_of(Record const& record,
                      std::map<Record const*, CaseAssessment> const& assessed) {
  auto const found = assessed.find(&record);
  return found == assessed.end() ? "" : std::string{core::to_text(found->second.answer)};
}

void append_if_new(Fields& names, std::string name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
}

}  // namespace

std::string render_csv(std::span<measure::RunResult const> results) {
  Fields settings, extras;
  for (measure::RunResult const& result : results) {
    for (Record const& record : result.records) {
      for (auto const& [key, value] : settings_of(record)) append_if_new(settings, key);
      for (auto const& extra : record.extras) append_if_new(extras, extra_column(extra));
    }
  }
  Fields head{std::begin(kRunColumns), std::end(kRunColumns)};
  for (Column const& column : columns()) {
    if (is_in_csv(column)) head.emplace_back(column.key);
  }
  for (std::string const& key : settings) head.push_back("settings." + key);
  for (std::string const& name : extras) head.push_back(csv_text(name));
  head.emplace_back("good");
  for (PairColumn const& one : kPairColumns) head.push_back(fmt::format("pair_{}", one.key));
  std::string text = csv_line(head);
  for (measure::RunResult const& result : results) {
    auto const assessed = assessed_rows(result);
    for (Record const& record : result.records) {
      Fields line;
      for (std::string const& field : run_fields(result.info)) line.push_back(csv_text(field));
      for (Column const& column : columns()) {
        if (is_in_csv(column)) line.push_back(csv_text(column.value(record)));
      }
      std::map<std::string, std::string> values;
      for (auto const& [key, value] : settings_of(record)) values.emplace(key, csv_text(value));
      for (std::string const& key : settings) line.push_back(values[key]);
      for (auto const& extra : record.extras) {
        values.emplace(extra_column(extra), to_text(speed(record, rate_of(extra, record))));
      }
      for (std::string const& name : extras) line.push_back(values[name]);
      line.push_back(answer_of(record, assessed));
      std::size_t const own = line.size();
      line.resize(own + std::size(kPairColumns));
      text += csv_line(line);
      for (measure::PairTimes const& pair : record.pairs) {
        line.resize(own);
        for (PairColumn const& one : kPairColumns) {
          line.push_back(csv_text(one.value(record, pair)));
        }
        text += csv_line(line);
      }
    }
  }
  return text;
}

namespace {

Json result_json(measure::RunResult const& result) {
  Json cases = Json::array();
  auto const assessed = assessed_rows(result);
  for (Record const& record : result.records) {
    cases.push_back(case_json(record));
    cases.back()["good"] = json(answer_of(record, assessed));
  }
  measure::Ending const ending = ending_of(result);
  return {{"passed", ending.has_passed()},
          {"reason", ending.has_passed() ? Json{} : Json(ending.reason)},
          {"run", run_json(result.info)},
          {"cases", cases}};
}

}  // namespace

std::string render_json(std::span<measure::RunResult const> results) {
  Json all = Json::array();
  for (measure::RunResult const& result : results) all.push_back(result_json(result));
  return (results.size() == 1 ? all[0] : all).dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace quadrille::report
