// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/fitted_tables.hpp"

#include "common/variant.hpp"
#include "core/units.hpp"
#include "report/assessment.hpp"
#include "report/cells.hpp"
#include "report/swept_keys.hpp"
#include "report/tables.hpp"
#include "report/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace quadrille::report {
namespace {

using measure::Outcome;
using measure::Record;
using Records = std::vector<Record const*>;

// Names of rows that share a reason.
constexpr std::size_t kMaxNames = 16;
constexpr std::string_view kVendorHead = "vendor", kTransportHead = "transport";
// Further rates that stand beside the time; where there are more they have tables of their own.
constexpr std::size_t kMaxBeside = 6;
// From which on a case has a table of its own.
constexpr std::size_t kManyVariants = 5;

/// Half of the interval of the median over the median.
std::string precision(Record const& r) {
  double const half = (r.time.median_high - r.time.median_low) / 2;
  bool const is_known = has_speed(r) && std::isfinite(half) && r.time.median > 0;
  if (!is_known) return "-";
  double const percent = 100 * half / r.time.median;
  return percent < 10 ? fmt::format("+-{:.2g} %", percent) : fmt::format("+-{:.0f} %", percent);
}

/// Notes by number, one for all that differ in values alone.
class Notes {
 public:
  std::string cite(std::string_view note) {
    Ranged const ranged{note};
    auto const found =
        std::ranges::find_if(notes_, [&](Ranged& known) { return known.merge(ranged); });
    auto const number = found - notes_.begin() + 1;
    if (found == notes_.end()) notes_.push_back(ranged);
    return fmt::format("[{}]", number);
  }
  std::vector<Ranged> const& all() const { return notes_; }

 private:
  std::vector<Ranged> notes_;
};

/// What a row's verdict and doubts are, with their notes.
std::string flags_of(Record const& r, std::span<Record const> all, Notes& notes) {
  std::vector<std::string> flags;
  std::string const reason = why(r);
  if (r.outcome != Outcome::pass) {
    flags.push_back(
        fmt::format("{}{}", core::to_text(r.outcome), reason.empty() ? "" : notes.cite(reason)));
  } else if (!reason.empty()) {
    flags.push_back(notes.cite(reason));
  }
  if (!r.suspect.empty()) {
    std::string flag = "SUSPECT";
    for (std::string const& doubt : r.suspect) flag += notes.cite(shown(doubt));
    flags.push_back(flag);
  }
  if (r.modelled_link) {
    flags.push_back("modelled link" + notes.cite(kModelledLink));
  }
  if (r.is_host_timed) {
    flags.push_back("host clock" + notes.cite(kHostClock));
  }
  if (auto const of_rates = contradicting_vendor_percent(r, all)) {
    flags.push_back("vendor" + notes.cite(fmt::format(
                                   "the median of the paired ratios; by the median rates it is "
                                   "{:.0f} %: times drifted",
                                   *of_rates)));
  }
  if (std::string const missed = missed_best(r, all); !missed.empty()) {
    flags.push_back("best" + notes.cite(shown(missed)));
  }
  if (r.role == core::to_text(kernels::Role::vendor) && r.share_of_local) {
    flags.push_back(notes.cite("our pipeline, with the vendor's product on each rank"));
  }
  // What a pipeline chose by measurement, such as its panels.
  bool const is_pipeline = is_own(r) && has_speed(r) && r.transport != "none";
  if (is_pipeline && !r.implementation.empty())
    flags.push_back(notes.cite(shown(r.implementation)));
  return fmt::format("{}", fmt::join(flags, " "));
}

/// Columns of the same rows.
class Rows {
 public:
  explicit Rows(Records records) : records_{std::move(records)} {}

  using Cell = std::function<std::string(Record const&)>;
  void add(std::string head, Align align, int keep, Cell const& cell) {
    TableColumn fitted{std::move(head), align, keep, {}, 0};
    for (Record const* record : records_) fitted.cells.push_back(cell(*record));
    columns.push_back(std::move(fitted));
  }
  void add(std::string_view key, int keep) {
    Heading const& heading = column(key).heading;
    add(std::string{heading.text}, heading.align, keep,
        [key](Record const& r) { return text_of(key, r); });
  }
  /// Those of --details.
  void add_details(std::initializer_list<std::string_view> keys) {
    for (std::string_view const key : keys) add(key, TableColumn::kDetail);
  }
  /// Goes into the title where it is the same in all rows.
  void add_or_name(std::vector<std::string>& title, std::string const& head, Align align,
                   Cell const& cell, std::string_view unit = {}) {
    std::set<std::string> values;
    for (Record const* record : records_) values.insert(cell(*record));
    if (values.size() != 1) return add(head, align, TableColumn::kAlways, cell);
    if (!values.begin()->empty() && *values.begin() != "-") {
      title.push_back(fmt::format("{}{}", *values.begin(), unit));
    }
  }
  std::vector<TableColumn> columns;

 private:
  Records records_;
};

void add_case(Rows& rows, std::vector<std::string>& title) {
  rows.add_or_name(title, "case", Align::left,
                   [](Record const& r) { return r.name == r.workload ? "-" : shown(r.name); });
  // A case that has its workload's name is named beside others.
  if (rows.columns.empty()) return;
  rows.columns.clear();
  rows.add("case", Align::left, TableColumn::kAlways,
           [](Record const& r) { return shown(r.name); });
}

/// Which measurement it is: in the title what all have in common, in columns what tells them apart.
/// `swept` are the keys that tell apart cases of the tables of this workload.
Rows start_rows(Records const& records, SweptKeys const& swept, std::vector<std::string>& title) {
  Rows rows{records};
  add_case(rows, title);
  auto const of_key = [](std::string_view key) {
    return [key](Record const& r) { return text_of(key, r); };
  };
  rows.add_or_name(title, "size", Align::left, of_key("size"));
  rows.add_or_name(title, "type", Align::left, of_key("type"));
  bool const is_one_case = std::ranges::all_of(
      records, [&](Record const* r) { return r->name == records.front()->name; });
  for (std::string const& key : is_one_case ? swept.keys_of(*records.front()) : swept.keys()) {
    auto const value = [&](Record const& r) { return shown(swept.value(r, key)); };
    if (!is_one_case) {
      rows.add(key, Align::left, TableColumn::kAlways, value);
    } else {
      title.push_back(fmt::format("{}={}", key, value(*records.front())));
    }
  }
  rows.add_or_name(title, "grid", Align::left, of_key("grid"));
  // Rows that do not communicate stand among those that do.
  std::set<std::string> transports;
  for (Record const* r : records) transports.insert(r->transport);
  std::erase_if(transports, [](std::string const& name) { return name.empty() || name == "none"; });
  if (transports.size() > 1) {
    rows.add("transport", TableColumn::kAlways);
  } else if (!transports.empty()) {
    title.push_back(shown(*transports.begin()));
  }
  return rows;
}

std::string title_of(std::string_view what, std::vector<std::string> const& common) {
  return common.empty() ? shown(what) : fmt::format("{}: {}", shown(what), fmt::join(common, ", "));
}

/// In the order in which they occur.
std::vector<Records> by_workload(measure::RunResult const& result, bool (*takes)(Record const&)) {
  std::vector<Records> groups;
  for (Record const& r : result.records) {
    if (!takes(r)) continue;
    auto found = std::ranges::find_if(
        groups, [&](Records const& group) { return group.front()->workload == r.workload; });
    if (found == groups.end()) found = groups.insert(found, Records{});
    found->push_back(&r);
  }
  return groups;
}

/// Those of parts of the time are for --details, files and charts.
std::vector<std::string> names_of_extras(Records const& records, bool are_details) {
  std::vector<std::string> names;
  for (Record const* r : records) {
    for (measure::SecondaryMetric const& extra : r->extras) {
      bool const is_new = std::ranges::find(names, extra.name) == names.end();
      if (is_new && extra.is_detail == are_details) names.push_back(extra.name);
    }
  }
  return names;
}

void add_extras(Rows& rows, std::vector<std::string> const& names, int keep) {
  for (std::string const& name : names) {
    rows.add(shown(name), Align::right, keep, [&name](Record const& r) -> std::string {
      auto const found = std::ranges::find(r.extras, name, &measure::SecondaryMetric::name);
      return found == r.extras.end() || !has_speed(r) ? "-" : extra_text(*found, r).value;
    });
  }
}

/// All further rates, in as many tables as they need; the table of times says what a case is.
void add_extras_tables(Document& page, Records const& records,
                       std::vector<std::string> const& names) {
  std::vector<std::string> common;
  Rows rows{records};
  add_case(rows, common);
  rows.add("variant", TableColumn::kAlways);
  std::size_t const identity = rows.columns.size();
  add_extras(rows, names, TableColumn::kAlways);
  page.add_gap();
  page.add_table({.columns = rows.columns, .repeated = identity, .is_cut = true});
}

/// What was measured, and how it stands beside what it could be.
void add_figures(Rows& rows, Records const& records) {
  auto const any_of = [&](auto const& is_so) {
    return std::ranges::any_of(records, [&](Record const* r) { return is_so(*r); });
  };
  bool const is_measured = any_of([](Record const& r) { return !r.unit.empty(); });
  bool const is_called = any_of(counts_calls);
  bool const is_sent = any_of(is_exchange);
  rows.add("median_s", is_called || is_sent ? TableColumn::kAlways : 8);
  if (!is_measured) rows.columns.back().head = "host time";
  rows.add("interval", Align::right, 4, precision);
  rows.add_details({"min_s", "median_low_s", "max_s"});
  rows.add_details({"message_bytes", "latency_us"});
  bool const has_ranks = any_of([](Record const& r) { return r.ranks > 1; });
  bool const has_rate = is_measured && !is_called;
  if (has_rate && has_ranks) rows.add("rate_per_rank", is_sent ? 28 : TableColumn::kAlways);
  if (has_rate) rows.add("rate", has_ranks ? 27 : TableColumn::kAlways);
  if (is_called) rows.add_details({"rate"});
  rows.add(std::string{kVendorHead}, Align::right, 30, vendor_share);
  rows.add_details({"ratio_to_vendor"});
  rows.add("copy", Align::right, 29, copy_share);
  rows.add_details({"ratio_to_copy"});
  rows.add("peak", Align::right, 28, peak_share);
  rows.add_details({"percent_of_peak"});
  rows.add("percent_of_peak_at_clock", 5);
  rows.add("reached", Align::right, 6, ceiling_share);
  rows.add_details(
      {"percent_of_ceiling", "ceiling", "roof", "ceiling_is_measured", "intensity", "limit"});
  rows.add("local", Align::right, 20, local_share);
  rows.add_details({"share_of_local"});
  rows.add("hidden", Align::right, 19,
           [](Record const& r) { return has_legs(r) ? percent(r.leg_summary->hidden) : "-"; });
  rows.add("published_rate", 18);
  rows.add_details({"published_on", "source"});
  rows.add("rounds", Align::right, 31, [](Record const& r) -> std::string {
    if (r.rounds < 2 || !has_speed(r)) return "-";
    return fmt::format("{}: {} to {}", r.rounds, core::format_seconds(r.fastest_round_s),
                       core::format_seconds(r.slowest_round_s));
  });
}

/// How it was measured.
void add_conditions(Rows& rows) {
  rows.add("rate_per_watt", 15);
  rows.add("energy_j", 5);
  rows.add("imbalance", 3);
  rows.add("error", 2);
  rows.add("samples", 1);
  rows.add("p95_s", 0);
  rows.add("first_use_s", 0);
  rows.add_details({"slowest_rank", "timing", "batch", "buffer_sets", "implementation", "verdict"});
}

void add_rows(Document& page, Records const& records, SweptKeys const& swept,
              std::span<Record const> all, std::set<Record const*> const& best, Notes& notes) {
  std::vector<std::string> common;
  Rows rows = start_rows(records, swept, common);
  rows.add_or_name(
      common, "ranks", Align::right, [](Record const& r) { return text_of("ranks", r); },
      records.front()->ranks == 1 ? " rank" : " ranks");
  rows.add("variant", TableColumn::kAlways);
  std::size_t const identity = rows.columns.size();
  add_figures(rows, records);
  std::vector<std::string> const extras = names_of_extras(records, false);
  if (extras.size() <= kMaxBeside) add_extras(rows, extras, 16);
  add_extras(rows, names_of_extras(records, true), TableColumn::kDetail);
  add_conditions(rows);
  rows.add("flags", Align::left, TableColumn::kAlways,
           [&](Record const& r) { return flags_of(r, all, notes); });
  rows.columns.back().wraps = true;
  auto const is_empty = [](std::string const& flags) { return flags.empty(); };
  if (std::ranges::all_of(rows.columns.back().cells, is_empty)) rows.columns.pop_back();

  page.add_gap();
  page.add_title(title_of(records.front()->workload, common));
  auto const tone = [records, best](std::size_t row, std::string const& head) {
    Record const& r = *records[row];
    if (head == "flags") return r.outcome == Outcome::pass ? Tone::warn : tone_of(r.outcome);
    if ((head == "variant" || head == kTransportHead) && best.contains(&r)) return Tone::strong;
    return head == kVendorHead && is_slower_than_vendor(r) ? Tone::warn : Tone::plain;
  };
  page.add_table({.columns = rows.columns, .tone_of = tone, .repeated = identity});
  if (extras.size() > kMaxBeside) add_extras_tables(page, records, extras);
}

/// A table of its own for each case of many variants, and one for those of few, in the order of the run.
void add_workload(Document& page, Records const& records, std::span<Record const> all,
                  std::set<Record const*> const& best, Notes& notes) {
  std::map<std::string_view, std::size_t> variants;
  for (Record const* r : records) ++variants[r->name];
  std::vector<std::pair<std::string_view, Records>> tables;  // by their case; of several: ""
  for (Record const* r : records) {
    bool const is_many = variants[r->name] >= kManyVariants;
    std::string_view const name = is_many ? std::string_view{r->name} : "";
    auto found = std::ranges::find(tables, name, [](auto const& known) { return known.first; });
    if (found == tables.end()) found = tables.insert(found, {name, {}});
    found->second.push_back(r);
  }
  SweptKeys const swept{records};
  for (auto const& [name, rows] : tables) add_rows(page, rows, swept, all, best, notes);
}

void add_overlap(Document& page, measure::RunResult const& result) {
  std::vector<Records> const groups = by_workload(result, has_legs);
  for (Records const& records : groups) {
    std::vector<std::string> common;
    Rows rows = start_rows(records, SweptKeys{records}, common);
    rows.add("variant", TableColumn::kAlways);
    std::size_t const identity = rows.columns.size();
    rows.add("compute_s", TableColumn::kAlways);
    rows.add("communicate_s", TableColumn::kAlways);
    rows.add("serial_s", 5);
    rows.add("overlapped_s", TableColumn::kAlways);
    rows.add("hidden", Align::right, TableColumn::kAlways,
             [](Record const& r) { return percent(r.leg_summary->hidden); });
    rows.add("interval", Align::right, 2, [](Record const& r) -> std::string {
      measure::LegSummary const& legs = *r.leg_summary;
      if (!legs.hidden_low || !legs.hidden_high) return "-";
      return fmt::format("{} to {}", percent(legs.hidden_low), percent(legs.hidden_high));
    });
    rows.add("overlapped_over_max", 1);
    rows.add_details({"slowdown_compute", "slowdown_communicate"});
    page.add_gap();
    page.add_title(title_of(fmt::format("overlap of {}", records.front()->workload), common));
    page.add_table({.columns = rows.columns, .repeated = identity});
  }
}

/// What all rows of a table have in common goes into its title.
void add_pairs(Document& page, Table table) {
  std::vector<std::string> common;
  for (TableColumn& column : table.columns) {
    for (std::string& cell : column.cells) cell = shown(cell);
  }
  auto const behind = table.columns.begin() + kIdentity.size();
  auto const [first, last] =
      std::ranges::remove_if(table.columns.begin(), behind, [&](TableColumn const& column) {
        bool const is_common =
            std::ranges::count(column.cells, column.cells.front()) == std::ssize(column.cells);
        if (is_common) common.push_back(column.cells.front());
        return is_common;
      });
  auto const kept = table.columns.erase(first, last);
  table.repeated = static_cast<std::size_t>(kept - table.columns.begin()) + 1;
  if (!common.empty()) table.title += fmt::format(" ({})", fmt::join(common, " "));
  // Numbers are not shortened, names of measurements are.
  table.max_excess = 40;
  page.add_gap();
  page.add_table(std::move(table));
}

/// What has no result, by verdict and reason.
void add_without_result(Document& page, measure::RunResult const& result) {
  struct Group {
    Outcome outcome;
    std::string reason;
    std::vector<std::string> names;
  };
  std::vector<Group> groups;
  for (Record const& r : result.records) {
    if (is_tabled(r)) continue;
    std::string const reason = why(r);
    auto found = std::ranges::find_if(groups, [&](Group const& group) {
      return group.outcome == r.outcome && group.reason == reason;
    });
    if (found == groups.end()) found = groups.insert(found, Group{r.outcome, reason, {}});
    found->names.push_back(name_of(r));
  }
  if (groups.empty()) return;
  page.add_gap();
  page.add_title("without a result");
  for (Group const& group : groups) {
    std::size_t const most = std::min(group.names.size(), kMaxNames);
    std::string names =
        fmt::format("{}", fmt::join(group.names.begin(),
                                    group.names.begin() + static_cast<std::ptrdiff_t>(most), ", "));
    if (most < group.names.size()) names += fmt::format(", and {} more", group.names.size() - most);
    page.add_labelled("  -", 4,
                      fmt::format("{} {}: {}", core::to_text(group.outcome), group.reason, names),
                      Tone::faint);
  }
}

}  // namespace

void add_tables(Document& page, measure::RunResult const& result,
                std::set<Record const*> const& best) {
  Notes notes;
  for (Records const& records : by_workload(result, is_tabled)) {
    add_workload(page, records, result.records, best, notes);
  }
  add_overlap(page, result);
  for (Table const& table : tables_of_pairs(result)) add_pairs(page, table);
  for (Table const& table : tables_of_details(result)) {
    page.add_gap();
    page.add_table(table);
  }
  add_without_result(page, result);

  if (!notes.all().empty()) page.add_gap();
  for (std::size_t i = 0; i < notes.all().size(); ++i) {
    page.add_labelled(fmt::format("[{}]", i + 1), 5, notes.all()[i].text(), Tone::plain);
  }
}

}  // namespace quadrille::report
