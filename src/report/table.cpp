// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/table.hpp"

#include "core/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

namespace quadrille::report {
namespace {

using measure::Outcome;
using measure::Record;
using Row = std::vector<std::string>;

enum class Align { left, right };
struct Column {
  std::string_view title;
  std::size_t width;  ///< at least, so that tables of different runs mostly line up
  Align align;
};
struct Table {
  std::string_view title;
  std::vector<Column> columns;
  std::vector<Row> rows;
};

/// Names of techniques; the few longer ones widen the column.
constexpr std::size_t kVariantWidth = 22;

std::string pad(std::string_view text, Column const& column) {
  return column.align == Align::left ? fmt::format("{:<{}}", text, column.width)
                                     : fmt::format("{:>{}}", text, column.width);
}

std::string plain_line(Table const& table, auto const& cell) {
  std::string line;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (i > 0) line += "  ";
    line += pad(cell(i), table.columns[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string render_plain(Table const& narrow) {
  Table table = narrow;
  // The last column may be as long as it likes: nothing stands behind it.
  for (std::size_t i = 0; i + 1 < table.columns.size(); ++i) {
    for (Row const& row : table.rows) {
      table.columns[i].width = std::max(table.columns[i].width, row[i].size());
    }
  }
  std::string text;
  if (!table.title.empty()) text += fmt::format("{}\n", table.title);
  text += plain_line(table, [&](std::size_t i) { return std::string{table.columns[i].title}; });
  for (Row const& row : table.rows) {
    text += plain_line(table, [&](std::size_t i) { return row[i]; });
  }
  return text;
}

std::string markdown_cell(std::string_view text) {
  std::string cell = " ";
  for (char const c : text) {
    if (c == '|') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell + " |";
}

std::string render_marked(Table const& table) {
  std::string text = table.title.empty() ? "" : fmt::format("**{}**\n\n", table.title);
  std::string titles = "|", rule = "|";
  for (Column const& column : table.columns) {
    titles += markdown_cell(column.title);
    rule += column.align == Align::left ? " --- |" : " ---: |";
  }
  text += titles + '\n' + rule + '\n';
  for (Row const& row : table.rows) {
    text += '|';
    for (std::string const& cell : row) text += markdown_cell(cell);
    text += '\n';
  }
  return text;
}

/// Foot notes, each told once.
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

/// A wrong result has no speed.
bool has_speed(Record const& r) { return r.outcome == Outcome::pass && r.time.n > 0; }

std::string number(std::optional<double> value, char const* format) {
  if (!value || std::isnan(*value)) return "-";
  return fmt::format(fmt::runtime(format), *value);
}

std::string vendor_text(Record const& r) {
  if (!has_speed(r) || !r.ratio_to_vendor) return "-";
  if (!r.ratio_to_vendor_low || !r.ratio_to_vendor_high) return number(r.ratio_to_vendor, "{:.2f}");
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", *r.ratio_to_vendor, *r.ratio_to_vendor_low,
                     *r.ratio_to_vendor_high);
}

std::string error_text(Record const& r) {
  bool const checked =
      r.outcome == Outcome::fail || (r.outcome == Outcome::pass && !std::isnan(r.check.error));
  return checked ? fmt::format("{:.2g}/{:.2g}", r.check.error, r.check.bound) : "-";
}

std::string flags_of(Record const& r, Notes& notes) {
  std::vector<std::string> flags;
  if (!r.suspect.empty()) {
    std::string flag = "SUSPECT";
    for (std::string const& reason : r.suspect) flag += notes.cite("SUSPECT: " + reason);
    flags.push_back(flag);
  }
  if (r.modelled_link) {
    flags.push_back("modelled link" +
                    notes.cite("modelled link: messages went through the throttle, a model of a "
                               "slower link; no property of this machine"));
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

std::string size_text(Record const& r) {
  std::vector<std::string> extents;
  for (std::int64_t const n : r.size) extents.push_back(core::format_count(n));
  return fmt::format("{}", fmt::join(extents, ","));
}

Table main_table(measure::RunResult const& result, Notes& notes) {
  Table table{"",
              {{"case", 16, Align::left},
               {"size", 14, Align::left},
               {"type", 4, Align::left},
               {"variant", kVariantWidth, Align::left},
               {"ranks", 5, Align::right},
               {"median", 7, Align::right},
               {"rate", 13, Align::right},
               {"% peak", 6, Align::right},
               {"vs vendor", 17, Align::right},
               {"vs copy", 7, Align::right},
               {"error/bound", 15, Align::right},
               {"verdict", 11, Align::left},
               {"flags", 0, Align::left}},
              {}};
  for (Record const& r : result.records) {
    bool const fast = has_speed(r);
    table.rows.push_back({r.name, size_text(r), r.type, r.variant,
                          r.ranks > 0 ? fmt::format("{}", r.ranks) : "-",
                          fast ? core::format_seconds(r.time.median) : "-",
                          fast && r.rate > 0 ? core::format_rate(r.rate, r.unit) : "-",
                          fast ? number(percent_of_peak(r), "{:.1f}") : "-", vendor_text(r),
                          fast ? number(r.ratio_to_copy, "{:.2f}") : "-", error_text(r),
                          std::string{core::to_text(r.outcome)}, flags_of(r, notes)});
  }
  return table;
}

Table times_table(measure::RunResult const& result) {
  Table table{"times over all ranks: per repetition the slowest rank",
              {{"case", 16, Align::left},
               {"size", 14, Align::left},
               {"type", 4, Align::left},
               {"variant", kVariantWidth, Align::left},
               {"n", 5, Align::right},
               {"min", 7, Align::right},
               {"median", 7, Align::right},
               {"95 % interval", 18, Align::right},
               {"p95", 7, Align::right},
               {"max", 7, Align::right},
               {"first use", 9, Align::right},
               {"imbalance", 9, Align::right},
               {"slowest rank", 12, Align::right},
               {"timing", 12, Align::left},
               {"batch", 5, Align::right},
               {"buffer sets", 11, Align::right}},
              {}};
  for (Record const& r : result.records) {
    if (!has_speed(r)) continue;
    table.rows.push_back({r.name, size_text(r), r.type, r.variant, fmt::format("{}", r.time.n),
                          core::format_seconds(r.time.min), core::format_seconds(r.time.median),
                          fmt::format("[{}, {}]", core::format_seconds(r.time.median_low),
                                      core::format_seconds(r.time.median_high)),
                          core::format_seconds(r.time.p95), core::format_seconds(r.time.max),
                          core::format_seconds(r.first_use_s), number(r.imbalance, "{:.2f}"),
                          fmt::format("{}", r.slowest_rank), r.timing, fmt::format("{}", r.batch),
                          fmt::format("{}", r.buffer_sets)});
  }
  return table;
}

Table legs_table(measure::RunResult const& result) {
  Table table{"overlap: hidden = (compute + communicate - overlapped) / min(compute, communicate)",
              {{"case", 16, Align::left},
               {"size", 14, Align::left},
               {"type", 4, Align::left},
               {"variant", kVariantWidth, Align::left},
               {"compute", 11, Align::right},
               {"communicate", 11, Align::right},
               {"serial", 11, Align::right},
               {"overlapped", 11, Align::right},
               {"hidden", 6, Align::right},
               {"overlapped/compute", 18, Align::right},
               {"overlapped/communicate", 22, Align::right}},
              {}};
  for (Record const& r : result.records) {
    if (r.outcome != Outcome::pass || !r.leg_summary) continue;
    measure::LegSummary const& legs = *r.leg_summary;
    table.rows.push_back(
        {r.name, size_text(r), r.type, r.variant, core::format_seconds(legs.compute_s),
         core::format_seconds(legs.communicate_s), core::format_seconds(legs.serial_s),
         core::format_seconds(legs.overlapped_s), number(legs.hidden, "{:.2f}"),
         number(legs.slowdown_compute, "{:.2f}"), number(legs.slowdown_communicate, "{:.2f}")});
  }
  return table;
}

Table extras_table(measure::RunResult const& result) {
  Table table{"further rates",
              {{"case", 16, Align::left},
               {"size", 14, Align::left},
               {"type", 4, Align::left},
               {"variant", kVariantWidth, Align::left},
               {"what", 22, Align::left},
               {"rate", 13, Align::right}},
              {}};
  for (Record const& r : result.records) {
    if (!has_speed(r)) continue;
    for (measure::Extra const& extra : r.extras) {
      double const rate = rate_of(extra, r);
      bool const is_rate = extra.unit.ends_with("/s");
      table.rows.push_back({r.name, size_text(r), r.type, r.variant, extra.name,
                            extra.unit == "s" ? core::format_seconds(rate)
                            : is_rate         ? core::format_rate(rate, extra.unit)
                                              : fmt::format("{:.0f} {}", rate, extra.unit)});
    }
  }
  return table;
}

Table kernels_table(measure::RunResult const& result) {
  Table table{"kernels of one execution",
              {{"case", 16, Align::left},
               {"size", 14, Align::left},
               {"type", 4, Align::left},
               {"variant", kVariantWidth, Align::left},
               {"kernel", 0, Align::left}},
              {}};
  for (Record const& r : result.records) {
    for (std::string const& kernel : r.kernels) {
      table.rows.push_back({r.name, size_text(r), r.type, r.variant, kernel});
    }
  }
  return table;
}

Table published_table(measure::RunResult const& result) {
  Table table{"published figures, of other devices",
              {{"case", 16, Align::left},
               {"size", 14, Align::left},
               {"type", 4, Align::left},
               {"variant", kVariantWidth, Align::left},
               {"rate", 13, Align::right},
               {"published", 13, Align::right},
               {"on", 24, Align::left},
               {"source", 0, Align::left}},
              {}};
  for (Record const& r : result.records) {
    if (!(r.published > 0)) continue;
    table.rows.push_back({r.name, size_text(r), r.type, r.variant,
                          has_speed(r) ? core::format_rate(r.rate, r.unit) : "-",
                          core::format_rate(r.published, r.unit), r.published_on, r.source});
  }
  return table;
}

std::string render(measure::RunResult const& result, std::string (*one)(Table const&),
                   std::string_view note_prefix) {
  Notes notes;
  std::string text = one(main_table(result, notes));
  for (Table const& further : {times_table(result), legs_table(result), extras_table(result),
                               published_table(result), kernels_table(result)}) {
    if (!further.rows.empty()) text += '\n' + one(further);
  }
  if (!notes.all().empty()) text += '\n';
  for (std::string const& note : notes.all()) {
    text += fmt::format("{}{} {}\n", note_prefix, notes.cite(note), note);
  }
  return text;
}

std::string value_of(std::vector<std::pair<std::string, std::string>> const& facts,
                     std::string_view key) {
  for (auto const& [name, value] : facts) {
    if (name == key) return value;
  }
  return "unknown";
}

std::string counted(std::size_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

/// How many ranks, nodes and devices, and a line for each rank.
std::string render_placement(std::vector<comm::Placement> const& ranks) {
  std::set<std::string> nodes;
  std::set<std::tuple<std::string, std::string>> devices;
  Table table{"",
              {{"rank", 4, Align::right},
               {"node", 16, Align::left},
               {"local", 5, Align::right},
               {"device", 24, Align::left},
               {"pci", 12, Align::left},
               {"numa", 4, Align::right},
               {"threads", 7, Align::right},
               {"memory", 9, Align::right},
               {"cpus", 0, Align::left}},
              {}};
  for (comm::Placement const& r : ranks) {
    nodes.insert(r.node);
    // Host devices have no identifier: all ranks of a node share its cores.
    devices.insert({r.uuid.empty() ? r.node : r.uuid, r.device});
    table.rows.push_back(
        {fmt::format("{}", r.rank), r.node, fmt::format("{}", r.local_rank), r.device,
         r.pci.empty() ? "-" : r.pci, r.numa < 0 ? "-" : fmt::format("{}", r.numa),
         fmt::format("{}", r.threads),
         r.free_memory > 0 ? core::format_bytes(static_cast<double>(r.free_memory)) : "-", r.cpus});
  }
  return fmt::format("{}, {}, {}\n", counted(ranks.size(), "rank"), counted(nodes.size(), "node"),
                     counted(devices.size(), "device")) +
         render_plain(table);
}

}  // namespace

std::string render_run_header(measure::RunInfo const& info) {
  std::string text = fmt::format("Quadrille {}, commit {}\n", value_of(info.build, "version"),
                                 value_of(info.build, "commit"));
  for (auto const& [name, value] : info.build) {
    if (name != "version" && name != "commit") text += fmt::format("  {:<12} {}\n", name, value);
  }
  return text + render_placement(info.ranks);
}

std::string render_table(measure::RunResult const& result) {
  return render(result, render_plain, "");
}

std::string render_markdown(measure::RunResult const& result) {
  return render(result, render_marked, "- ");
}

std::string result_line(measure::RunResult const& result, std::string const& file) {
  measure::Counts const counts = count_outcomes(result);
  return fmt::format("RESULT {} executed={} passed={} failed={} skipped={} file={}",
                     exit_code(result) == core::Exit::pass ? "PASS" : "FAIL", counts.executed(),
                     counts.passed, counts.failed, counts.skipped, file);
}

}  // namespace quadrille::report
