// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/trace_file.hpp"

#include "core/files.hpp"
#include "io/whole_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace quadrille::io {
namespace {

using Json = nlohmann::ordered_json;
using device::TraceSpan;

constexpr std::size_t kMaxTraceBytes = std::size_t{256} << 20;

// Between two repetitions, to tell them apart.
constexpr double kGapUs = 1000;

std::string text_of(Json const& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The spans of a rank by rank 0's clock, as all ranks send them.
std::string packed(measure::TracedRepetition const& repetition) {
  Json spans = Json::array();
  for (TraceSpan const& span : repetition.spans) {
    spans.push_back({span.track, core::to_text(span.kind), span.name, span.label, span.bytes,
                     span.begin_s - repetition.clock.seconds,
                     span.end_s - repetition.clock.seconds});
  }
  return text_of(spans);
}

/// A row of a timeline, on which spans lie one after the other or within one another.
struct Lane {
  std::string name;
  std::vector<double> open_until;  ///< ends of the spans around the latest, the innermost last

  bool takes(double begin, double end) {
    while (!open_until.empty() && open_until.back() <= begin) open_until.pop_back();
    if (!open_until.empty() && open_until.back() < end) return false;
    open_until.push_back(end);
    return true;
  }
};

}  // namespace

std::size_t TraceFile::row_of(int rank, std::string const& name) {
  std::vector<std::string>& rows = rows_[static_cast<std::size_t>(rank)];
  auto const known = std::ranges::find(rows, name);
  auto const row = static_cast<std::size_t>(known - rows.begin());
  if (known != rows.end()) return row;
  rows.push_back(name);
  for (auto const& [key, value] : {std::pair{"thread_name", Json{{"name", name}}},
                                   std::pair{"thread_sort_index", Json{{"sort_index", row}}}}) {
    append(text_of({{"ph", "M"}, {"pid", rank}, {"tid", row}, {"name", key}, {"args", value}}));
  }
  return row;
}

void TraceFile::append(std::string const& event) {
  if (!events_.empty()) events_ += ",\n";
  events_ += event;
}

void TraceFile::add(comm::World const& world, measure::TracedRepetition const& repetition) {
  std::vector<std::string> const all = world.group().all_gather(packed(repetition));
  double const error_us = 1e6 * world.group().max(repetition.clock.error_s);
  if (world.rank() != 0) return;
  error_us_ = std::max(error_us_, error_us);
  if (rows_.empty()) {
    rows_.resize(all.size());
    for (comm::Placement const& rank : world.placements()) {
      std::string const name = fmt::format("rank {}: {}, {}", rank.rank, rank.node, rank.device);
      append(text_of(
          {{"ph", "M"}, {"pid", rank.rank}, {"name", "process_name"}, {"args", {{"name", name}}}}));
    }
  }

  double first_s = std::numeric_limits<double>::infinity();
  std::vector<Json> ranks;
  for (std::string const& text : all) {
    Json& spans = ranks.emplace_back(Json::parse(text));
    // What surrounds others comes before them.
    std::stable_sort(spans.begin(), spans.end(), [](Json const& a, Json const& b) {
      double const begin_a = a[5], begin_b = b[5], end_a = a[6], end_b = b[6];
      return begin_a != begin_b ? begin_a < begin_b : end_a > end_b;
    });
    if (!spans.empty()) first_s = std::min(first_s, spans.front()[5].get<double>());
  }
  double const start_us = end_us_ > 0 ? end_us_ + kGapUs : 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::map<std::string, std::vector<Lane>> tracks;
    for (Json const& span : ranks[rank]) {
      std::string const track = span[0];
      double const begin_us = start_us + 1e6 * (span[5].get<double>() - first_s);
      double const end_us = start_us + 1e6 * (span[6].get<double>() - first_s);
      end_us_ = std::max(end_us_, end_us);
      std::vector<Lane>& lanes = tracks[track];
      auto lane = std::ranges::find_if(lanes, [&](Lane& l) { return l.takes(begin_us, end_us); });
      if (lane == lanes.end()) {
        std::string const number = lanes.empty() ? "" : fmt::format(", {}", lanes.size() + 1);
        lane = lanes.insert(lane, Lane{track + number, {end_us}});
      }
      auto const pid = static_cast<int>(rank);
      Json args{{"of", repetition.name}};
      if (!span[3].get<std::string>().empty()) args["label"] = span[3];
      if (span[4] != 0) args["bytes"] = span[4];
      append(text_of({{"ph", "X"},
                      {"pid", pid},
                      {"tid", row_of(pid, lane->name)},
                      {"ts", begin_us},
                      {"dur", end_us - begin_us},
                      {"name", span[2]},
                      {"cat", span[1]},
                      {"args", args}}));
    }
  }
}

std::string TraceFile::write() const {
  Json const about{{"schema_version", 1}, {"ranks", rows_.size()}, {"clock_error_us", error_us_}};
  return replace_whole_file(path_, fmt::format("{},{},\n"
                                               "\"traceEvents\": [\n{}\n]}}\n",
                                               kTraceBegin, text_of(about).substr(1), events_));
}

core::Parsed<std::vector<TracedSpan>> read_trace(std::string const& path) {
  using Spans = core::Parsed<std::vector<TracedSpan>>;
  auto const text = core::read_file(path, kMaxTraceBytes);
  if (!text) return Spans::error(fmt::format("'{}' cannot be read: {}", path, text.why()));
  if (!text->starts_with(kTraceBegin)) {
    return Spans::error(fmt::format("'{}' is no trace: name a file that run --trace wrote", path));
  }
  std::vector<TracedSpan> spans;
  try {
    std::map<std::pair<int, int>, std::string> rows;
    Json const document = Json::parse(*text);
    for (Json const& event : document.at("traceEvents")) {
      auto const phase = event.at("ph").get<std::string>(),
                 name = event.at("name").get<std::string>();
      int const rank = event.at("pid").get<int>();
      Json const& args = event.at("args");
      if (phase == "M" && name == "thread_name") {
        rows[{rank, event.at("tid").get<int>()}] = args.at("name").get<std::string>();
      }
      if (phase != "X") continue;
      auto const kind = core::parse_enum<device::TraceKind>(event.at("cat").get<std::string>());
      if (!kind) return Spans::error(fmt::format("'{}' is damaged: an unknown kind", path));
      TracedSpan& span = spans.emplace_back();
      span.rank = rank;
      span.row = rows[{rank, event.at("tid").get<int>()}];
      span.of = args.at("of").get<std::string>();
      span.kind = *kind;
      span.name = name;
      span.label = args.value("label", std::string{});
      span.begin_s = 1e-6 * event.at("ts").get<double>();
      span.end_s = span.begin_s + 1e-6 * event.at("dur").get<double>();
    }
  } catch (Json::exception const& damage) {
    return Spans::error(fmt::format("'{}' is damaged: {}", path, damage.what()));
  }
  return spans;
}

}  // namespace quadrille::io
