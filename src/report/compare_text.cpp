// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/text.hpp"
#include "core/units.hpp"
#include "report/columns.hpp"
#include "report/compare.hpp"
#include "report/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace quadrille::report {
namespace {

using measure::Record;

constexpr std::size_t kWidth = 80;

/// A line of a text from a file, or its begin.
std::string line(std::size_t indent, std::string_view text) {
  std::string const shown = core::one_line(text);
  std::size_t const room = kWidth - indent;
  return fmt::format("{:{}}{}\n", "", indent, clip_end(shown, room));
}

/// "commit: 1a72114 -> 577c038".
std::string line(std::size_t indent, Difference const& difference) {
  std::string const what = clip(core::one_line(difference.what), 30);
  std::size_t const room = kWidth - indent - width_of(what) - 6;
  std::string base = core::one_line(difference.base), now = core::one_line(difference.now);
  // A short one leaves its place to the other.
  std::size_t const half = room / 2;
  std::size_t const for_base = std::max(half, room - std::min(room, width_of(now)));
  base = clip(base, for_base);
  now = clip(now, room - std::min(half, width_of(base)));
  if (width_of(base) + width_of(now) > room) now = clip(now, room - width_of(base));
  return fmt::format("{:{}}{}: {} -> {}\n", "", indent, what, base, now);
}

/// "gemm.1:host_simd f64 768,768,768".
std::string title_of(Record const& record) {
  return core::one_line(fmt::format("{} {} {}", record.id, record.type, size_text(record.size)));
}

/// "+3.12" percent, of large ones "25x".
std::string percent(double ratio) {
  return ratio < 10 ? fmt::format("{:+.3g}", 100 * (ratio - 1)) : fmt::format("{:.3g}x", ratio);
}

/// A ratio that is not known stands in brackets.
std::string ratio_line(Finding const& finding) {
  core::MedianRatio const& ratio = *finding.ratio;
  std::string value = percent(ratio.value) + (ratio.value < 10 ? " %" : "");
  if (finding.is_doubtful) value = fmt::format("({})", value);
  std::string const interval =
      ratio.has_interval() ? fmt::format("[{}, {}]", percent(ratio.low), percent(ratio.high))
                           : "no interval";
  std::string const numbers =
      fmt::format("  {:>8} {:<16}  {:>7} -> {:>7}", value, interval,
                  core::format_seconds(ratio.base), core::format_seconds(ratio.base * ratio.value));
  std::string const title = title_of(finding.record());
  bool const fits = width_of(numbers) + 2 + width_of(title) <= kWidth;
  return fits ? fmt::format("{}  {}\n", numbers, title)
              : line(0, numbers) + line(4, clip(title, kWidth - 4));
}

void add_suspect(std::string& text, std::string_view side, Record const& record) {
  for (std::string const& reason : record.suspect) {
    text += fmt::format("    SUSPECT in {}: {}\n", side, core::one_line(reason));
  }
}

std::string title_line(Finding const& finding) {
  return finding.ratio ? ratio_line(finding)
                       : line(2, clip(title_of(finding.record()), kWidth - 2));
}

/// What else there is to say of a finding; lines may be wider than the page.
std::string remarks(Finding const& finding) {
  if (finding.base.empty() || finding.now == nullptr) return {};
  std::string text;
  Record const& base = *finding.base.back();
  if (base.id != finding.now->id) text += line(4, fmt::format("in the base: {}", base.id));
  if (!finding.reason.empty()) text += line(4, finding.reason);
  for (Difference const& difference : finding.differences) text += line(4, difference);
  if (finding.now->modelled_link) {
    text += line(4, "modelled link: no property of this machine");
  }
  add_suspect(text, "base", base);
  add_suspect(text, "new", *finding.now);
  return text;
}

/// What several in a row share but for its values is said once, below the last.
std::string render(std::vector<Finding const*> const& findings) {
  std::string text;
  for (std::size_t i = 0; i < findings.size();) {
    Ranged said{remarks(*findings[i])};
    text += title_line(*findings[i]);
    std::size_t sharing = 1;
    while (++i < findings.size() && said.merge(Ranged{remarks(*findings[i])})) {
      text += title_line(*findings[i]);
      ++sharing;
    }
    std::string const lines = said.text();
    if (sharing > 1 && !lines.empty()) text += line(4, fmt::format("these {}:", sharing));
    for (std::size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1) {
      text += clip_end(lines.substr(at, lines.find('\n', at) - at), kWidth) + '\n';
    }
  }
  return text;
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

/// Broken at blanks behind commas.
std::string wrapped(std::vector<std::string> const& items) {
  std::string text;
  std::size_t width = 0;
  for (std::string const& item : items) {
    bool const is_first = text.empty();
    bool const fits = width + item.size() + 3 <= kWidth;
    if (!is_first) text += fits ? ", " : ",\n  ";
    width = (is_first ? 0 : fits ? width + 2 : 2) + item.size();
    text += item;
  }
  return text + '\n';
}

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
  return wrapped(items);
}

std::string runs_lines(Comparison const& comparison) {
  std::vector<std::string> base;
  for (measure::RunInfo const* info : comparison.base) base.push_back(info->run_id);
  std::string text = line(
      0, fmt::format("new {}, margin {:g} %", comparison.now->run_id, 100 * comparison.margin));
  text += line(0, fmt::format("base {}", fmt::join(base, ", ")));
  if (comparison.now->status != "finished") {
    text += line(0, fmt::format("the new run did not end (status '{}'): it may lack measurements",
                                comparison.now->status));
  }
  return text;
}

}  // namespace

std::string render_text(Comparison const& comparison, bool details) {
  std::string text = counts_line(comparison) + runs_lines(comparison);
  for (Section const& section : kSections) {
    bool const is_hidden = section.change == Change::same && !details;
    if (is_hidden || comparison.count(section.change) == 0) continue;
    text += fmt::format("\n{}\n", section.title);
    std::vector<Finding const*> findings;
    for (Finding const& finding : comparison.findings) {
      if (finding.change == section.change) findings.push_back(&finding);
    }
    text += render(findings);
  }
  if (!comparison.environment.empty()) text += "\nENVIRONMENT: base -> new\n";
  for (Difference const& difference : comparison.environment) text += line(2, difference);
  return text;
}

}  // namespace quadrille::report
