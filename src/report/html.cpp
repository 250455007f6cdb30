// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/html.hpp"

#include "report/assessment.hpp"
#include "report/glossary.hpp"
#include "report/json.hpp"
#include "report/settings.hpp"
#include "report/swept_keys.hpp"
#include "report/table.hpp"
#include "report/text.hpp"
#include "workloads/registry.hpp"
#include "workloads/secondary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace quadrille::report {
namespace {

using measure::Record;
using measure::RunResult;

/// Where the page takes its data and its script, in this order.
constexpr std::string_view kDataMark = "QUADRILLE_DATA", kScriptMark = "QUADRILLE_SCRIPT";

/// Five digits, so that a number takes few characters; what is not finite is null.
Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (value == 0) return 0;
  double const exponent = 4 - std::floor(std::log10(std::abs(value)));
  double const power = std::pow(10.0, std::abs(exponent));
  if (!std::isfinite(power)) return value;
  return exponent > 0 ? std::round(value * power) / power : std::round(value / power) * power;
}

std::size_t repetitions_of(std::vector<double> const& values, int ranks) {
  return ranks > 0 ? values.size() / static_cast<std::size_t>(ranks) : 0;
}

/// Rows of repetitions, evenly spaced, and how many there were.
Json thinned(std::vector<double> const& values, int ranks, std::size_t most) {
  std::size_t const width = static_cast<std::size_t>(std::max(ranks, 1));
  std::size_t const all = repetitions_of(values, ranks), kept = std::min(all, most / width);
  Json rows = Json::array();
  for (std::size_t k = 0; k < kept; ++k) {
    std::size_t const repetition = k * all / kept;
    Json row = Json::array();
    for (std::size_t r = 0; r < width; ++r) row.push_back(number(values[repetition * width + r]));
    rows.push_back(std::move(row));
  }
  return {{"of", all}, {"rows", std::move(rows)}};
}

/// Minimum, median and maximum over all repetitions of each rank.
Json times_of_ranks(Record const& r) {
  Json times{{"min", Json::array()}, {"median", Json::array()}, {"max", Json::array()}};
  std::size_t const width = static_cast<std::size_t>(r.ranks);
  for (std::size_t rank = 0; rank < width; ++rank) {
    std::vector<double> mine;
    for (std::size_t i = rank; i < r.seconds.size(); i += width) mine.push_back(r.seconds[i]);
    core::Summary const summary = core::summarize(mine);
    times["min"].push_back(number(summary.min));
    times["median"].push_back(number(summary.median));
    times["max"].push_back(number(summary.max));
  }
  return times;
}

Json pairs_json(Record const& r) {
  Json from = Json::array(), to = Json::array(), link = Json::array(), latency = Json::array(),
       rate = Json::array();
  std::vector<std::string> links;
  for (measure::PairTimes const& pair : r.pairs) {
    auto found = std::ranges::find(links, pair.link);
    if (found == links.end()) found = links.insert(links.end(), pair.link);
    from.push_back(pair.from);
    to.push_back(pair.to);
    link.push_back(found - links.begin());
    latency.push_back(number(latency_of(pair)));
    rate.push_back(number(rate_of(pair)));
  }
  return {{"from", from},
          {"to", to},
          {"link", link},
          {"links", links},
          {"latency", latency},
          {"rate", rate},
          {"bytes", r.pairs.front().bytes}};
}

/// What a variant is to its operation; of results from before that was kept, what it is in this program.
std::string role_of(Record const& record) {
  if (!record.role.empty()) return record.role;
  kernels::VariantInfo const* const row = row_of(record);
  return row == nullptr ? "" : std::string{core::to_text(row->role)};
}

/// Divides what a page holds among the records of all results.
class Shares {
 public:
  explicit Shares(std::span<RunResult const> results) {
    std::vector<Record const*> by_imbalance;
    std::size_t pairs = 0;
    for (RunResult const& result : results) {
      for (Record const& r : result.records) {
        vectors_ += r.seconds.empty() ? 0U : 1U;
        vectors_ += r.clock_hz.empty() ? 0U : 1U;
        vectors_ += r.power_w.empty() ? 0U : 1U;
        if (has_speed(r) && r.ranks > 1) by_imbalance.push_back(&r);
        if (r.pairs.empty() || !has_speed(r)) continue;
        pairs += r.pairs.size();
        if (pairs <= kPageNumbers / 4) with_pairs_.insert(&r);
      }
    }
    std::ranges::stable_sort(by_imbalance, std::greater{}, &Record::imbalance);
    std::size_t numbers = 0;
    for (Record const* r : by_imbalance) {
      numbers += 3 * static_cast<std::size_t>(r->ranks);
      if (numbers <= kPageNumbers) with_ranks_.insert(r);
    }
  }
  std::size_t samples() const { return kPageNumbers / std::max<std::size_t>(vectors_, 1); }
  bool has_ranks(Record const& r) const { return with_ranks_.contains(&r); }
  bool has_pairs(Record const& r) const { return with_pairs_.contains(&r); }

 private:
  std::size_t vectors_ = 0;
  std::set<Record const*> with_ranks_, with_pairs_;
};

/// What the second-level caches of all ranks' devices serve in one repetition; 0 where unknown.
double second_level_bytes(Record const& r) {
  auto const found = std::ranges::find(r.extras, workloads::kSecondLevelCache.name,
                                       &measure::SecondaryMetric::name);
  return found == r.extras.end() ? 0 : found->amount * r.ranks;
}

/// Further rates of parts of the time, as lines of a chart.
Json over_time_json(Record const& r) {
  Json lines = Json::object();
  for (measure::SecondaryMetric const& extra : r.extras) {
    if (!extra.series.empty()) lines[extra.series].push_back(number(rate_of(extra, r)));
  }
  return lines;
}

/// What a workload has drawn in place of times, and what that shows.
Json charts_json(measure::WorkloadEntry const& entry) {
  Json charts = Json::array();
  for (measure::MetricChart const& chart : entry.charts) {
    Json parts = Json::array();
    for (measure::MetricChart::Part const& part : chart.parts) {
      parts.push_back({{"metric", part.metric}, {"label", part.label}, {"to", part.to}});
    }
    charts.push_back({{"kind", core::to_text(chart.kind)},
                      {"title", chart.title},
                      {"note", chart.note},
                      {"parts", std::move(parts)},
                      {"others", chart.others},
                      {"rest", chart.rest}});
  }
  return {{"about", entry.summary}, {"charts", std::move(charts)}};
}

Json measurement_json(Record const& r, RunResult const& result, Shares const& shares,
                      SweptKeys const& swept) {
  Json to = case_json(r);
  to.update(columns_json(r, {In::csv}));
  // Charts and tables show but these.
  for (char const* const unused :
       {"pairs", "backend", "device", "digest", "first_use_s", "warmups", "warmup_s",
        "fastest_round_s", "slowest_round_s", "rate_per_rank", "clock_hz", "power_w"}) {
    to.erase(unused);
  }
  std::vector<std::int64_t> extents = r.size;  // of which missing ones repeat the last
  if (r.spec && !extents.empty()) extents.resize(r.spec->workload->extents.size(), r.size.back());
  to["extents"] = extents;
  to["role"] = role_of(r);
  to["transport_is_chosen"] = r.transport_is_chosen;
  std::vector<std::string> const& keys = swept.keys_of(r);
  to["sweep"] = {{"name", swept_name(r)}, {"keys", Json::object()}};
  if (r.spec) {
    for (core::Option const* option : core::options_of(*r.spec->workload)) {
      std::string const key{option->key};
      if (std::ranges::find(keys, key) != keys.end()) {
        to["sweep"]["keys"][key] = swept.value(r, key);
      }
    }
  }
  Json& extras = to["extras"];  // but details, of which lines over time are a chart
  for (std::size_t i = r.extras.size(); i-- > 0;) {
    if (r.extras[i].is_detail) extras.erase(i);
  }
  to["batch"] = r.batch;
  to["roofline"] = {{"flop", r.roofline.flop},
                    {"bytes", r.roofline.bytes},
                    {"second_level_bytes", second_level_bytes(r)},
                    {"compute_peak", r.roofline.compute_peak},
                    {"memory_peak", r.roofline.memory_peak},
                    {"compute_is_measured", r.roofline.compute_is_measured},
                    {"memory_is_measured", r.roofline.memory_is_measured}};
  auto const asked = std::ranges::find(r.extras, "FLOP/B", &measure::SecondaryMetric::unit);
  if (asked != r.extras.end()) to["roofline"]["asked_intensity"] = asked->amount;
  if (!has_speed(r)) return to;
  to["over_time"] = over_time_json(r);
  to["sampled"] = thinned(r.seconds, r.ranks, shares.samples());
  if (!r.clock_hz.empty()) to["clock_hz"] = thinned(r.clock_hz, r.ranks, shares.samples());
  if (!r.power_w.empty()) to["power_w"] = thinned(r.power_w, r.ranks, shares.samples());
  if (shares.has_ranks(r)) to["rank_times"] = times_of_ranks(r);
  if (shares.has_pairs(r)) to["pairs"] = pairs_json(r);
  to["has_pairs"] = !r.pairs.empty();
  if (auto const of_rates = contradicting_vendor_percent(r, result.records)) {
    to["percent_by_rates"] = std::round(*of_rates);
  }
  return to;
}

/// Why measurements are not trusted, and which.
Json doubts_json(RunResult const& result) {
  Reasons reasons;
  for (Record const& r : result.records) {
    for (std::string const& why : r.suspect) reasons.add(r.id, why);
  }
  Json doubts = Json::array();
  for (Reasons::Group const& group : reasons.groups()) {
    doubts.push_back({{"reason", group.reason.text()}, {"of", group.names}});
  }
  return doubts;
}

/// The best variants of cases, by what the screen says of them.
Json vendor_json(RunResult const& result) {
  VendorStanding const standing = vendor_standing(assess(result));
  auto const ids = [](std::vector<Record const*> const& rows) {
    Json all = Json::array();
    for (Record const* r : rows) all.push_back(r->id);
    return all;
  };
  return {{"slower", ids(standing.slower)}, {"as_fast", ids(standing.as_fast)}};
}

Json result_json(RunResult const& result, std::string const& file, Shares const& shares) {
  measure::Counts const counts = count_outcomes(result);
  measure::Ending const ending = ending_of(result);
  std::vector<Record const*> records;
  for (Record const& r : result.records) records.push_back(&r);
  SweptKeys const swept{records};
  auto const assessed = assessed_rows(result);
  Json cases = Json::array();
  for (Record const& r : result.records) {
    cases.push_back(measurement_json(r, result, shares, swept));
    auto const found = assessed.find(&r);
    if (found == assessed.end()) continue;
    cases.back()["good"] = core::to_text(found->second.answer);
    cases.back()["advice"] = text_json(found->second.advice);
  }
  return {{"file", file},
          {"passed", ending.has_passed()},
          {"reason", ending.reason},
          {"counts",
           {{"of", result.records.size()},
            {"executed", counts.executed()},
            {"passed", counts.passed},
            {"failed", counts.failed},
            {"wrong_libraries", counts.wrong_libraries},
            {"skipped", counts.skipped},
            {"unsupported", counts.unsupported}}},
          {"doubts", doubts_json(result)},
          {"vs_vendor", vendor_json(result)},
          {"run", run_json(result.info)},
          {"cases", std::move(cases)}};
}

Json curve_json(ScalingCurve const& curve) {
  Json points = Json::array();
  for (ScalingPoint const& p : curve.points) {
    points.push_back({{"ranks", p.ranks},
                      {"size", p.size},
                      {"seconds", p.seconds},
                      {"rate", p.rate},
                      {"speedup", p.speedup},
                      {"efficiency", p.efficiency},
                      {"serial", p.serial ? Json(*p.serial) : Json(nullptr)},
                      {"fit", curve.fit ? Json(curve.fitted_s(p)) : Json(nullptr)}});
  }
  Json to{{"workload", curve.workload}, {"type", curve.type},
          {"variant", curve.variant},   {"settings", facts_json(curve.settings)},
          {"unit", curve.unit},         {"growth", core::to_text(curve.growth)},
          {"points", points},           {"fit", nullptr}};
  if (curve.fit) {
    int const first = curve.points.front().ranks, next = 2 * curve.points.back().ranks;
    to["fit"] = {{"constant", curve.fit->constant},
                 {"slope", curve.fit->slope},
                 {"worst", curve.fit->worst},
                 {"first_s", curve.fit->at(abscissa(curve.growth, first))},
                 {"next_ranks", next},
                 {"next_s", curve.fit->at(abscissa(curve.growth, next))}};
  }
  return to;
}

Json scaling_json(Scaling const& scaling) {
  Json curves = Json::array(), exchanges = Json::array();
  for (ScalingCurve const& curve : scaling.curves) curves.push_back(curve_json(curve));
  for (ExchangeFit const& e : scaling.exchanges) {
    exchanges.push_back({{"workload", e.workload},
                         {"type", e.type},
                         {"variant", e.variant},
                         {"transport", e.transport},
                         {"settings", facts_json(e.settings)},
                         {"ranks", e.ranks},
                         {"bytes", e.bytes},
                         {"seconds", e.seconds},
                         {"latency_s", e.fit.constant},
                         {"bandwidth", e.fit.slope > 0 ? Json(1 / e.fit.slope) : Json(nullptr)},
                         {"worst", e.fit.worst}});
  }
  return {{"ranks", scaling.ranks},
          {"curves", curves},
          {"exchanges", exchanges},
          {"notes", scaling.notes}};
}

/// The traced repetition of each measurement: rows of ranks, and what each did when.
Json timelines_json(std::span<io::TracedSpan const> trace) {
  std::map<std::string, std::vector<io::TracedSpan const*>> by_measurement;
  for (io::TracedSpan const& span : trace) by_measurement[span.of].push_back(&span);
  Json drawn = Json::object();
  std::size_t left = kPageSpans, left_out = 0;
  for (auto const& [id, spans] : by_measurement) {
    if (spans.size() > left) {
      ++left_out;
      continue;
    }
    left -= spans.size();
    double const begin_s =
        std::ranges::min(spans, {}, [](auto const* span) { return span->begin_s; })->begin_s;
    auto const nanoseconds = [&](double at_s) { return std::llround(1e9 * (at_s - begin_s)); };
    std::map<std::pair<int, std::string>, std::size_t> known;
    Json rows = Json::array(), all = Json::array();
    for (io::TracedSpan const* span : spans) {
      auto const [row, is_new] = known.try_emplace({span->rank, span->row}, known.size());
      if (is_new) rows.push_back({{"rank", span->rank}, {"name", span->row}});
      all.push_back({{"row", row->second},
                     {"kind", core::to_text(span->kind)},
                     {"name", span->name},
                     {"label", span->label},
                     {"begin_ns", nanoseconds(span->begin_s)},
                     {"end_ns", nanoseconds(span->end_s)}});
    }
    drawn[id] = {{"rows", std::move(rows)}, {"spans", std::move(all)}};
  }
  return {{"drawn", std::move(drawn)}, {"left_out", left_out}};
}

}  // namespace

std::string_view html_begin() { return html_page().substr(0, html_page().find('\n')); }

std::string make_page(std::string_view script, Json const& data) {
  std::string_view const page = html_page();
  std::size_t const data_at = page.find(kDataMark), script_at = page.find(kScriptMark);
  std::size_t const behind_data = data_at + kDataMark.size();
  std::string text{page.substr(0, data_at)};
  // Nothing in a result may end the element that holds it: JSON writes < in strings alone.
  for (char const c : data.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  text += page.substr(behind_data, script_at - behind_data);
  text += script;
  return text.append(page.substr(script_at + kScriptMark.size()));
}

std::string render_html(std::span<RunResult const> results, std::span<std::string const> files,
                        std::optional<Scaling> const& scaling,
                        std::span<io::TracedSpan const> trace) {
  Shares const shares{results};
  Json all{{"results", Json::array()},
           {"metrics", Json::object()},
           {"drawn", Json::object()},
           {"scaling", nullptr},
           {"timelines", timelines_json(trace)}};
  for (std::size_t i = 0; i < results.size(); ++i) {
    all["results"].push_back(result_json(results[i], files[i], shares));
  }
  for (ExplainedMetric const& metric : metrics()) all["metrics"][metric.name] = metric.meaning;
  for (measure::WorkloadEntry const* entry : workloads::workloads()) {
    if (!entry->charts.empty()) all["drawn"][entry->schema.name] = charts_json(*entry);
  }
  if (scaling) all["scaling"] = scaling_json(*scaling);
  return make_page(results_script(), all);
}

}  // namespace quadrille::report
