// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/predict.hpp"

#include "comm/grid.hpp"
#include "core/toml.hpp"
#include "core/units.hpp"
#include "report/columns.hpp"
#include "workloads/cannon.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace quadrille::report {
namespace {

using measure::Record;
using measure::RunResult;

/// Ranks and how they lie on nodes.
struct Machine {
  std::int64_t ranks = 1;
  std::int64_t per_node = 1;  ///< on a full node
  std::int64_t nodes() const { return (ranks + per_node - 1) / per_node; }
  double on_node() const { return static_cast<double>(std::min(ranks, per_node)); }
};

/// What a rank does in a repetition.
struct Work {
  double amount = 0;      ///< of all ranks, in which efficiency is counted
  double compute = 0;     ///< of the rank that has most, in any unit
  double messages = 0;    ///< one after the other
  double bytes = 0;       ///< that it receives
  double node_bytes = 0;  ///< that all ranks of its node receive from other nodes
  double exposed = 0;     ///< share of the bytes under which there is nothing to compute
};

double tree(double ranks) { return std::ceil(std::log2(ranks)); }

/// Of `peers` others of a group that has `here` members on a node, the share on other nodes.
double share_away(double size, double here) {
  return size > 1 ? 1 - (std::clamp(here, 1.0, size) - 1) / (size - 1) : 0;
}

/// Of neighbours in a ring of `size`, of which `here` side by side are on a node, the share on another.
double neighbours_away(double size, double here) {
  return here < size ? 1 / std::max(1.0, here) : 0;
}

/// Of those who multiply parts of one product.
core::GridShape grid_of(Record const& record, Machine const& machine, std::int64_t layers = 1) {
  if (machine.ranks != record.ranks || record.grid.empty()) {
    return comm::near_square(static_cast<int>(machine.ranks / layers));
  }
  std::size_t const x = record.grid.find('x');
  return {std::stoi(record.grid.substr(0, x)), std::stoi(record.grid.substr(x + 1))};
}

/// A key of its configuration; nothing where it has no such one.
template <class T>
std::optional<T> key_of(Record const& record, char const* key) {
  if (core::find_syntax_error(record.config).line != 0) return {};
  toml::parse_result const parsed = toml::parse(record.config);
  if (!parsed) return {};
  return parsed.table()["case"][0][key].value<T>();
}

double panel_of(Record const& record, double whole) {
  auto const panel = key_of<std::int64_t>(record, "panel");
  return panel ? std::min(whole, static_cast<double>(*panel)) : whole;
}

double size_of(Record const& record) {
  auto const type = core::parse_enum<core::DataType>(record.type);
  return type ? static_cast<double>(core::size_of(*type)) : 8;
}

/// One number represents all extents.
double extent(Record const& record, std::size_t i) {
  return static_cast<double>(i < record.size.size() ? record.size[i] : record.size.front());
}

// Each gives a repetition on a machine, with every extent times `scale`.

/// How a product is divided.
struct SummaKeys {
  explicit SummaKeys(Record const& record)
      : shifts{key_of<std::string>(record, "schedule") == "cannon"},
        layers{key_of<std::int64_t>(record, "layers").value_or(1)},
        block{static_cast<double>(key_of<std::int64_t>(record, "block").value_or(0))} {}
  bool operator==(SummaKeys const&) const = default;

  bool shifts;
  std::int64_t layers;
  double block;  ///< of a block-cyclic matrix; 0: a block for each process
};

std::string obstacle_to_summa(Record const& record, Machine const& machine) {
  SummaKeys const keys{record};
  if (machine.ranks % keys.layers != 0)
    return fmt::format("{} layers do not divide them", keys.layers);
  if (!keys.shifts) return {};
  return workloads::Cannon::unsupported_reason(grid_of(record, machine, keys.layers));
}

Work work_of_summa(Record const& record, Machine const& machine, double scale) {
  SummaKeys const keys{record};
  auto const layers = static_cast<double>(keys.layers);
  core::GridShape const grid = grid_of(record, machine, keys.layers);
  double const p = grid.rows, q = grid.cols;
  double const m = extent(record, 0) * scale, n = extent(record, 1) * scale,
               k = extent(record, 2) * scale / layers;
  double const rows = std::ceil(m / p), cols = std::ceil(n / q);
  double const here = machine.on_node(), rows_here = std::floor(here / q);
  double const a = size_of(record) * rows * k * (q - 1) / q;
  double const b = size_of(record) * k * cols * (p - 1) / p;
  Work work{.amount = m * n * k * layers, .compute = rows * cols * k, .bytes = a + b};
  double away = a * share_away(q, here) + b * share_away(p, rows_here);
  double exposed = 0;
  if (keys.shifts) {
    work.messages = p + q - 2;
    // On P x P most come for the first product from afar, all others from neighbours.
    double const first = p > 1 && q > 1 ? 1 / (p - 1) : 0;
    double const later = a * neighbours_away(q, here) + b * neighbours_away(p, rows_here);
    away = first * away + (1 - first) * later;
    exposed = first * (a + b);
  } else {
    double const part = std::ceil(k / std::max(p, q));
    double const whole = keys.block > 0 ? std::min(keys.block, part) : part;
    work.messages = std::ceil(k / panel_of(record, whole)) * (tree(p) + tree(q));
  }
  if (keys.layers > 1) {
    // What all layers have is added up behind the last product, block by block.
    double const c = size_of(record) * rows * cols * (layers - 1) / layers;
    work.messages += tree(layers) * (keys.block > 0 ? std::ceil(rows / (keys.block * layers)) : 1);
    work.bytes += c;
    away += c * share_away(layers, std::floor(here / (p * q)));
    exposed += c;
  }
  work.node_bytes = here * away;
  if (work.bytes > 0) work.exposed = exposed / work.bytes;
  return work;
}

Work work_of_ptrans(Record const& record, Machine const& machine, double scale) {
  core::GridShape const grid = grid_of(record, machine);
  auto const ranks = static_cast<double>(machine.ranks);
  double const m = extent(record, 0) * scale, n = extent(record, 1) * scale;
  double const rows = std::ceil(m / grid.rows), cols = std::ceil(n / grid.cols);
  double const bytes = size_of(record) * rows * cols * (ranks - 1) / ranks;
  double const steps = std::ceil(rows / panel_of(record, rows));
  double const here = machine.on_node();
  return {.amount = m * n,
          .compute = rows * cols,
          .messages = steps * (ranks - 1),
          .bytes = bytes,
          .node_bytes = here * bytes * share_away(ranks, here)};
}

Work work_of_allreduce(Record const& record, Machine const& machine, double) {
  auto const ranks = static_cast<double>(machine.ranks);
  double const bytes = 2 * (ranks - 1) / ranks * size_of(record) * extent(record, 0);
  // Of a ring one rank of a node receives from another one.
  return {.amount = bytes,
          .messages = 2 * tree(ranks),
          .bytes = bytes,
          .node_bytes = machine.nodes() > 1 ? bytes : 0};
}

std::string obstacle_to_allreduce(Record const&, Machine const& machine) {
  return machine.ranks > 1 ? "" : "one rank exchanges nothing";
}

/// What of a workload is known here.
struct Modelled {
  std::string_view workload;
  Work (*work)(Record const& record, Machine const& machine, double scale);
  bool has_legs;
  double growth;  ///< extents grow with ranks ^ growth where each keeps its memory
  /// Why so many ranks cannot do it; empty where they can.
  std::string (*obstacle)(Record const& record, Machine const& machine) = nullptr;
};
constexpr Modelled kModelled[] = {
    {"summa", work_of_summa, true, 0.5, obstacle_to_summa},
    {"ptrans", work_of_ptrans, true, 0.5},
    {"allreduce", work_of_allreduce, false, 0, obstacle_to_allreduce}};

Modelled const* model_of(Record const& record) {
  auto const found = std::ranges::find(kModelled, record.workload, &Modelled::workload);
  return found == std::end(kModelled) ? nullptr : &*found;
}

/// Measured rates of a case.
struct Rates {
  double compute_s = 0;  ///< for one unit of Work::compute
  double byte_s = 0;
  double latency_s = 0;
  double hidden = 0;  ///< of the shorter one of computation and what of communication it can hide
};

/// Latency and seconds per byte that are closest to the times, each by its own size. What would come
/// out below 0 is 0.
Rates fitted(std::vector<std::pair<Work, double>> const& times) {
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
      Modelled const* const model = model_of(record);
      bool const is_fit = model != nullptr && !model->has_legs && !record.modelled_link;
      if (!is_fit || !has_speed(record) || measured_.ranks < 2) continue;
      auto& times = reductions_[series_of(record)];
      times.emplace_back(model->work(record, measured_, 1), record.time.median);
    }
  }

  /// Why a measurement tells nothing of other machines; empty where it does.
  std::string problem(Record const& record) const {
    Modelled const& model = *model_of(record);
    if (!has_speed(record)) return "it has no speed";
    if (record.modelled_link) return "its link is modelled";
    if (measured_.ranks < 2) return "one rank sends no messages: predict from a run on 2 or more";
    if (record.size.empty()) return "it has no size";
    if (model.has_legs && !record.leg_summary) return "it has no legs: measure with legs = true";
    return {};
  }

  std::string obstacle(Record const& record, Machine const& machine) const {
    Modelled const& model = *model_of(record);
    return model.obstacle == nullptr ? "" : model.obstacle(record, machine);
  }

  Machine machine(std::int64_t ranks) const {
    return {ranks, settings_.ranks_per_node > 0 ? settings_.ranks_per_node : per_node_};
  }

  /// Between the nodes of a machine; none where it is measured with the rest, or where there are none.
  std::optional<Network> network_of(Machine const& machine) const {
    if (settings_.network || measured_.nodes() > 1) return settings_.network;
    double const ports = shares_ ? 1 : machine.on_node();
    return Network{ports * kAssumedNetwork.bytes_per_s, kAssumedNetwork.latency_s};
  }

  Prediction of(Record const& record, Machine const& machine, bool weak) const {
    Modelled const& model = *model_of(record);
    double const more = static_cast<double>(machine.ranks) / static_cast<double>(measured_.ranks);
    Work const work = model.work(record, machine, weak ? std::pow(more, model.growth) : 1);
    Work const known = model.work(record, measured_, 1);
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
  static double hideable(Work const& work, Work const& known) {
    return known.exposed < 1 ? 1 - work.exposed : 1;
  }

  Rates rates_of(Record const& record, Work const& known) const {
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
  Machine measured_;
  bool shares_ = false;  ///< ranks of a node share its processors
  std::map<std::string, std::vector<std::pair<Work, double>>> reductions_;
};

bool is_same_work(Record const& a, Record const& b) {
  return a.workload == b.workload && a.type == b.type && a.size == b.size &&
         a.variant == b.variant && a.transport == b.transport && SummaKeys{a} == SummaKeys{b};
}

bool is_within_a_node(RunResult const& run) {
  return std::ranges::all_of(run.info.ranks, [&](comm::Placement const& rank) {
    return rank.node == run.info.ranks.front().node;
  });
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

}  // namespace

PredictionReport predict(std::span<RunResult const> runs, PredictSettings const& settings) {
  PredictionReport report;
  Model const model{runs.front(), settings};
  for (Record const& record : runs.front().records) {
    if (model_of(record) == nullptr || record.transport == "none") continue;
    if (std::string const why = model.problem(record); !why.empty()) {
      report.left_out.push_back(record.id + ": " + why);
      continue;
    }
    std::vector<std::int64_t> impossible;
    std::string obstacle;
    for (std::int64_t const ranks : settings.ranks) {
      std::string const why = model.obstacle(record, model.machine(ranks));
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
        Machine machine{other.ranks, 1};
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
                        PredictSettings const& settings) {
  std::string text = fmt::format(
      "predicted from {} on {} ranks; {}; between nodes {}\n\n{:<34}{:>8}{:>7}{:>12}{:>12}{:>9}\n",
      run.info.run_id, run.info.ranks.size(),
      settings.weak ? "matrices grow with the ranks" : "the same size on all ranks",
      settings.network ? fmt::format("{} for a node, {}",
                                     core::format_rate(settings.network->bytes_per_s, "B/s"),
                                     core::format_seconds(settings.network->latency_s))
      : is_within_a_node(run)
          ? fmt::format("{} and {} for each GPU or host are assumed: --between-nodes "
                        "says better",
                        core::format_rate(kAssumedNetwork.bytes_per_s, "B/s"),
                        core::format_seconds(kAssumedNetwork.latency_s))
          : "as measured",
      "case", "ranks", "nodes", "time", "efficiency", "hidden");
  for (Prediction const& p : report.predictions) {
    text += fmt::format("{:<34}{:>8}{:>7}{:>12}{:>12}{:>9}\n", p.id, p.ranks, p.nodes,
                        core::format_seconds(p.seconds), percent(p.efficiency),
                        p.hidden ? percent(*p.hidden) : "-");
  }
  if (!report.checks.empty()) {
    text += fmt::format("\nchecked against what was measured\n{:<34}{:>8}{:>12}{:>12}{:>9}\n",
                        "case", "ranks", "predicted", "measured", "error");
  }
  double largest = 0;
  std::set<std::int64_t> ranks;
  for (PredictionCheck const& check : report.checks) {
    text += fmt::format("{:<34}{:>8}{:>12}{:>12}{:>+7.0f} %\n", check.id, check.ranks,
                        core::format_seconds(check.predicted_s),
                        core::format_seconds(check.measured_s), 100 * check.error());
    largest = std::max(largest, std::abs(check.error()));
    ranks.insert(check.ranks);
  }
  if (!report.checks.empty()) {
    text +=
        fmt::format("largest error {} in {} checks on {} ranks{}\n", percent(largest),
                    report.checks.size(), fmt::join(ranks, ", "),
                    ranks.size() > 1 ? ""
                                     : ": results on other rank counts, named behind the first, "
                                       "would tell how far to trust it");
  }
  for (std::string const& line : report.impossible) text += fmt::format("impossible: {}\n", line);
  for (std::string const& line : report.left_out) text += fmt::format("left out: {}\n", line);
  return text;
}

}  // namespace quadrille::report
