// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/predict.hpp"

#include "commands/commands.hpp"
#include "core/config.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "report/open.hpp"
#include "run/output.hpp"
#include "workloads/registry.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

namespace quadrille::commands {
namespace {

using run::refuse;

struct PredictArguments {
  std::vector<std::string> files;  ///< the run to predict from, then runs to check against
  std::string ranks;               ///< a sweep
  std::int64_t ranks_per_node = 0;
  std::string between_nodes;  ///< "RATE, LATENCY"; "": as within a node
  bool weak = false;
};

// A grid of more is no machine of today, and its table no help.
constexpr std::int64_t kMaxRanks = 1 << 24;
constexpr std::size_t kMaxCounts = 1000;

core::Parsed<std::vector<std::int64_t>> rank_counts(std::string const& text) {
  using Counts = core::Parsed<std::vector<std::int64_t>>;
  auto const wrong = [](std::string const& why) {
    return Counts::error(
        fmt::format("--ranks: {}; write a count such as 64, or a range such as 8:4096:*2", why));
  };
  core::Parsed<std::vector<std::string>> const texts = core::expand_sweep(text);
  if (!texts) return wrong(texts.why());
  std::vector<std::int64_t> counts;
  for (std::string const& one : *texts) {
    core::Parsed<std::int64_t> const count = core::parse_count(one);
    if (!count) return wrong(count.why());
    if (*count < 1 || *count > kMaxRanks || counts.size() == kMaxCounts) {
      return Counts::error(fmt::format("--ranks: '{}': give up to {} counts from 1 to {}", text,
                                       kMaxCounts, kMaxRanks));
    }
    counts.push_back(*count);
  }
  return counts;
}

/// "100 GB/s, 2us"
core::Parsed<report::Network> network_of(std::string const& text) {
  using Parsed = core::Parsed<report::Network>;
  std::size_t const comma = text.find(',');
  auto const trimmed = [](std::string part) {
    part.erase(0, part.find_first_not_of(' '));
    return part;
  };
  auto const rate = core::parse_rate(text.substr(0, comma));
  if (!rate) return Parsed::error("--between-nodes: " + rate.why());
  if (comma == std::string::npos) return report::Network{*rate, 0};
  auto const latency = core::parse_seconds(trimmed(text.substr(comma + 1)));
  if (!latency) return Parsed::error("--between-nodes: " + latency.why());
  return report::Network{*rate, *latency};
}

/// Exit::nothing_executed where the result has nothing to predict from, Exit::bad_config where none of
/// the rank counts can do what it has.
core::Exit predict(PredictArguments const& arguments) {
  auto const ranks = rank_counts(arguments.ranks);
  if (!ranks) return refuse(ranks.why());
  report::PredictSettings settings{
      .ranks = *ranks, .ranks_per_node = arguments.ranks_per_node, .weak = arguments.weak};
  if (arguments.ranks_per_node < 0) return refuse("--ranks-per-node: give 1 or more");
  if (!arguments.between_nodes.empty()) {
    auto const network = network_of(arguments.between_nodes);
    if (!network) return refuse(network.why());
    settings.network = *network;
  }
  std::vector<measure::RunResult> runs;
  for (std::string const& path : arguments.files) {
    core::Parsed<measure::RunResult> const run = report::open_result(path);
    if (!run) return refuse(run.why());
    runs.push_back(*run);
  }
  report::PredictionReport const report = report::predict(runs, settings);
  if (report.predictions.empty() && !report.impossible.empty()) {
    return refuse("--ranks: nothing runs on so many ranks: " + report.impossible.front());
  }
  if (report.predictions.empty()) {
    std::vector<std::string> known;
    for (measure::WorkloadEntry const* entry : workloads::workloads()) {
      if (entry->cost_model == nullptr) continue;
      known.push_back(fmt::format("{}{}", entry->schema.name,
                                  entry->cost_model->has_legs ? " (legs = true)" : ""));
    }
    core::print_error(
        "quadrille: nothing to predict from: run one of {} on 2 ranks or more{}\n",
        fmt::join(known, ", "),
        report.left_out.empty() ? "" : core::one_line("; " + report.left_out.front()));
    return core::Exit::nothing_executed;
  }
  core::print("{}",
              core::printable(report::render_text(report, runs.front(), settings,
                                                  {.width = report::terminal_of_output().width})));
  return core::Exit::pass;
}

}  // namespace

void add_predict(CLI::App& app, Action& action) {
  auto const arguments = std::make_shared<PredictArguments>();
  CLI::App* const command = app.add_subcommand(
      "predict", "Time, efficiency and hidden communication on more ranks, from measured rates");
  command->add_option("--ranks", arguments->ranks, "Rank counts: 64, or 8:4096:*2")->required();
  command->add_option("--ranks-per-node", arguments->ranks_per_node,
                      "Ranks of a full node (default: as many as were measured)");
  command->add_option("--between-nodes", arguments->between_nodes,
                      "Network of a node: rate of all its ranks together and latency of a "
                      "message, such as \"100 GB/s, 2us\" (default: as within a node)");
  command->add_flag("--weak", arguments->weak,
                    "Let matrices grow with the ranks, so that each keeps as much memory");
  command
      ->add_option("result", arguments->files,
                   "The run to predict from, then runs on other ranks to check against")
      ->type_name("FILE")
      ->required();
  command->footer("Example: quadrille predict --ranks 8:4096:*2 results/RUN");
  command->callback([&action, arguments] {
    action = [arguments](int&, char**&) { return predict(*arguments); };
  });
}

}  // namespace quadrille::commands
