// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/predict.hpp"

#include "core/units.hpp"
#include "report/document.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace quadrille::report {
namespace {

using measure::CostModel;
using measure::RankLayout;
using measure::RankWork;
using measure::Record;
using measure::RunResult;

/// nullptr where nothing is known of its workload, or of its case.
CostModel const* model_of(Record const& record) {
  return record.spec ? workloads::entry_of(*record.spec->workload).cost_model : nullptr;
}

/// Measured rates of a case.
struct Rates {
  double compute_s = 0;  ///< for one unit of RankWork::compute
  double byte_s = 0;
  double latency_s = 0;
  double hidden = 0;  ///< of the shorter one of computation and what of communication it can hide
};

/// Latency and seconds per byte that are closest to the times, each by its own size. What would come
/// out below 0 is 0.
Rates fitted(std::vector<std::pair<RankWork, double>> const& times) {
  double mm = 0, mb = 0, bb = 0, m1 = 0, b1 = 0;
  for (auto const& [work, seconds] : times) {
    double const m = work.messages / seconds, b = work.bytes / seconds;
    mm += m * m;
    mb += m * b;
    bb += b * b;
    m1 += m;
    b1 += b;
  }
  double const determinant = mm * bb - mb * mb;
  Rates rates;
  if (determinant > 1e-9 * mm * bb) {
    rates.latency_s = (m1 * bb - b1 * mb) / determinant;
    rates.byte_s = (b1 * mm - m1 * mb) / determinant;
  }
  if (rates.latency_s <= 0) rates = {.byte_s = bb > 0 ? b1 / bb : 0};
  if (rates.byte_s < 0) rates = {.latency_s = mm > 0 ? m1 / mm : 0};
  return rates;
}

/// One run, and what it tells of other machines.
class Model {
 public:
  Model(RunResult const& run, PredictSettings const& settings) : settings_{settings} {
    std::map<std::string, std::int64_t> nodes;
    for (comm::Placement const& rank : run.info.ranks) ++nodes[rank.node];
    for (auto const& [node, ranks] : nodes) per_node_ = std::max(per_node_, ranks);
    measured_ = {static_cast<std::int64_t>(run.info.ranks.size()), per_node_};
    shares_ = !run.info.ranks.empty() && run.info.ranks.front().uuid.empty();
    for (Record const& record : run.records) {
      CostModel const* const model = model_of(record);
      bool const is_fit = model != nullptr && !model->has_legs && !record.modelled_link;
      if (!is_fit || !has_speed(record) || measured_.ranks < 2) continue;
      auto& times = reductions_[series_of(record)];
      times.emplace_back(model->work(*record.spec, measured_, 1), record.time.median);
    }
  }

  /// Why a measurement tells nothing of other machines; empty where it does.
  std::string problem(Record const& record) const {
    CostModel const& model = *model_of(record);
    if (!has_speed(record)) return "it has no speed";
    if (record.modelled_link) return "its link is modelled";
    if (measured_.ranks < 2) return "one rank sends no messages: predict from a run on 2 or more";
    if (model.has_legs && !record.leg_summary) return "it has no legs: measure with legs = true";
    return {};
  }

  RankLayout machine(std::int64_t ranks) const {
    return {ranks, settings_.ranks_per_node > 0 ? settings_.ranks_per_node : per_node_};
  }

  /// Between the nodes of a machine; none where it is measured with the rest, or where there are none.
  std::optional<Network> network_of(RankLayout const& machine) const {
    if (settings_.network || measured_.nodes() > 1) return settings_.network;
    double const ports = shares_ ? 1 : machine.on_node();
    return Network{ports * kAssumedNetwork.bytes_per_s, kAssumedNetwork.latency_s};
  }

  Prediction of(Record const& record, RankLayout const& machine, bool weak) const {
    CostModel const& model = *model_of(record);
    double const more = static_cast<double>(machine.ranks) / static_cast<double>(measured_.ranks);
    RankWork const work =
        model.work(*record.spec, machine, weak ? std::pow(more, model.growth) : 1);
    RankWork const known = model.work(*record.spec, measured_, 1);
    Rates const rates = rates_of(record, known);
    // Of its node a host's rank has a part.
    double const share = shares_ ? machine.on_node() / measured_.on_node() : 1;
    double const compute_s = work.compute * rates.compute_s * share;
    std::optional<Network> const network = network_of(machine);
    bool const leaves = machine.nodes() > 1 && network;
    double const away = leaves ? work.node_bytes : 0;
    double const inside_s = (work.bytes - away / machine.on_node()) * rates.byte_s * share;
    double const latency_s =
        leaves ? std::max(rates.latency_s, network->latency_s) : rates.latency_s;
    double const outside_s = leaves ? away / network->bytes_per_s : 0;
    double const communicate_s = work.messages * latency_s + std::max(inside_s, outside_s);
    double const hidden_s =
        rates.hidden * std::min(compute_s, hideable(work, known) * communicate_s);

    Prediction prediction{record.id, machine.ranks, machine.nodes(), 0, 0, {}};
    prediction.seconds = compute_s + communicate_s - hidden_s;
    if (model.has_legs && communicate_s > 0) {
      prediction.hidden = std::max(0.0, hidden_s / communicate_s);
    }
    double const devices =
        !model.has_legs ? 1
        : shares_ ? static_cast<double>(machine.nodes()) / static_cast<double>(measured_.nodes())
                  : more;
    double const at_measured_rate = record.time.median * work.amount / known.amount / devices;
    if (machine.ranks > measured_.ranks) {
      prediction.seconds = std::max(prediction.seconds, at_measured_rate);
    }
    prediction.efficiency = std::min(1.0, at_measured_rate / prediction.seconds);
    return prediction;
  }

 private:
  /// Measurements that differ in size alone.
  static std::string series_of(Record const& record) {
    return fmt::format("{} {} {}", record.type, record.variant, record.transport);
  }

  /// Share of the communication of `work` that computation can hide. Where it could hide nothing of what
  /// was measured, that tells nothing of it, and all is treated alike.
  static double hideable(RankWork const& work, RankWork const& known) {
    return known.exposed < 1 ? 1 - work.exposed : 1;
  }

  Rates rates_of(Record const& record, RankWork const& known) const {
    if (!model_of(record)->has_legs) return fitted(reductions_.at(series_of(record)));
    measure::LegSummary const& legs = *record.leg_summary;
    Rates rates;
    for (auto const& [series, times] : reductions_) {
      // Small messages tell a latency; of several kinds the fastest one.
      bool const is_same = series.ends_with(" " + record.transport);
      double const latency_s = fitted(times).latency_s;
      bool const is_first = rates.latency_s == 0;
      if (is_same && latency_s > 0 && (is_first || latency_s < rates.latency_s)) {
        rates.latency_s = latency_s;
      }
    }
    rates.compute_s = legs.compute_s / known.compute;
    rates.latency_s = std::min(rates.latency_s, legs.communicate_s / std::max(1.0, known.messages));
    rates.byte_s = (legs.communicate_s - known.messages * rates.latency_s) / known.bytes;
    double const shorter = std::min(legs.compute_s, hideable(known, known) * legs.communicate_s);
    double const hidden = (legs.compute_s + legs.communicate_s - legs.overlapped_s) / shorter;
    // Below 0 where both slow each other down, as on hosts without a spare core. Of a leg that is short
    // against the other nothing is known.
    if (legs.hidden) rates.hidden = std::clamp(hidden, -1.0, 1.0);
    return rates;
  }

  PredictSettings const& settings_;
  std::int64_t per_node_ = 1;
  RankLayout measured_;
  bool shares_ = false;  ///< ranks of a node share its processors
  std::map<std::string, std::vector<std::pair<RankWork, double>>> reductions_;
};

bool is_same_work(Record const& a, Record const& b) {
  return a.workload == b.workload && a.type == b.type && a.size == b.size &&
         a.variant == b.variant && a.transport == b.transport && b.spec != nullptr &&
         a.spec->parameters == b.spec->parameters;
}

bool is_within_a_node(RunResult const& run) {
  return std::ranges::all_of(run.info.ranks, [&](comm::Placement const& rank) {
    return rank.node == run.info.ranks.front().node;
  });
}

// To which names of measurements are shortened before a column goes.
constexpr std::size_t kShortName = 20;

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

}  // namespace

PredictionReport predict(std::span<RunResult const> runs, PredictSettings const& settings) {
  PredictionReport report;
  Model const model{runs.front(), settings};
  for (Record const& record : runs.front().records) {
    if (record.transport == "none") continue;
    if (!record.spec && has_speed(record))
      report.left_out.push_back(record.id + ": " + record.unreadable);
    if (model_of(record) == nullptr) continue;
    if (std::string const why = model.problem(record); !why.empty()) {
      report.left_out.push_back(record.id + ": " + why);
      continue;
    }
    std::vector<std::int64_t> impossible;
    std::string obstacle;
    for (std::int64_t const ranks : settings.ranks) {
      std::string const why =
          model_of(record)->unsupported_reason(*record.spec, model.machine(ranks));
      if (why.empty()) {
        report.predictions.push_back(model.of(record, model.machine(ranks), settings.weak));
      } else {
        if (impossible.empty()) obstacle = why;
        impossible.push_back(ranks);
      }
    }
    if (!impossible.empty()) {
      report.impossible.push_back(
          fmt::format("{} on {} ranks: {}", record.id, fmt::join(impossible, ", "), obstacle));
    }
    for (RunResult const& run : runs) {
      for (Record const& other : run.records) {
        if (!is_same_work(record, other) || !has_speed(other)) continue;
        // A rank alone reduces by a copy, of which messages tell nothing.
        if (!model_of(record)->has_legs && other.ranks == 1) continue;
        RankLayout machine{other.ranks, 1};
        std::map<std::string, std::int64_t> nodes;
        for (comm::Placement const& rank : run.info.ranks) {
          machine.per_node = std::max(machine.per_node, ++nodes[rank.node]);
        }
        report.checks.push_back(
            {record.id, other.ranks, model.of(record, machine, false).seconds, other.time.median});
      }
    }
  }
  return report;
}

std::string render_text(PredictionReport const& report, RunResult const& run,
                        PredictSettings const& settings, Terminal const& terminal) {
  std::string const between =
      settings.network ? fmt::format("{} for a node, {}",
                                     core::format_rate(settings.network->bytes_per_s, "B/s"),
                                     core::format_seconds(settings.network->latency_s))
      : is_within_a_node(run)
          ? fmt::format("{} and {} for each GPU or host are assumed: --between-nodes says better",
                        core::format_rate(kAssumedNetwork.bytes_per_s, "B/s"),
                        core::format_seconds(kAssumedNetwork.latency_s))
          : "as measured";
  Document page;
  page.add_text(fmt::format(
      "predicted from {} on {} ranks; {}; between nodes {}", run.info.run_id, run.info.ranks.size(),
      settings.weak ? "matrices grow with the ranks" : "the same size on all ranks", between));
  page.add_gap();
  Table predictions;
  predictions.add_columns({{"case", 34, Align::left},
                           {"ranks", 6},
                           {"nodes"},
                           {"time", 10},
                           {"efficiency"},
                           {"hidden", 7}});
  predictions.columns[0].short_width = kShortName;
  predictions.columns[2].keep = 0;
  predictions.columns[5].keep = 1;
  for (Prediction const& p : report.predictions) {
    predictions.add_row({p.id, fmt::to_string(p.ranks), fmt::to_string(p.nodes),
                         core::format_seconds(p.seconds), percent(p.efficiency),
                         p.hidden ? percent(*p.hidden) : "-"});
  }
  page.add_table(std::move(predictions));
  if (!report.checks.empty()) {
    Table checks{.title = "checked against what was measured"};
    checks.add_columns({{"case", 34, Align::left},
                        {"ranks", 6},
                        {"predicted", 10},
                        {"measured", 10},
                        {"error", 7}});
    checks.columns[0].short_width = kShortName;
    checks.columns[3].keep = 0;
    double largest = 0;
    std::set<std::int64_t> ranks;
    for (PredictionCheck const& check : report.checks) {
      checks.add_row(
          {check.id, fmt::to_string(check.ranks), core::format_seconds(check.predicted_s),
           core::format_seconds(check.measured_s), fmt::format("{:+.0f} %", 100 * check.error())});
      largest = std::max(largest, std::abs(check.error()));
      ranks.insert(check.ranks);
    }
    page.add_gap();
    page.add_table(std::move(checks));
    page.add_text(fmt::format("largest error {} in {} checks on {} ranks{}", percent(largest),
                              report.checks.size(), fmt::join(ranks, ", "),
                              ranks.size() > 1 ? ""
                                               : ": results on other rank counts, named behind the "
                                                 "first, would tell how far to trust it"));
  }
  for (std::string const& line : report.impossible) page.add_text("impossible: " + line);
  for (std::string const& line : report.left_out) page.add_text("left out: " + line);
  return write_text(page, terminal);
}

}  // namespace quadrille::report
