// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/units.hpp"
#include "report/cells.hpp"
#include "report/columns.hpp"
#include "report/compare.hpp"
#include "report/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

namespace quadrille::report {
namespace {

using measure::Record;

/// "commit: 1a72114 -> 577c038".
std::string text_of(Difference const& difference) {
  return fmt::format("{}: {} -> {}", shown(difference.what), shown(difference.base),
                     shown(difference.now));
}

/// "gemm.1:host_simd f64 768,768,768".
std::string title_of(Record const& record) {
  return shown(fmt::format("{} {} {}", record.id, record.type, size_text(record.size)));
}

/// "+3.12" percent, of large ones "25x".
std::string percent(double ratio) {
  return ratio < 10 ? fmt::format("{:+.3g}", 100 * (ratio - 1)) : fmt::format("{:.3g}x", ratio);
}

/// The change with its interval, then times and whose they are, which stand below where a line is too
/// short for all. A ratio that is not known stands in brackets.
void add_heading(Document& page, Finding const& finding) {
  std::string const title = title_of(finding.record());
  if (!finding.ratio) return page.add_labelled("", 2, title, Tone::plain);
  core::MedianRatio const& ratio = *finding.ratio;
  std::string const value = percent(ratio.value) + (ratio.value < 10 ? " %" : "");
  std::string const interval =
      ratio.has_interval() ? fmt::format("[{}, {}]", percent(ratio.low), percent(ratio.high))
                           : "no interval";
  std::string const change =
      fmt::format("  {:>8} {}", bracketed(value, finding.is_doubtful), interval);
  constexpr std::size_t kChange = 27;  // of most intervals
  page.add_labelled(
      change, 4,
      fmt::format("{:{}}{:>7} -> {:>7}  {}", "", kChange - std::min(kChange, change.size()),
                  core::format_seconds(ratio.base), core::format_seconds(ratio.base * ratio.value),
                  title),
      Tone::plain);
}

/// Lines of what else there is to say of a finding.
std::string remarks(Finding const& finding) {
  if (finding.base.empty() || finding.now == nullptr) return {};
  std::vector<std::string> lines;
  Record const& base = *finding.base.back();
  if (base.id != finding.now->id) lines.push_back("in the base: " + shown(base.id));
  if (!finding.reason.empty()) lines.push_back(shown(finding.reason));
  for (Difference const& difference : finding.differences) lines.push_back(text_of(difference));
  if (finding.now->modelled_link) {
    lines.emplace_back("modelled link: no property of this machine");
  }
  auto const add_suspect = [&](std::string_view side, Record const& record) {
    for (std::string const& reason : record.suspect) {
      lines.push_back(fmt::format("SUSPECT in {}: {}", side, shown(reason)));
    }
  };
  add_suspect("base", base);
  add_suspect("new", *finding.now);
  return fmt::format("{}", fmt::join(lines, "\n"));
}

/// What several in a row share but for its values is said once, below the last.
void add_findings(Document& page, std::vector<Finding const*> const& findings) {
  for (std::size_t i = 0; i < findings.size();) {
    std::size_t const begin = i;
    Ranged said{remarks(*findings[i])};
    do {
      add_heading(page, *findings[i]);
    } while (++i < findings.size() && said.merge(Ranged{remarks(*findings[i])}));
    std::istringstream lines{said.text()};
    bool const is_shared = i - begin > 1 && !lines.str().empty();
    if (is_shared) page.add_labelled("", 4, fmt::format("these {}:", i - begin), Tone::plain);
    for (std::string line; std::getline(lines, line);) {
      page.add_labelled("", 4, line, Tone::plain);
    }
  }
}

struct Section {
  Change change;
  std::string_view title;
};
constexpr Section kSections[]{
    {Change::broken, "BROKEN: passed in the base"},
    {Change::slower, "SLOWER: change of the median time, its 95 % interval"},
    {Change::faster, "FASTER: change of the median time, its 95 % interval"},
    {Change::ambiguous, "AMBIGUOUS: too few samples, an interval across the margin, or SUSPECT"},
    {Change::no_speed, "NO SPEED: did not pass on either side, or was not run"},
    {Change::refused, "REFUSED: measured otherwise, base -> new"},
    {Change::only_in_base, "ONLY IN BASE"},
    {Change::only_in_new, "ONLY IN NEW"},
    {Change::same, "SAME: change of the median time, its 95 % interval"},
};

std::string counts_line(Comparison const& comparison) {
  std::vector<std::string> items;
  auto const add = [&](Change change, std::string_view what, bool always) {
    std::size_t const n = comparison.count(change);
    if (always || n > 0) items.push_back(fmt::format("{} {}", n, what));
  };
  add(Change::broken, "broken", false);
  add(Change::slower, "slower", true);
  add(Change::faster, "faster", true);
  add(Change::same, "same", true);
  add(Change::ambiguous, "ambiguous", true);
  add(Change::only_in_new, "only new", true);
  add(Change::only_in_base, "only base", true);
  add(Change::refused, "refused", false);
  add(Change::no_speed, "without speed", false);
  return fmt::format("{}", fmt::join(items, ", "));
}

void add_runs(Document& page, Comparison const& comparison) {
  std::vector<std::string> base;
  for (measure::RunInfo const* info : comparison.base) base.push_back(shown(info->run_id));
  page.add_text(
      fmt::format("new {}, margin {:g} %", shown(comparison.now->run_id), 100 * comparison.margin));
  page.add_text(fmt::format("base {}", fmt::join(base, ", ")));
  if (comparison.across == Across::devices) {
    page.add_text("across devices: how machines differ, and not what changed");
  }
  if (comparison.now->status != "finished") {
    page.add_text(fmt::format("the new run did not end (status '{}'): it may lack measurements",
                              shown(comparison.now->status)));
  }
}

}  // namespace

std::string render_text(Comparison const& comparison, bool details, Terminal const& terminal) {
  Document page;
  page.add_text(counts_line(comparison));
  add_runs(page, comparison);
  for (Section const& section : kSections) {
    bool const is_hidden = section.change == Change::same && !details;
    if (is_hidden || comparison.count(section.change) == 0) continue;
    page.add_gap();
    page.add_title(std::string{section.title});
    std::vector<Finding const*> findings;
    for (Finding const& finding : comparison.findings) {
      if (finding.change == section.change) findings.push_back(&finding);
    }
    add_findings(page, findings);
  }
  if (!comparison.environment.empty()) {
    page.add_gap();
    page.add_title("ENVIRONMENT: base -> new");
  }
  for (Difference const& difference : comparison.environment) {
    page.add_labelled("", 2, text_of(difference), Tone::plain);
  }
  return write_text(page, terminal);
}

}  // namespace quadrille::report
