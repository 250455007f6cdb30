// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/ladder.hpp"

#include "core/units.hpp"
#include "report/columns.hpp"
#include "report/compare_identity.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace quadrille::report {
namespace {

using kernels::Role;
using measure::Record;

/// The row that a record is of; nullptr where this program has none such.
kernels::VariantInfo const* row_of(Record const& record) {
  for (measure::WorkloadEntry const* entry : workloads::workloads()) {
    if (entry->schema.name != record.workload) continue;
    for (kernels::VariantInfo const* row : entry->variants) {
      if (row->name == record.variant) return row;
    }
  }
  return nullptr;
}

bool is_rung(Record const& record) {
  auto const* const row = row_of(record);
  return row != nullptr && row->role == Role::own && has_speed(record);
}

std::string fact_of(measure::RunInfo const& info, std::string_view name) {
  auto const found = std::ranges::find(
      info.build, name, [](auto const& fact) { return std::string_view{fact.first}; });
  return found == info.build.end() ? "unknown" : found->second;
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
                     fact_of(info, "commit"), fact_of(info, "driver"), clocks_of(result),
                     info.run_id, info.started);
}

std::string gain(double now, double before) {
  return now > 0 && before > 0 ? fmt::format("{:.2f}", now / before) : "-";
}

std::string ratio_text(Record const& record) {
  return record.ratio_to_vendor ? fmt::format("{:.2f}", *record.ratio_to_vendor) : "-";
}

std::string published_text(Record const& record) {
  return record.published > 0 ? core::format_rate(record.published, record.unit) : "-";
}

/// A case's records of own techniques, in the order in which the case names them.
std::string render_case(std::vector<Record const*> const& rungs) {
  Record const& first = *rungs.front();
  std::string text = fmt::format("\n{}: {} of {}, {}\n\n", first.name, first.workload, first.type,
                                 cell(column("size"), first));
  bool const has_published =
      std::ranges::any_of(rungs, [](Record const* rung) { return rung->published > 0; });
  auto const on =
      std::ranges::find_if(rungs, [](Record const* rung) { return rung->published > 0; });
  text += "| rung | what it changes | rate | over the row above | of the vendor |";
  if (has_published)
    text += fmt::format(" published ({}) | over the one above |", (*on)->published_on);
  text += has_published ? "\n| --- | --- | ---: | ---: | ---: | ---: | ---: |\n"
                        : "\n| --- | --- | ---: | ---: | ---: |\n";
  double before = 0, published_before = 0;
  for (Record const* rung : rungs) {
    text += fmt::format(
        "| `{}` | {} | {} | {} | {} |", rung->variant, row_of(*rung)->summary,
        core::format_rate(rung->rate, rung->unit) + (rung->suspect.empty() ? "" : " (SUSPECT)"),
        gain(rung->rate, before), ratio_text(*rung));
    if (has_published) {
      text +=
          fmt::format(" {} | {} |", published_text(*rung), gain(rung->published, published_before));
    }
    text += '\n';
    before = rung->rate;
    if (rung->published > 0) published_before = rung->published;
  }
  return text;
}

}  // namespace

std::string render_ladders(measure::RunResult const& result) {
  std::string text;
  for (std::size_t i = 0; i < result.records.size();) {
    std::string const& name = result.records[i].name;
    std::vector<Record const*> rungs;
    for (; i < result.records.size() && result.records[i].name == name; ++i) {
      if (is_rung(result.records[i])) rungs.push_back(&result.records[i]);
    }
    if (rungs.size() >= 2) text += render_case(rungs);
  }
  return text.empty() ? text : head_of(result) + text;
}

}  // namespace quadrille::report
