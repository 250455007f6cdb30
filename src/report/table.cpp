// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/table.hpp"

#include "core/units.hpp"
#include "report/assessment.hpp"
#include "report/cells.hpp"
#include "report/columns.hpp"
#include "report/tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

namespace quadrille::report {
namespace {

using measure::Outcome;
using measure::Record;
using Row = std::vector<std::string>;

/// Foot notes, each printed once.
class Notes {
 public:
  /// "[2]", the number of this note.
  std::string cite(std::string const& note) {
    auto const found = std::ranges::find(notes_, note);
    auto const number = found - notes_.begin() + 1;
    if (found == notes_.end()) notes_.push_back(note);
    return fmt::format("[{}]", number);
  }
  std::vector<std::string> const& all() const { return notes_; }

 private:
  std::vector<std::string> notes_;
};

std::string flags_of(Record const& r, std::span<Record const> all, Notes& notes) {
  std::vector<std::string> flags;
  if (!r.suspect.empty()) {
    std::string flag = "SUSPECT";
    for (std::string const& reason : r.suspect) flag += notes.cite("SUSPECT: " + reason);
    flags.push_back(flag);
  }
  if (r.modelled_link) {
    flags.push_back("modelled link" + notes.cite(fmt::format("modelled link: {}", kModelledLink)));
  }
  if (r.is_host_timed) {
    flags.push_back("host clock" + notes.cite(fmt::format("host clock: {}", kHostClock)));
  }
  if (auto const of_rates = contradicting_vendor_percent(r, all)) {
    flags.push_back("vs vendor" +
                    notes.cite(fmt::format("vs vendor: the median of the paired ratios; by the "
                                           "median rates it is {:.2f}: times drifted",
                                           *of_rates / 100)));
  }
  std::vector<std::string> why;
  if (!r.reason.empty()) why.push_back(r.reason);
  if (r.outcome == Outcome::fail && !r.check.first_wrong.empty() &&
      r.check.first_wrong != r.reason) {
    why.push_back(r.check.first_wrong);
  }
  if (!why.empty()) {
    flags.push_back(
        notes.cite(fmt::format("{}: {}", core::to_text(r.outcome), fmt::join(why, "; "))));
  }
  return fmt::format("{}", fmt::join(flags, " "));
}

using Keys = std::vector<std::string_view>;
using Columns = std::vector<Column const*>;

/// Which measurement it is, then these.
Columns columns_of(Keys const& keys) {
  Columns columns;
  for (Keys const& part : {Keys{"case", "size", "type", "variant"}, keys}) {
    for (std::string_view const key : part) columns.push_back(&column(key));
  }
  return columns;
}

Table start_table(std::string title, Columns const& columns) {
  Table table{.title = std::move(title)};
  for (Column const* column : columns) table.add_column(column->heading);
  return table;
}

Row start_row(Columns const& columns, Record const& record) {
  Row row;
  for (Column const* column : columns) row.push_back(cell(*column, record));
  return row;
}

void add_columns(Table& table, std::initializer_list<Heading> headings) {
  for (Heading const& heading : headings) table.add_column(heading);
}

/// A line for each record that `takes` takes.
Table table_of(measure::RunResult const& result, std::string title, Keys const& keys,
               bool (*takes)(Record const&)) {
  Columns const columns = columns_of(keys);
  Table table = start_table(std::move(title), columns);
  for (Record const& record : result.records) {
    if (takes(record)) table.add_row(start_row(columns, record));
  }
  return table;
}

Table main_table(measure::RunResult const& result, Notes& notes) {
  Keys keys{"ranks",           "median_s",      "rate",  "percent_of_peak",
            "ratio_to_vendor", "ratio_to_copy", "error", "verdict"};
  // A column that only some runs have.
  bool const has_local = std::ranges::any_of(
      result.records, [](Record const& r) { return r.share_of_local.has_value(); });
  if (has_local) keys.insert(std::ranges::find(keys, "error"), "share_of_local");
  // Those of cases that exchange data, where a reader would look for the better one.
  std::set<std::string> transports;
  for (Record const& r : result.records) {
    if (!r.transport.empty() && r.transport != "none") transports.insert(r.transport);
  }
  if (transports.size() > 1) keys.insert(keys.begin(), "transport");
  Table table = table_of(result, "", keys, [](Record const&) { return true; });
  table.add_column({"flags", 0, Align::left});
  for (Record const& record : result.records) {
    table.columns.back().cells.push_back(flags_of(record, result.records, notes));
  }
  return table;
}

Table times_table(measure::RunResult const& result) {
  return table_of(result, "times over all ranks: per repetition the slowest rank",
                  {"samples", "min_s", "median_s", "median_low_s", "p95_s", "max_s", "first_use_s",
                   "imbalance", "slowest_rank", "timing", "batch", "buffer_sets"},
                  has_speed);
}

Table rounds_table(measure::RunResult const& result) {
  return table_of(result, "rounds: the least and the largest of their medians, and the last",
                  {"rounds", "fastest_round_s", "slowest_round_s", "median_s"},
                  [](Record const& r) { return r.rounds > 1 && has_speed(r); });
}

Table legs_table(measure::RunResult const& result) {
  return table_of(
      result, "overlap: hidden = (compute + communicate - overlapped) / min(compute, communicate)",
      {"compute_s", "communicate_s", "serial_s", "overlapped_s", "hidden", "overlapped_over_max",
       "slowdown_compute", "slowdown_communicate"},
      has_legs);
}

Table roofline_table(measure::RunResult const& result) {
  return table_of(
      result,
      "roofline: work over the larger of operations / peak and compulsory bytes / bandwidth",
      {"intensity", "rate", "ceiling", "percent_of_ceiling", "roof", "ceiling_is_measured",
       "limit"},
      [](Record const& r) { return has_speed(r) && ceiling_of(r).has_value(); });
}

Table published_table(measure::RunResult const& result) {
  return table_of(result, "published figures, of other devices",
                  {"rate", "published_rate", "published_on", "source"},
                  [](Record const& r) { return r.published > 0; });
}

Table energy_table(measure::RunResult const& result) {
  return table_of(result, "energy, while the clock was sustained",
                  {"samples", "batch", "energy_j", "rate", "rate_per_watt"},
                  [](Record const& r) { return has_speed(r) && r.energy_j.has_value(); });
}

Table extras_table(measure::RunResult const& result) {
  Columns const which = columns_of({});
  Table table = start_table("further rates", which);
  table.add_column({"what", 22, Align::left});
  table.add_column({"rate", 13, Align::right});
  for (Record const& r : result.records) {
    if (!has_speed(r)) continue;
    for (measure::SecondaryMetric const& extra : r.extras) {
      auto const [value, unit] = extra_text(extra, r);
      Row row = start_row(which, r);
      row.push_back(extra.name);
      row.push_back(unit.empty() ? value : value + ' ' + unit);
      table.add_row(row);
    }
  }
  return table;
}

Table kernels_table(measure::RunResult const& result) {
  Columns const which = columns_of({});
  Table table = start_table("kernels of one execution", which);
  table.add_column({"kernel", 0, Align::left});
  for (Record const& r : result.records) {
    for (std::string const& kernel : r.kernels) {
      Row row = start_row(which, r);
      row.push_back(kernel);
      table.add_row(row);
    }
  }
  return table;
}

// A matrix of more is no table for a screen; the links' table and files have it.
constexpr std::string_view kRankNames[]{"0", "1", "2",  "3",  "4",  "5",  "6",  "7",
                                        "8", "9", "10", "11", "12", "13", "14", "15"};

/// What `cell` makes of each pair, a row for each rank from which and a column for each rank to
/// which messages travel.
Table pair_matrix(measure::RunResult const& result, std::string_view what,
                  std::string (*cell)(measure::PairTimes const&)) {
  Columns const which = columns_of({});
  Table table = start_table(fmt::format("{}, from a row's rank to a column's", what), which);
  table.add_column({"from", 4, Align::right});
  std::size_t ranks = 0;
  for (Record const& r : result.records) {
    if (!r.pairs.empty()) ranks = std::max(ranks, static_cast<std::size_t>(r.ranks));
  }
  if (ranks > std::size(kRankNames)) return table;
  for (std::size_t to = 0; to < ranks; ++to) {
    table.add_column({kRankNames[to], 7, Align::right});
  }
  for (Record const& r : result.records) {
    if (!has_speed(r)) continue;
    std::map<int, Row> rows;
    for (measure::PairTimes const& pair : r.pairs) {
      if (pair.to < 0 || pair.to >= static_cast<int>(ranks)) continue;  // a file may say anything
      Row& row = rows[pair.from];
      if (row.empty()) {
        row = start_row(which, r);
        row.push_back(std::to_string(pair.from));
        row.resize(table.columns.size(), "-");
      }
      row[which.size() + 1 + static_cast<std::size_t>(pair.to)] = cell(pair);
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
  Columns const which = columns_of({});
  Table table =
      start_table("links between ranks: medians over their pairs, and the slowest pairs", which);
  add_columns(table, {{"link", 8, Align::left},
                      {"pairs", 5, Align::right},
                      {"latency", 7, Align::right},
                      {"highest latency", 18, Align::left},
                      {"rate", 9, Align::right},
                      {"lowest rate", 0, Align::left}});
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
      Row row = start_row(which, r);
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

Table implementations_table(measure::RunResult const& result) {
  return table_of(result, "what libraries' rows call", {"implementation"},
                  [](Record const& r) { return !r.implementation.empty(); });
}

/// A line for each operation and size, a column for each transport.
Table transport_times_table(std::vector<comm::TransportTime> const& times) {
  Table table{.title = "times of exchanges, by which transport = \"auto\" chooses"};
  add_columns(table, {{"operation", 14, Align::left}, {"bytes", 8}});
  std::vector<std::string_view> names;
  for (comm::TransportTime const& time : times) {
    if (std::ranges::find(names, time.transport) == names.end()) names.push_back(time.transport);
  }
  for (std::string_view const name : names) table.add_column({name, 7});
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

/// All columns of all tables.
Document details_of(measure::RunResult const& result) {
  Notes notes;
  Document document;
  document.add_table(main_table(result, notes));
  for (Table const& further :
       {times_table(result), rounds_table(result), legs_table(result), roofline_table(result),
        energy_table(result), extras_table(result), links_table(result), latencies_table(result),
        pair_rates_table(result), pair_links_table(result), published_table(result),
        kernels_table(result), implementations_table(result),
        transport_times_table(result.info.transport_times)}) {
    if (further.rows() == 0) continue;
    document.add_gap();
    document.add_table(further);
  }
  if (!notes.all().empty()) document.add_gap();
  for (std::string const& note : notes.all()) {
    std::string const number = notes.cite(note);
    document.add_labelled(number, number.size() + 1, note, Tone::plain);
  }
  std::vector<std::string> events = result.info.events;
  if (result.info.status == "running") events.emplace_back(kNotEnded);
  if (!events.empty()) document.add_gap();
  for (std::string const& event : events) document.add_labelled("", 0, event, Tone::plain);
  return document;
}

std::string memory_text(std::int64_t bytes) {
  return bytes > 0 ? core::format_bytes(static_cast<double>(bytes)) : "-";
}

Table ranks_table(std::vector<comm::Placement> const& ranks) {
  Table table;
  add_columns(table, {{"rank", 4, Align::right},
                      {"node", 16, Align::left},
                      {"local", 5, Align::right},
                      {"device", 24, Align::left},
                      {"pci", 12, Align::left},
                      {"numa", 4, Align::right},
                      {"threads", 7, Align::right},
                      {"memory", 9, Align::right},
                      {"cpus", 0, Align::left}});
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
  add_columns(table, {{"node", 16, Align::left},
                      {"ranks", 9, Align::left},
                      {"threads", 7, Align::right},
                      {"memory", 9, Align::right},
                      {"devices of ranks", 0, Align::left}});
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

/// ... and a line for each of few ranks, else for each node.
std::string render_placement(std::vector<comm::Placement> const& ranks) {
  constexpr std::size_t kFewRanks = 16;
  return counts_of(ranks) + '\n' +
         write_text(ranks.size() > kFewRanks ? nodes_table(ranks) : ranks_table(ranks), kUnlimited);
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

std::string render_run_header(measure::RunInfo const& info) {
  std::string text = version_line(info) + '\n';
  if (!info.run_id.empty()) {
    text += fmt::format("  {:<12} {}, started {}\n", "run", info.run_id, info.started);
  }
  for (auto const& [name, value] : info.build) {
    if (name != "version" && name != "commit") text += fmt::format("  {:<12} {}\n", name, value);
  }
  return text + render_placement(info.ranks);
}

std::string render_transport_times(std::vector<comm::TransportTime> const& times) {
  return write_text(transport_times_table(times), kUnlimited);
}

std::string render_table(measure::RunResult const& result) {
  return write_text(details_of(result), kUnlimited);
}

std::string render_markdown(measure::RunResult const& result) {
  return write_markdown(details_of(result));
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
