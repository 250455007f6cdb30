// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/ladder.hpp"

#include "core/units.hpp"
#include "report/columns.hpp"
#include "report/compare_identity.hpp"
#include "report/document.hpp"
#include "report/settings.hpp"
#include "report/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace quadrille::report {
namespace {

using kernels::Role;
using measure::Record;

bool is_rung(Record const& record) {
  auto const* const row = row_of(record);
  return row != nullptr && row->role == Role::own && has_speed(record);
}

/// "1410 to 1980 MHz" over all samples; "unknown" where devices do not tell.
std::string clocks_of(measure::RunResult const& result) {
  double least = 0, most = 0;
  for (Record const& record : result.records) {
    for (double const clock : record.clock_hz) {
      if (!(clock > 0)) continue;
      least = least == 0 ? clock : std::min(least, clock);
      most = std::max(most, clock);
    }
  }
  if (most == 0) return "unknown";
  if (std::lround(least / 1e6) == std::lround(most / 1e6))
    return fmt::format("{:.0f} MHz", most / 1e6);
  return fmt::format("{:.0f} to {:.0f} MHz", least / 1e6, most / 1e6);
}

std::string head_of(measure::RunResult const& result) {
  measure::RunInfo const& info = result.info;
  std::vector<std::string> devices;
  for (comm::Placement const& rank : info.ranks) devices.push_back(rank.device);
  return fmt::format("{}, commit {}, driver {}, clocks {}, run {} of {}\n", list_runs(devices),
                     build_fact(info, "commit"), build_fact(info, "driver"), clocks_of(result),
                     info.run_id, info.started);
}

/// A column of rates, down a ladder, beside the fastest above: a step that only shows what another
/// is worth is slower, and the next one does not build on it.
class Gains {
 public:
  /// "1.40", or "1.13 (`vectorized`)" where that is not the row above.
  std::string next(std::string_view rung, double rate) {
    std::string text = "-";
    if (rate > 0 && best_ > 0) {
      text = fmt::format("{:.2f}", rate / best_);
      if (above_ != best_rung_) text += fmt::format(" (`{}`)", best_rung_);
    }
    above_ = rung;
    if (rate > best_) {
      best_ = rate;
      best_rung_ = rung;
    }
    return text;
  }

 private:
  double best_ = 0;
  std::string_view best_rung_, above_;
};

std::string ratio_text(Record const& record) {
  return record.ratio_to_vendor ? fmt::format("{:.2f}", *record.ratio_to_vendor) : "-";
}

std::string published_text(Record const& record) {
  return record.published > 0 ? core::format_rate(record.published, record.unit) : "-";
}

/// A case's records of own techniques, in the order in which the case names them.
void add_case(Document& page, std::vector<Record const*> const& rungs) {
  Record const& first = *rungs.front();
  page.add_gap();
  std::string title = fmt::format("{}: {} of {}, {}", first.name, first.workload, first.type,
                                  cell(column("size"), first));
  for (auto const& [key, value] : settings_of(first)) title += fmt::format(", {} = {}", key, value);
  page.add_text(title);
  auto const on =
      std::ranges::find_if(rungs, [](Record const* rung) { return rung->published > 0; });
  bool const has_published = on != rungs.end();
  Table table;
  for (std::string_view const head : {"rung", "what it changes"}) {
    table.add_column({head, 0, Align::left});
  }
  for (std::string_view const head : {"rate", "over the fastest above", "of the vendor"}) {
    table.add_column({head});
  }
  std::string const published =
      has_published ? fmt::format("published ({})", (*on)->published_on) : "";
  if (has_published) {
    table.add_column({published});
    table.add_column({"over the fastest above"});
  }
  Gains gains, published_gains;
  for (Record const* rung : rungs) {
    std::vector<std::string> row{
        fmt::format("`{}`", rung->variant), std::string{row_of(*rung)->summary},
        core::format_rate(rung->rate, rung->unit) + (rung->suspect.empty() ? "" : " (SUSPECT)"),
        gains.next(rung->variant, rung->rate), ratio_text(*rung)};
    if (has_published) {
      row.push_back(published_text(*rung));
      row.push_back(published_gains.next(rung->variant, rung->published));
    }
    table.add_row(row);
  }
  page.add_gap();
  page.add_table(std::move(table));
}

}  // namespace

std::string render_ladders(measure::RunResult const& result) {
  Document page;
  for (std::size_t i = 0; i < result.records.size();) {
    std::string const& name = result.records[i].name;
    std::vector<Record const*> rungs;
    for (; i < result.records.size() && result.records[i].name == name; ++i) {
      if (is_rung(result.records[i])) rungs.push_back(&result.records[i]);
    }
    if (rungs.size() >= 2) add_case(page, rungs);
  }
  std::string const text = write_markdown(page);
  return text.empty() ? text : fmt::format("{}\n{}", head_of(result), text);
}

}  // namespace quadrille::report
