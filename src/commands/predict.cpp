// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/predict.hpp"

#include "commands/commands.hpp"
#include "core/config.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "io/result_file.hpp"

#include <fmt/format.h>

namespace quadrille::commands {
namespace {

core::Exit refuse(std::string_view why) {
  core::print_error("quadrille: {}\n", core::one_line(why));
  return core::Exit::bad_config;
}

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

}  // namespace

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
    core::Parsed<measure::RunResult> const run = io::read_result(path);
    if (!run) return refuse(run.why());
    runs.push_back(*run);
  }
  report::PredictionReport const report = report::predict(runs, settings);
  if (report.predictions.empty() && !report.impossible.empty()) {
    return refuse("--ranks: nothing runs on so many ranks: " + report.impossible.front());
  }
  if (report.predictions.empty()) {
    core::print_error(
        "quadrille: nothing to predict from: run summa, ptrans (legs = true) or allreduce on "
        "2 ranks or more{}\n",
        report.left_out.empty() ? "" : core::one_line("; " + report.left_out.front()));
    return core::Exit::nothing_executed;
  }
  core::print("{}", core::printable(report::render_text(report, runs.front(), settings)));
  return core::Exit::pass;
}

}  // namespace quadrille::commands
