// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/table.hpp"

#include "core/published_launch.hpp"
#include "core/units.hpp"
#include "device/kernel_text.hpp"
#include "report/columns.hpp"
#include "report/tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

namespace quadrille::report {
namespace {

using measure::Record;
using Row = std::vector<std::string>;

Table start_table(std::string title) {
  Table table{.title = std::move(title)};
  for (std::string_view const key : kIdentity) table.add_column(column(key).heading);
  return table;
}

Row start_row(Record const& record) {
  Row row;
  for (std::string_view const key : kIdentity) row.push_back(cell(column(key), record));
  return row;
}

/// What the source of a record's technique launched, and whether its first kernel here differs.
std::string published_launch(Record const& r) {
  if (!r.spec || r.kernels.empty()) return {};
  for (std::string const& text : r.spec->published_launch) {
    auto const launch = core::parse_published_launch(text);
    if (!launch || launch->variant != r.variant) continue;
    if (!launch->why_none.empty()) return launch->why_none;
    auto const here = device::kernel_from_text(r.kernels.front());
    bool const is_same = here && launch->is(r.spec->size, here->grid, here->block);
    return text.substr(launch->variant.size() + 2) + (is_same ? "" : " (differs here)");
  }
  return {};
}

Table kernels_table(measure::RunResult const& result) {
  Table table = start_table("kernels of one execution");
  table.add_column({"kernel", 0, Align::left});
  bool const compares = std::ranges::any_of(
      result.records, [](Record const& r) { return !published_launch(r).empty(); });
  if (compares) table.add_column({"published launch", 0, Align::left});
  for (Record const& r : result.records) {
    for (std::string const& kernel : r.kernels) {
      Row row = start_row(r);
      row.push_back(kernel);
      if (compares) row.push_back(&kernel == &r.kernels.front() ? published_launch(r) : "");
      table.add_row(row);
    }
  }
  return table;
}

// A matrix of more is no table for a screen; the links' table and files have it.
constexpr std::size_t kMaxMatrix = 16;

/// What `cell` makes of each pair, a row for each rank from which and a column for each rank to
/// which messages travel.
Table pair_matrix(measure::RunResult const& result, std::string_view what,
                  std::string (*cell)(measure::PairTimes const&)) {
  Table table = start_table(fmt::format("{}, from a row's rank to a column's", what));
  table.add_column({"from"});
  std::size_t ranks = 0;
  for (Record const& r : result.records) {
    if (!r.pairs.empty()) ranks = std::max(ranks, static_cast<std::size_t>(r.ranks));
  }
  if (ranks > kMaxMatrix) return table;
  for (std::size_t to = 0; to < ranks; ++to) table.columns.push_back({.head = fmt::to_string(to)});
  for (Record const& r : result.records) {
    if (!has_speed(r)) continue;
    std::map<int, Row> rows;
    for (measure::PairTimes const& pair : r.pairs) {
      if (pair.to < 0 || pair.to >= static_cast<int>(ranks)) continue;  // a file may say anything
      Row& row = rows[pair.from];
      if (row.empty()) {
        row = start_row(r);
        row.push_back(std::to_string(pair.from));
        row.resize(table.columns.size(), "-");
      }
      row[kIdentity.size() + 1 + static_cast<std::size_t>(pair.to)] = cell(pair);
    }
    for (auto const& [from, row] : rows) table.add_row(row);
  }
  return table;
}

Table latencies_table(measure::RunResult const& result) {
  return pair_matrix(result, "latency of 8 bytes in us", [](measure::PairTimes const& pair) {
    return fmt::format("{:.2f}", 1e6 * latency_of(pair));
  });
}

Table pair_rates_table(measure::RunResult const& result) {
  return pair_matrix(result, "rate in GB/s", [](measure::PairTimes const& pair) {
    return fmt::format("{:.2f}", rate_of(pair) / 1e9);
  });
}

/// Where there is more than one kind.
Table pair_links_table(measure::RunResult const& result) {
  std::set<std::string> links;
  for (Record const& r : result.records) {
    for (measure::PairTimes const& pair : r.pairs) links.insert(pair.link);
  }
  if (links.size() < 2) return {};
  return pair_matrix(result, "links", [](measure::PairTimes const& pair) { return pair.link; });
}

/// "0 to 3: 12.3 us"
std::string named_pair(measure::PairTimes const& pair, std::string const& value) {
  return fmt::format("{} to {}: {}", pair.from, pair.to, value);
}

/// A line for each kind of link between ranks, which names the slowest pairs.
Table links_table(measure::RunResult const& result) {
  Table table = start_table("links between ranks: medians over their pairs, and the slowest pairs");
  table.add_columns({{"link", 0, Align::left},
                     {"pairs"},
                     {"latency"},
                     {"highest latency", 0, Align::left},
                     {"rate"},
                     {"lowest rate", 0, Align::left}});
  table.columns[kIdentity.size() + 1].keep = 1;  // their number
  for (Record const& r : result.records) {
    std::map<std::string, std::vector<measure::PairTimes const*>> by_link;
    for (measure::PairTimes const& pair : r.pairs) by_link[pair.link].push_back(&pair);
    for (auto const& [link, pairs] : by_link) {
      if (!has_speed(r)) continue;
      auto const latency = [](measure::PairTimes const* pair) { return latency_of(*pair); };
      auto const pair_rate = [](measure::PairTimes const* pair) { return rate_of(*pair); };
      std::vector<double> latencies, rates;
      std::ranges::transform(pairs, std::back_inserter(latencies), latency);
      std::ranges::transform(pairs, std::back_inserter(rates), pair_rate);
      measure::PairTimes const& latest = **std::ranges::max_element(pairs, {}, latency);
      measure::PairTimes const& slowest = **std::ranges::min_element(pairs, {}, pair_rate);
      Row row = start_row(r);
      for (std::string const& cell :
           {link, std::to_string(pairs.size()),
            core::format_seconds(core::summarize(latencies).median),
            named_pair(latest, core::format_seconds(latency_of(latest))),
            core::format_rate(core::summarize(rates).median, "B/s"),
            named_pair(slowest, core::format_rate(rate_of(slowest), "B/s"))}) {
        row.push_back(cell);
      }
      table.add_row(row);
    }
  }
  return table;
}

/// A line for each operation and size, a column for each transport.
Table transport_times_table(std::vector<comm::TransportTime> const& times) {
  Table table{.title = "times of exchanges, by which transport = \"auto\" chooses"};
  table.add_columns({{"operation", 0, Align::left}, {"bytes"}});
  std::vector<std::string_view> names;
  for (comm::TransportTime const& time : times) {
    if (std::ranges::find(names, time.transport) == names.end()) names.push_back(time.transport);
  }
  for (std::string_view const name : names) {
    table.add_column({name});
    table.columns.back().keep = 1;
  }
  table.add_column({"auto takes", 0, Align::left});
  for (auto first = times.begin(); first != times.end();) {
    Row row{first->operation, core::format_bytes(static_cast<double>(first->bytes))};
    row.resize(row.size() + names.size(), "-");
    row.push_back(first->taken);
    auto time = first;
    for (;
         time != times.end() && time->operation == first->operation && time->bytes == first->bytes;
         ++time) {
      auto const at = std::ranges::find(names, time->transport) - names.begin();
      row[2 + static_cast<std::size_t>(at)] = core::format_seconds(time->seconds);
    }
    table.add_row(row);
    first = time;
  }
  return table;
}

std::string memory_text(std::int64_t bytes) {
  return bytes > 0 ? core::format_bytes(static_cast<double>(bytes)) : "-";
}

Table ranks_table(std::vector<comm::Placement> const& ranks) {
  Table table;
  table.columns = {{"rank"},
                   {"node", Align::left},
                   {"local", Align::right, 1},
                   {"device", Align::left},
                   {"pci", Align::left, 3},
                   {"numa", Align::right, 2},
                   {"threads", Align::right, 5},
                   {"memory", Align::right, 4},
                   {"cpus", Align::left, 6}};
  for (comm::Placement const& r : ranks) {
    table.add_row({fmt::format("{}", r.rank), r.node, fmt::format("{}", r.local_rank), r.device,
                   r.pci.empty() ? "-" : r.pci, r.numa < 0 ? "-" : fmt::format("{}", r.numa),
                   fmt::format("{}", r.threads), memory_text(r.free_memory), r.cpus});
  }
  return table;
}

/// "0-3, 8".
std::string list_ranges(std::vector<int> const& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    int const first = numbers[i];
    while (i + 1 < numbers.size() && numbers[i + 1] == numbers[i] + 1) ++i;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", first);
    if (numbers[i] > first) text += fmt::format("-{}", numbers[i]);
  }
  return text;
}

/// Names each once, with how often it occurs where that is more than once.
std::string list_counted(std::map<std::string, int> const& counts) {
  std::string text;
  for (auto const& [name, n] : counts) {
    text +=
        fmt::format("{}{}{}", text.empty() ? "" : ", ", n > 1 ? fmt::format("{} x ", n) : "", name);
  }
  return text;
}

/// In the order of their first ranks.
Table nodes_table(std::vector<comm::Placement> const& ranks) {
  struct Node {
    std::string name;
    std::vector<int> ranks;
    std::map<std::string, int> devices;  ///< of ranks
    std::int64_t memory = 0;             ///< of the rank that has least
    std::set<int> threads;
  };
  std::vector<Node> nodes;
  std::map<std::string, std::size_t> places;
  for (comm::Placement const& r : ranks) {
    auto const [place, is_new] = places.try_emplace(r.node, nodes.size());
    if (is_new) nodes.emplace_back().memory = r.free_memory;
    Node& node = nodes[place->second];
    node.name = r.node;
    node.ranks.push_back(r.rank);
    ++node.devices[r.device];
    node.memory = std::min(node.memory, r.free_memory);
    node.threads.insert(r.threads);
  }
  Table table;
  table.columns = {{"node", Align::left},
                   {"ranks", Align::left},
                   {"threads", Align::right, 2},
                   {"memory", Align::right, 1},
                   {"devices of ranks", Align::left}};
  for (Node const& node : nodes) {
    table.add_row({node.name, list_ranges(node.ranks),
                   list_ranges({node.threads.begin(), node.threads.end()}),
                   memory_text(node.memory), list_counted(node.devices)});
  }
  return table;
}

/// How many ranks, nodes and devices.
std::string counts_of(std::vector<comm::Placement> const& ranks) {
  std::set<std::string> nodes;
  std::set<std::tuple<std::string, std::string>> devices;
  for (comm::Placement const& r : ranks) {
    nodes.insert(r.node);
    // Host devices have no identifier: all ranks of a node share its cores.
    devices.insert({r.uuid.empty() ? r.node : r.uuid, r.device});
  }
  return fmt::format("{}, {}, {}", counted(ranks.size(), "rank"), counted(nodes.size(), "node"),
                     counted(devices.size(), "device"));
}

/// A line for each of few ranks, else for each node.
Table placement_table(std::vector<comm::Placement> const& ranks) {
  constexpr std::size_t kFewRanks = 16;
  return ranks.size() > kFewRanks ? nodes_table(ranks) : ranks_table(ranks);
}

}  // namespace

std::string counted(std::size_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string build_fact(measure::RunInfo const& info, std::string_view name) {
  auto const found = std::ranges::find(
      info.build, name, [](auto const& fact) { return std::string_view{fact.first}; });
  return found == info.build.end() ? "unknown" : found->second;
}

std::string version_line(measure::RunInfo const& info) {
  return fmt::format("Quadrille {}, commit {}", build_fact(info, "version"),
                     build_fact(info, "commit"));
}

std::string placement_line(measure::RunInfo const& info) {
  std::map<std::string, int> devices;
  for (comm::Placement const& r : info.ranks) ++devices[r.device];
  return fmt::format("{}: {}", counts_of(info.ranks), list_counted(devices));
}

std::vector<Table> tables_of_pairs(measure::RunResult const& result) {
  std::vector<Table> tables{links_table(result), latencies_table(result), pair_rates_table(result),
                            pair_links_table(result)};
  std::erase_if(tables, [](Table const& table) { return table.rows() == 0; });
  return tables;
}

std::vector<Table> tables_of_details(measure::RunResult const& result) {
  std::vector<Table> tables{kernels_table(result),
                            transport_times_table(result.info.transport_times)};
  std::erase_if(tables, [](Table const& table) { return table.rows() == 0; });
  for (Table& table : tables) table.is_detail = true;
  return tables;
}

std::string render_run_header(measure::RunInfo const& info, Terminal const& terminal) {
  constexpr std::size_t kIndent = 15;
  Document page;
  page.add_text(version_line(info));
  auto const add = [&](std::string const& name, std::string const& value) {
    page.add_labelled("  " + name, kIndent, value, Tone::plain);
  };
  if (!info.run_id.empty()) add("run", fmt::format("{}, started {}", info.run_id, info.started));
  for (auto const& [name, value] : info.build) {
    if (name != "version" && name != "commit") add(name, value);
  }
  page.add_text(counts_of(info.ranks));
  page.add_table(placement_table(info.ranks));
  std::map<std::string, std::vector<int>> settings;
  for (comm::Placement const& rank : info.ranks) settings[rank.settings].push_back(rank.rank);
  for (auto const& [line, ranks] : settings) {
    if (!line.empty()) add("settings", fmt::format("of rank {}: {}", list_ranges(ranks), line));
  }
  return write_text(page, terminal);
}

std::string render_transport_times(std::vector<comm::TransportTime> const& times,
                                   Terminal const& terminal) {
  return write_text(transport_times_table(times), terminal);
}

std::string result_line(measure::RunResult const& result, std::string const& file) {
  measure::Counts const counts = count_outcomes(result);
  measure::Ending const ending = ending_of(result);
  std::string reason;
  if (!ending.has_passed()) {
    reason = ending.reason;
    std::ranges::replace(reason, '"', '\'');
    reason = fmt::format("reason=\"{}\" ", reason);
  }
  std::string const wrong_libraries =
      counts.wrong_libraries > 0 ? fmt::format("wrong_libraries={} ", counts.wrong_libraries) : "";
  return fmt::format(
      "RESULT {} executed={} of={} passed={} failed={} {}skipped={} unsupported={} {}file={}",
      ending.has_passed() ? "PASS" : "FAIL", counts.executed(), result.records.size(),
      counts.passed, counts.failed, wrong_libraries, counts.skipped, counts.unsupported, reason,
      file);
}

}  // namespace quadrille::report
