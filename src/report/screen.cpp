// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/screen.hpp"

#include "core/text.hpp"
#include "report/assessment.hpp"
#include "report/cells.hpp"
#include "report/columns.hpp"
#include "report/fitted_tables.hpp"
#include "report/swept_keys.hpp"
#include "report/table.hpp"
#include "report/tables.hpp"
#include "report/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace quadrille::report {
namespace {

using measure::Outcome;
using measure::Record;

// A case has a line on the first screen, where these suffice; the others are in the tables.
constexpr std::size_t kMaxCases = 24;
// Longer names of cases and variants are shortened where a column would have no room.
constexpr std::size_t kShortName = 14;
// Lines of one kind among what stands out, and names of cases that share an advice.
constexpr std::size_t kMaxLines = 4, kMaxAdvised = 6;

// What stands out.

constexpr std::size_t kIndent = 18;

std::string label_of(std::string_view what, std::size_t n) {
  return fmt::format("{:>4} {}", n, what);
}

/// A line for each, of many the first, and how many more.
void add_some(Document& page, std::string_view what, Tone tone,
              std::vector<std::string> const& lines, std::size_t count) {
  if (count == 0) return;
  // The last line may as well be a row as say that one is missing.
  std::size_t const most = lines.size() <= kMaxLines ? lines.size() : kMaxLines - 1;
  for (std::size_t i = 0; i < most; ++i) {
    page.add_clipped(i == 0 ? label_of(what, count) : "", kIndent, lines[i], tone);
  }
  if (lines.size() > most) {
    page.add_clipped("", kIndent, fmt::format("and {} more", lines.size() - most), tone);
  }
}

void add_outcome(Document& page, measure::RunResult const& result, Outcome outcome) {
  std::vector<std::string> lines;
  for (Record const& r : result.records) {
    if (r.outcome == outcome) lines.push_back(fmt::format("{}: {}", name_of(r), why(r)));
  }
  add_some(page, core::to_text(outcome), tone_of(outcome), lines, lines.size());
}

void add_reasons(Document& page, std::string_view what, Tone tone, Reasons const& reasons) {
  std::vector<Reasons::Group> const groups = reasons.groups();
  std::vector<std::string> lines;
  std::size_t count = 0;
  for (Reasons::Group const& group : groups) {
    std::size_t const n = group.names.size();
    std::string const who = n == 1              ? group.names.front() + ": "
                            : groups.size() > 1 ? fmt::format("{} x ", n)
                                                : "";
    lines.push_back(who + group.reason.text());
    count += n;
  }
  add_some(page, what, tone, lines, count);
}

/// How the rows stand beside the vendor's, and the best of each case.
void add_vendor(Document& page, measure::RunResult const& result,
                std::vector<CaseAssessment> const& cases) {
  auto const rows =
      static_cast<std::size_t>(std::ranges::count_if(result.records, has_vendor_ratio));
  auto const slower =
      static_cast<std::size_t>(std::ranges::count_if(result.records, is_slower_than_vendor));
  VendorStanding const standing = vendor_standing(cases);
  if (standing.compared() == 0) return;
  std::string text = fmt::format("the best variant is as fast or faster in {} of {}",
                                 standing.as_fast.size(), counted(standing.compared(), "case"));
  std::vector<Record const*> const& behind = standing.slower;
  if (!behind.empty()) {
    std::vector<std::string> names;
    for (Record const* r : behind) {
      if (names.size() == kMaxLines - 1) break;
      names.push_back(fmt::format("{} ({})", shown(r->name), vendor_share(*r)));
    }
    text += fmt::format(", behind in {}", fmt::join(names, ", "));
    if (names.size() < behind.size()) {
      text += fmt::format(" and {} more", behind.size() - names.size());
    }
  }
  if (slower > 0) text += fmt::format("; rows slower than it: {} of {}", slower, rows);
  page.add_labelled("     vendor", kIndent, text, behind.empty() ? Tone::good : Tone::warn);
}

void add_headline(Document& page, measure::RunResult const& result) {
  measure::Counts const counts = count_outcomes(result);
  measure::Ending const ending = ending_of(result);
  bool const passed = ending.has_passed();
  std::string const label = passed ? "PASS" : "FAIL";
  page.add_labelled(label, label.size() + 2,
                    fmt::format("{} of {} passed{}{}", counts.passed,
                                counted(result.records.size(), "measurement"), passed ? "" : "; ",
                                shown(ending.reason)),
                    passed ? Tone::good : Tone::bad);
}

// A line per case.

Tone tone_of_answer(Answer answer) {
  switch (answer) {
    case Answer::yes: return Tone::good;
    case Answer::fair:
    case Answer::suspect: return Tone::warn;
    case Answer::no:
    case Answer::no_result: return Tone::bad;
    case Answer::unknown: break;
  }
  return Tone::faint;
}

/// Those for which there is room, the worst before the better, in the order of the run.
std::vector<CaseAssessment const*> chosen(std::vector<CaseAssessment> const& cases) {
  constexpr std::array kWorstFirst{Answer::no_result, Answer::no,      Answer::suspect,
                                   Answer::fair,      Answer::unknown, Answer::yes};
  std::set<CaseAssessment const*> kept;
  for (Answer const answer : kWorstFirst) {
    for (CaseAssessment const& one : cases) {
      if (one.answer == answer && kept.size() < kMaxCases) kept.insert(&one);
    }
  }
  return {kept.begin(), kept.end()};  // of one vector: addresses are in its order
}

std::string count_answers(std::vector<CaseAssessment> const& cases,
                          std::vector<CaseAssessment const*> const& without) {
  std::vector<std::string> counts;
  for (auto const& [answer, name] : enum_names(Answer{})) {
    auto const n = std::ranges::count_if(cases, [&](CaseAssessment const& one) {
      return one.answer == answer && std::ranges::find(without, &one) == without.end();
    });
    if (n > 0) counts.push_back(fmt::format("{} {}", n, name));
  }
  return fmt::format("{}", fmt::join(counts, ", "));
}

/// What brings the cases closer to their limits, each advice once.
void add_advice(Document& page, std::vector<CaseAssessment const*> const& lines) {
  std::vector<std::pair<std::string, std::vector<std::string>>> advice;  // and its cases
  for (CaseAssessment const* one : lines) {
    if (one->advice.empty()) continue;
    auto found =
        std::ranges::find_if(advice, [&](auto const& known) { return known.first == one->advice; });
    if (found == advice.end()) found = advice.insert(found, {one->advice, {}});
    found->second.push_back(shown(one->head().name));
  }
  if (advice.empty()) return;
  page.add_gap();
  page.add_text("What to try");
  for (auto const& [text, whose] : advice) {
    std::string const who = whose.size() <= kMaxAdvised ? fmt::format("{}", fmt::join(whose, ", "))
                                                        : counted(whose.size(), "case");
    page.add_labelled("  -", 4, fmt::format("{}: {}", who, text), Tone::plain);
  }
}

/// What all lines have in common goes from a column into `title`.
std::vector<TableColumn> columns_of(std::vector<CaseAssessment const*> const& lines,
                                    std::vector<std::string>& title) {
  using Cell = std::function<std::string(Record const&)>;
  auto const column = [&](std::string head, Align align, int keep, Cell const& cell) {
    TableColumn fitted{std::move(head), align, keep, {}, 0};
    for (CaseAssessment const* one : lines) {
      fitted.cells.push_back(one->best == nullptr ? "-" : cell(*one->best));
    }
    return fitted;
  };
  auto const of_key = [](std::string_view key) {
    return [key](Record const& r) { return text_of(key, r); };
  };
  std::vector<TableColumn> columns;
  TableColumn& names =
      columns.emplace_back(TableColumn{"case", Align::left, TableColumn::kAlways, {}, kShortName});
  for (CaseAssessment const* one : lines) names.cells.push_back(shown(one->head().name));
  auto const add_or_name = [&](std::string_view key, int keep) {
    std::set<std::string> values;
    for (CaseAssessment const* one : lines) values.insert(text_of(key, one->head()));
    if (values.size() == 1) {
      if (!values.begin()->empty()) title.push_back(*values.begin());
    } else {
      columns.push_back(column(std::string{key}, Align::left, keep, of_key(key)));
    }
  };
  add_or_name("size", 12);
  add_or_name("type", 2);
  std::vector<Record const*> heads;
  for (CaseAssessment const* one : lines) heads.push_back(&one->head());
  SweptKeys const swept{heads};
  columns.push_back(column("swept", Align::left, 13, [&](Record const& r) {
    std::vector<std::string> values;
    for (std::string const& key : swept.keys_of(r)) {
      values.push_back(shown(fmt::format("{}={}", key, swept.value(r, key))));
    }
    return values.empty() ? "-" : fmt::format("{}", fmt::join(values, " "));
  }));
  TableColumn& transports = columns.emplace_back(TableColumn{"transport", Align::left, 5, {}, 0});
  for (CaseAssessment const* one : lines) {
    bool const is_best = one->best != nullptr && one->transports().size() > 1;
    transports.cells.push_back(is_best ? shown(one->best->transport) : "-");
  }
  columns.push_back(column("variant", Align::left, TableColumn::kAlways, of_key("variant")));
  columns.back().short_width = kShortName;
  auto const any_of = [&](auto const& is_so) {
    return std::ranges::any_of(
        lines, [&](auto const* one) { return one->best != nullptr && is_so(*one->best); });
  };
  columns.push_back(
      column("median", Align::right, any_of(is_exchange) ? 15 : 4, of_key("median_s")));
  // Of calls the time of one.
  auto const rate = [](std::string_view key) {
    return [key](Record const& r) { return text_of(counts_calls(r) ? "median_s" : key, r); };
  };
  bool const has_ranks = any_of([](Record const& r) { return r.ranks > 1; });
  if (has_ranks) {
    columns.push_back(
        column("per rank", Align::right, TableColumn::kAlways, rate("rate_per_rank")));
  }
  columns.push_back(
      column("rate", Align::right, has_ranks ? 11 : TableColumn::kAlways, rate("rate")));
  columns.push_back(column("vendor", Align::right, 17,
                           [](Record const& r) { return is_own(r) ? vendor_share(r) : "-"; }));
  columns.push_back(column("copy", Align::right, 10, copy_share));
  columns.push_back(column("peak", Align::right, 9, peak_share));
  columns.push_back(column("reached", Align::right, 1, ceiling_share));
  columns.push_back(column("hidden", Align::right, 1, [](Record const& r) {
    return has_legs(r) ? percent(r.leg_summary->hidden) : "-";
  }));
  TableColumn limits{"limit", Align::left, 16}, answers{"good?", Align::left};
  for (CaseAssessment const* one : lines) {
    limits.cells.emplace_back(core::to_text(one->limit));
    answers.cells.emplace_back(core::to_text(one->answer));
  }
  columns.push_back(std::move(limits));
  columns.push_back(std::move(answers));
  return columns;
}

void add_cases(Document& page, std::vector<CaseAssessment> const& cases) {
  std::vector<CaseAssessment const*> const lines = chosen(cases);
  if (lines.empty()) return;
  std::vector<std::string> common;
  std::vector<TableColumn> columns = columns_of(lines, common);
  page.add_gap();
  page.add_text(fmt::format("The best of each case{}{}: good? {}", common.empty() ? "" : ", ",
                            fmt::join(common, ", "), count_answers(cases, {})));
  std::vector<Answer> tones;
  for (CaseAssessment const* one : lines) tones.push_back(one->answer);
  page.add_table({.columns = std::move(columns),
                  .tone_of =
                      [tones](std::size_t row, std::string const& head) {
                        return head == "good?"  ? tone_of_answer(tones[row])
                               : head == "case" ? Tone::strong
                                                : Tone::plain;
                      },
                  .repeated = 1});
  if (lines.size() < cases.size()) {
    page.add_text(
        fmt::format("and {} more: {}", cases.size() - lines.size(), count_answers(cases, lines)),
        Tone::faint);
  }
  add_advice(page, lines);
}

}  // namespace

std::string render_short_header(measure::RunInfo const& info, Terminal const& terminal) {
  Document page;
  page.add_text(shown(version_line(info)));
  page.add_text(fmt::format("run {}, started {}", shown(info.run_id), shown(info.started)));
  page.add_text(shown(placement_line(info)));
  return write_text(page, terminal);
}

namespace {

Document document_of(measure::RunResult const& result) {
  Document page;
  std::vector<CaseAssessment> cases = assess(result);
  // Of those that could not run at all the reasons are told, and of those that have no rate none is
  // the best.
  std::erase_if(cases, [](CaseAssessment const& one) {
    auto const has_no_rate = [](Record const* r) { return has_speed(*r) && r->unit.empty(); };
    return std::ranges::none_of(one.rows, [](Record const* r) { return is_tabled(*r); }) ||
           std::ranges::all_of(one.rows, has_no_rate);
  });
  add_headline(page, result);
  for (Outcome const outcome :
       {Outcome::fail, Outcome::wrong_library, Outcome::error, Outcome::timeout}) {
    add_outcome(page, result, outcome);
  }
  Reasons doubts;
  for (Record const& r : result.records) {
    if (!r.suspect.empty()) doubts.add(name_of(r), shown(r.suspect.front()));
  }
  add_reasons(page, "SUSPECT", Tone::warn, doubts);
  for (Outcome const outcome : {Outcome::interrupted, Outcome::unsupported, Outcome::skip}) {
    Reasons reasons;
    for (Record const& r : result.records) {
      if (r.outcome == outcome) reasons.add(name_of(r), shown(why(r)));
    }
    add_reasons(page, core::to_text(outcome), tone_of(outcome), reasons);
  }
  add_vendor(page, result, cases);
  add_cases(page, cases);

  std::set<Record const*> best;
  for (CaseAssessment const& one : cases) best.insert(one.best);
  add_tables(page, result, best);
  if (!result.info.events.empty()) page.add_gap();
  for (std::string const& event : result.info.events) {
    page.add_text(shown(event));
  }
  if (result.info.status == "running") {
    page.add_gap();
    page.add_text(std::string{kNotEnded}, Tone::warn);
  }
  return page;
}

}  // namespace

std::string render_screen(measure::RunResult const& result, Terminal const& terminal) {
  return write_text(document_of(result), terminal);
}

std::string render_details(measure::RunResult const& result, Terminal const& terminal) {
  return write_text(document_of(result), terminal, Content::all);
}

std::string render_markdown(measure::RunResult const& result) {
  return write_markdown(document_of(result));
}

std::string shown_result(measure::RunResult const& result, std::string const& file,
                         Terminal const& terminal) {
  std::string const line = core::printable(result_line(result, file));
  if (!terminal.is_read) return line + '\n';
  constexpr std::string_view kIndent = "  ";
  std::vector<std::string> const lines =
      wrap(line, terminal.width - kIndent.size(), LongWords::keep);
  return fmt::format("{}\n", fmt::join(lines, fmt::format("\n{}", kIndent)));
}

std::string render_end(measure::RunResult const& result, std::string const& file,
                       Terminal const& terminal) {
  Document page;
  page.add_text("`quadrille report --details` shows every column, `quadrille explain` what one is");
  return write_text(page, terminal) + shown_result(result, file, terminal);
}

}  // namespace quadrille::report
