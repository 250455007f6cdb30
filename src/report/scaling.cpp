// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/scaling.hpp"

#include "report/assessment.hpp"
#include "report/columns.hpp"
#include "report/document.hpp"
#include "report/settings.hpp"
#include "report/tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace quadrille::report {
namespace {

using measure::Record;
using Settings = std::vector<std::pair<std::string, std::string>>;

/// What measurements that belong together share.
struct Series {
  std::string workload, type, variant, transport;
  Settings settings;
  auto operator<=>(Series const&) const = default;
};

/// Of a series: by ranks, in the order of the run.
using Members = std::map<int, std::vector<Record const*>>;

int ranks_of(measure::RunResult const& result) {
  return static_cast<int>(result.info.ranks.size());
}

/// Deviations count in relation to y. An empty `x` part is left out of the line.
Line weighted_line(std::span<double const> x, std::span<double const> y, bool has_constant,
                   bool has_slope) {
  double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double const weight = 1 / (y[i] * y[i]);
    w += weight;
    wx += weight * x[i];
    wxx += weight * x[i] * x[i];
    wy += weight * y[i];
    wxy += weight * x[i] * y[i];
  }
  Line line;
  if (has_constant && has_slope) {
    double const determinant = w * wxx - wx * wx;
    line.slope = (w * wxy - wx * wy) / determinant;
    line.constant = (wy - line.slope * wx) / w;
  } else if (has_constant) {
    line.constant = wy / w;
  } else {
    line.slope = wxy / wxx;
  }
  return line;
}

ScalingPoint point_of(Record const& record, Record const& fewest, Growth growth) {
  ScalingPoint point{.ranks = record.ranks,
                     .size = record.size,
                     .seconds = record.time.median,
                     .rate = record.rate,
                     .speedup = record.rate / fewest.rate,
                     .serial = {}};
  double const p = static_cast<double>(record.ranks) / fewest.ranks;
  point.efficiency = point.speedup / p;
  point.load = record.amount / fewest.amount / p;
  if (growth == Growth::strong && p > 1) {
    double const serial = (1 / point.speedup - 1 / p) / (1 - 1 / p);
    if (serial >= 0) point.serial = serial;  // more than p times as fast: caches, not Amdahl
  }
  return point;
}

ScalingCurve curve_of(Series const& series, std::vector<Record const*> const& records) {
  Record const& fewest = *records.front();
  bool const is_strong = std::ranges::all_of(
      records, [&](Record const* r) { return std::abs(r->amount / fewest.amount - 1) < 1e-9; });
  ScalingCurve curve{.name = fewest.name,
                     .workload = series.workload,
                     .type = series.type,
                     .variant = series.variant,
                     .transport = series.transport,
                     .unit = fewest.unit,
                     .settings = series.settings,
                     .growth = is_strong ? Growth::strong : Growth::weak,
                     .points = {},
                     .fit = {}};
  std::vector<double> x, y;
  for (Record const* record : records) {
    curve.points.push_back(point_of(*record, fewest, curve.growth));
    x.push_back(abscissa(curve.growth, record->ranks));
    y.push_back(is_strong ? record->time.median : record->time.median / curve.points.back().load);
  }
  curve.fit = fit_line(x, y);
  return curve;
}

/// "gemm f64 host_simd, panel = 16"
std::string name_of(Series const& series) {
  std::string name = fmt::format("{} {} {}", series.workload, series.type, series.variant);
  if (!series.transport.empty()) name += " over " + series.transport;
  for (auto const& [key, value] : series.settings) name += fmt::format(", {} = {}", key, value);
  return name;
}

/// Why a series of one number of ranks has no curve: most of the time another variant was the best on
/// the others.
std::string why_alone(Series const& series, int ranks, std::map<Series, Members> const& all) {
  std::string others;
  for (auto const& [other, members] : all) {
    bool const is_alike = other.workload == series.workload && other.type == series.type &&
                          other.settings == series.settings && other.variant != series.variant;
    if (!is_alike || members.contains(ranks)) continue;
    for (auto const& [on, records] : members)
      others += fmt::format(", {} on {}", other.variant, on);
  }
  std::string const hint =
      others.empty() ? "" : fmt::format("{}: name one variant for all", others);
  return fmt::format("left out: {} was measured on {} ranks alone{}", name_of(series), ranks, hint);
}

void add_curves(Series const& series, Members const& members, Scaling& scaling) {
  auto const& first = members.begin()->second;
  bool const same_number = std::ranges::all_of(
      members, [&](auto const& one) { return one.second.size() == first.size(); });
  std::set<Record const*> joined;
  for (std::size_t i = 0; i < first.size(); ++i) {
    std::vector<Record const*> records;
    for (auto const& [ranks, list] : members) {
      auto const found = same_number ? list.begin() + static_cast<std::ptrdiff_t>(i)
                                     : std::ranges::find_if(list, [&](Record const* r) {
                                         return r->size == first[i]->size;
                                       });
      if (found != list.end()) records.push_back(*found);
    }
    if (records.size() < 2) continue;
    scaling.curves.push_back(curve_of(series, records));
    joined.insert(records.begin(), records.end());
  }
  for (auto const& [ranks, list] : members) {
    for (Record const* r : list) {
      if (joined.contains(r)) continue;
      scaling.notes.push_back(
          fmt::format("left out: {}, size {} on {} ranks: nothing of "
                      "this size to join it with",
                      name_of(series), size_text(r->size), ranks));
    }
  }
}

void add_exchanges(Series const& series, Members const& members, Scaling& scaling) {
  for (auto const& [ranks, records] : members) {
    ExchangeFit exchange{.name = records.front()->name,
                         .workload = series.workload,
                         .type = series.type,
                         .variant = series.variant,
                         .transport = series.transport,
                         .settings = series.settings,
                         .ranks = ranks,
                         .bytes = {},
                         .seconds = {},
                         .fit = {}};
    for (Record const* record : records) {
      exchange.bytes.push_back(record->amount);
      exchange.seconds.push_back(record->time.median);
    }
    std::optional<Line> const fit = fit_line(exchange.bytes, exchange.seconds);
    if (!fit) {
      scaling.notes.push_back(
          fmt::format("left out: {} on {} ranks: a fit takes three sizes", name_of(series), ranks));
      continue;
    }
    exchange.fit = *fit;
    scaling.exchanges.push_back(std::move(exchange));
  }
}

std::set<std::string> devices_of(measure::RunResult const& result) {
  std::set<std::string> devices;
  for (comm::Placement const& rank : result.info.ranks) devices.insert(rank.device);
  return devices;
}

void add_notes(std::span<measure::RunResult const> results, Scaling& scaling) {
  auto const differ = [&](auto const& fact) {
    return std::ranges::any_of(results, [&](auto const& r) { return fact(r) != fact(results[0]); });
  };
  if (differ(devices_of)) {
    scaling.notes.emplace_back(
        "the devices differ between results: no efficiency follows from that");
  }
  if (differ([](auto const& result) { return build_fact(result.info, "commit"); })) {
    scaling.notes.emplace_back("the results come from different commits");
  }
  std::set<int> threads;
  for (measure::RunResult const& result : results) {
    for (comm::Placement const& rank : result.info.ranks) threads.insert(rank.threads);
  }
  if (threads.size() > 1) {
    scaling.notes.push_back(fmt::format(
        "ranks have {} host threads: where they compute, set OMP_NUM_THREADS for equal shares",
        fmt::join(threads, " or ")));
  }
}

std::string title_of(auto const& what) {
  std::string title = fmt::format("{}, {} {}", what.workload, what.type, what.variant);
  if (!what.transport.empty() && what.transport != "none") title += " over " + what.transport;
  for (auto const& [key, value] : what.settings) title += fmt::format(", {} = {}", key, value);
  return title;
}

}  // namespace

std::optional<Line> fit_line(std::span<double const> x, std::span<double const> y) {
  auto const [least, most] = std::ranges::minmax(x);
  if (x.size() < 3 || !(least < most)) return std::nullopt;
  if (!std::ranges::all_of(y, [](double v) { return v > 0 && std::isfinite(v); })) {
    return std::nullopt;
  }
  Line line = weighted_line(x, y, true, true);
  if (line.slope < 0) line = weighted_line(x, y, true, false);
  if (line.constant < 0) line = weighted_line(x, y, false, true);
  for (std::size_t i = 0; i < x.size(); ++i) {
    line.worst = std::max(line.worst, std::abs(line.at(x[i]) / y[i] - 1));
  }
  return line;
}

double ScalingCurve::fitted_s(ScalingPoint const& point) const {
  return fit->at(abscissa(growth, point.ranks)) * (growth == Growth::strong ? 1 : point.load);
}

double abscissa(Growth growth, int ranks) {
  return growth == Growth::strong ? 1.0 / ranks : std::log2(ranks);
}

core::Parsed<Scaling> join_scaling(std::span<measure::RunResult const> results) {
  using Out = core::Parsed<Scaling>;
  Scaling scaling;
  for (measure::RunResult const& result : results) {
    int const ranks = ranks_of(result);
    if (std::ranges::find(scaling.ranks, ranks) != scaling.ranks.end()) {
      return Out::error(fmt::format(
          "--scaling: two results have the same number of ranks, {}; give one for each", ranks));
    }
    scaling.ranks.push_back(ranks);
  }
  if (scaling.ranks.size() < 2) {
    return Out::error("--scaling: give results of at least two numbers of ranks");
  }
  std::ranges::sort(scaling.ranks);
  // In the order of the first result.
  std::vector<Series> order;
  std::map<Series, Members> all;
  for (measure::RunResult const& result : results) {
    for (Record const& record : result.records) {
      if (!has_speed(record) || !(record.rate > 0) || record.ranks < 1) continue;
      Series series{record.workload, record.type, record.variant, record.transport,
                    settings_of(record)};
      // One rank has no transport, and the best shape of a grid depends on their number.
      if (!is_exchange(record)) series.transport.clear();
      std::erase_if(series.settings, [](auto const& setting) { return setting.first == "grid"; });
      auto const [place, is_new] = all.try_emplace(series);
      if (is_new) order.push_back(series);
      place->second[record.ranks].push_back(&record);
    }
  }
  for (Series const& series : order) {
    Members const& members = all.at(series);
    if (is_exchange(*members.begin()->second.front())) {
      add_exchanges(series, members, scaling);
    } else if (members.size() > 1) {
      add_curves(series, members, scaling);
    } else {
      scaling.notes.push_back(why_alone(series, members.begin()->first, all));
    }
  }
  if (scaling.curves.empty() && scaling.exchanges.empty()) {
    return Out::error(
        "--scaling: the results have no measurement in common; run one input on each number of "
        "ranks, such as inputs/scaling-strong.toml");
  }
  add_notes(results, scaling);
  return scaling;
}

namespace {

// To which names of exchanges are shortened before a column goes.
constexpr std::size_t kShortName = 24;

/// What a curve's fit says of more ranks.
std::string fit_text(ScalingCurve const& curve) {
  int const first = curve.points.front().ranks, next = 2 * curve.points.back().ranks;
  double const start = curve.fit->at(abscissa(curve.growth, first));
  double const then = curve.fit->at(abscissa(curve.growth, next));
  return fmt::format(
      "{} predicted; off by {:.1f} % at most",
      curve.growth == Growth::strong
          ? fmt::format("Amdahl: {:.1f} % of the time on {} is serial; {} ranks: {}",
                        100 * curve.fit->constant / start, first, next, core::format_seconds(then))
          : fmt::format("each doubling of ranks adds {:.1f} % of the time on {}; {} ranks: "
                        "efficiency {:.1f} %",
                        100 * curve.fit->slope / start, first, next, 100 * start / then),
      100 * curve.fit->worst);
}

}  // namespace

std::string render_scaling(Scaling const& scaling, Terminal const& terminal) {
  Document page;
  page.add_text(fmt::format("scaling over {} ranks", fmt::join(scaling.ranks, ", ")));
  for (ScalingCurve const& curve : scaling.curves) {
    Table table{.title =
                    fmt::format("{} scaling: {}", core::to_text(curve.growth), title_of(curve))};
    table.add_columns({{"ranks"},
                       {"size", 16, Align::left},
                       {"median", 9},
                       {"rate", 14},
                       {"speedup"},
                       {"efficiency"},
                       {"fit", 8},
                       {"serial"}});
    table.columns[6].keep = table.columns[7].keep = 0;  // where they have values
    table.columns[4].keep = 1;                          // efficiency times ranks
    table.columns[3].keep = 2;
    for (ScalingPoint const& p : curve.points) {
      table.add_row({fmt::to_string(p.ranks), size_text(p.size), core::format_seconds(p.seconds),
                     core::format_rate(p.rate, curve.unit), fmt::format("{:.2f}", p.speedup),
                     fmt::format("{:.1f} %", 100 * p.efficiency),
                     curve.fit ? core::format_seconds(curve.fitted_s(p)) : "-",
                     p.serial ? fmt::format("{:.3f}", *p.serial) : "-"});
    }
    page.add_gap();
    page.add_table(std::move(table));
    if (!curve.fit) continue;
    page.add_text(fit_text(curve));
  }
  if (!scaling.exchanges.empty()) {
    Table table{.title = "exchanges: time = latency + bytes / bandwidth, fitted over their sizes"};
    table.add_columns({{"exchange", 40, Align::left},
                       {"ranks"},
                       {"sizes"},
                       {"latency", 8},
                       {"bandwidth", 10},
                       {"off by", 9}});
    table.columns[0].short_width = kShortName;
    table.columns[2].keep = 0;
    table.columns[5].keep = 1;
    for (ExchangeFit const& e : scaling.exchanges) {
      table.add_row({title_of(e), fmt::to_string(e.ranks), fmt::to_string(e.bytes.size()),
                     core::format_seconds(e.fit.constant),
                     e.fit.slope > 0 ? core::format_rate(1 / e.fit.slope, "B/s") : "-",
                     fmt::format("{:.0f} %", 100 * e.fit.worst)});
    }
    page.add_gap();
    page.add_table(std::move(table));
  }
  for (std::string const& note : scaling.notes) {
    page.add_gap();
    page.add_text("note: " + note);
  }
  return write_text(page, terminal);
}

}  // namespace quadrille::report
