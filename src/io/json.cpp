// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/json.hpp"

#include "io/members.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

namespace quadrille::io {
namespace {

using Json = nlohmann::ordered_json;

constexpr char const* kFinishedCase = "finished_case";

/// A struct that is an object in JSON.
template <class T>
concept Object = requires(T& object) {
  visit_members(object, [](auto&&...) {});
};

Json encode(std::string const& value) { return value; }
Json encode(bool value) { return value; }
Json encode(int value) { return value; }
Json encode(std::int64_t value) { return value; }
Json encode(std::uint64_t value) { return value; }
Json encode(measure::Outcome value) { return core::to_text(value); }
Json encode(measure::Resource value) { return core::to_text(value); }
Json encode(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;  // NaN is written as null
}
// Declared before the templates that call them: their arguments live in another namespace.
template <Object T>
Json encode(T const& object);
Json encode(std::pair<std::string, std::string> const& pair);
template <class T>
Json encode(std::vector<T> const& values);
template <class T>
Json encode(std::optional<T> const& value) {
  return value ? encode(*value) : Json(nullptr);
}

struct Encode {
  Json& to;
  template <class T>
  void operator()(char const* name, T const& value) const {
    to[name] = encode(value);
  }
};

template <Object T>
Json encode(T const& object) {
  Json to = Json::object();
  visit_members(object, Encode{to});
  return to;
}
Json encode(std::pair<std::string, std::string> const& pair) {
  return Json::array({pair.first, pair.second});
}
template <class T>
Json encode(std::vector<T> const& values) {
  Json to = Json::array();
  for (T const& value : values) to.push_back(encode(value));
  return to;
}

/// Texts may hold bytes that are not UTF-8, from the environment: those are replaced.
std::string to_line(Json const& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Finds a member in logarithmic time: a line may have a million.
using Parsed = nlohmann::json;

/// What a damaged line runs into; caught around the parser below, like the library's own.
[[noreturn]] void refuse(char const* why) { throw std::invalid_argument{why}; }

void decode(Parsed const& from, std::string& value) { value = from.get<std::string>(); }
void decode(Parsed const& from, bool& value) { value = from.get<bool>(); }
void decode(Parsed const& from, std::int64_t& value) {
  if (!from.is_number_integer()) refuse("a whole number is expected");
  value = from.get<std::int64_t>();
}
void decode(Parsed const& from, std::uint64_t& value) {
  if (!from.is_number_unsigned()) refuse("a whole number without sign is expected");
  value = from.get<std::uint64_t>();
}
void decode(Parsed const& from, int& value) {
  std::int64_t wide = 0;
  decode(from, wide);
  if (!std::in_range<int>(wide)) refuse("a number is out of range");
  value = static_cast<int>(wide);
}
void decode(Parsed const& from, double& value) {
  if (from.is_null()) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (from == "inf" || from == "-inf") {
    value = from == "inf" ? std::numeric_limits<double>::infinity()
                          : -std::numeric_limits<double>::infinity();
  } else {
    value = from.get<double>();
  }
}
void decode(Parsed const& from, measure::Outcome& value) {
  auto const outcome = core::parse_enum<measure::Outcome>(from.get<std::string>());
  if (!outcome) refuse("unknown verdict");
  value = *outcome;
}
void decode(Parsed const& from, measure::Resource& value) {
  auto const resource = core::parse_enum<measure::Resource>(from.get<std::string>());
  if (!resource) refuse("unknown resource");
  value = *resource;
}
template <Object T>
void decode(Parsed const& from, T& object);
void decode(Parsed const& from, std::pair<std::string, std::string>& pair);
template <class T>
void decode(Parsed const& from, std::vector<T>& values);
template <class T>
void decode(Parsed const& from, std::optional<T>& value) {
  if (!from.is_null()) decode(from, value.emplace());
}

struct Decode {
  Parsed const& from;
  template <class T>
  void operator()(char const* name, T& value) const {
    if (auto const found = from.find(name); found != from.end()) decode(*found, value);
  }
};

template <Object T>
void decode(Parsed const& from, T& object) {
  if (!from.is_object()) refuse("an object is expected");
  visit_members(object, Decode{from});
}
void decode(Parsed const& from, std::pair<std::string, std::string>& pair) {
  decode(from.at(0), pair.first);
  decode(from.at(1), pair.second);
}
template <class T>
void decode(Parsed const& from, std::vector<T>& values) {
  if (!from.is_array()) refuse("a list is expected");
  values.clear();
  for (Parsed const& one : from) decode(one, values.emplace_back());
}

measure::RunInfo decode_run(Parsed const& from) {
  if (from.value("schema_version", 0) > kResultSchemaVersion) refuse("a newer schema_version");
  measure::RunInfo info;
  visit_run(info, Decode{from});
  visit_run_parts(info, Decode{from});
  take_present_names(info);
  return info;
}

measure::Record decode_record(Parsed const& from) {
  measure::Record record;
  Decode const decode_member{from};
  visit_case(record, decode_member);
  decode(from.at("check"), record.check);
  visit_summary(record, Decode{from.at("summary")});
  decode(from.at("seconds"), record.seconds);
  decode_member("clock_hz", record.clock_hz);
  decode_member("power_w", record.power_w);
  decode_member("energy_counter_j", record.energy_counter_j);
  decode(from.at("legs"), record.legs);
  decode_member("pairs", record.pairs);
  take_present_names(record);
  if (record.id.empty()) refuse("a record without id");
  if (!has_whole_repetitions(record)) refuse("samples are not whole repetitions of all ranks");
  return record;
}

void add(Parsed const& from, measure::RunResult& result) {
  if (from.value("schema", "") == kResultSchema) {
    result.info = decode_run(from);
    return;
  }
  if (auto const name = from.find(kFinishedCase); name != from.end()) {
    decode(*name, result.finished_cases.emplace_back());
    return;
  }
  measure::Record record = decode_record(from);
  auto const earlier = std::ranges::find(result.records, record.id, &measure::Record::id);
  if (earlier == result.records.end()) {
    result.records.push_back(std::move(record));
  } else {
    *earlier = std::move(record);
  }
}

}  // namespace

bool has_whole_repetitions(measure::Record const& record) {
  bool const is_even = std::ranges::all_of(record.pairs, [&](measure::PairTimes const& pair) {
    std::size_t const n = record.pairs.front().latency_s.size();
    return pair.latency_s.size() == n && pair.transfer_s.size() == n;
  });
  if (!is_even) return false;
  auto const whole = [&](std::vector<double> const& seconds) {
    return seconds.empty() ||
           (record.ranks > 0 && seconds.size() % static_cast<std::size_t>(record.ranks) == 0);
  };
  return whole(record.seconds) && whole(record.clock_hz) && whole(record.power_w) &&
         whole(record.energy_counter_j) &&
         std::ranges::all_of(record.legs, whole, &measure::LegSamples::seconds);
}

std::string to_json_line(measure::RunInfo const& info) {
  Json line{{"schema", kResultSchema}, {"schema_version", kResultSchemaVersion}};
  visit_run(info, Encode{line});
  visit_run_parts(info, Encode{line});
  return to_line(line);
}

std::string to_json_line(measure::Record const& record) {
  Json line = Json::object();
  visit_case(record, Encode{line});
  line["check"] = encode(record.check);
  visit_summary(record, Encode{line["summary"] = Json::object()});
  line["seconds"] = encode(record.seconds);
  line["clock_hz"] = encode(record.clock_hz);
  line["power_w"] = encode(record.power_w);
  line["energy_counter_j"] = encode(record.energy_counter_j);
  line["legs"] = encode(record.legs);
  line["pairs"] = encode(record.pairs);
  return to_line(line);
}

std::string finished_case_line(std::string const& name) { return to_line({{kFinishedCase, name}}); }

std::string add_json_line(std::string_view line, measure::RunResult& result) {
  try {
    add(Parsed::parse(line), result);
  } catch (Parsed::parse_error const&) {
    return "no whole JSON object";
  } catch (Parsed::exception const&) {
    return "a member is missing or of another type than this program writes";
  } catch (std::exception const& error) {
    return error.what();
  }
  return {};
}

}  // namespace quadrille::io
