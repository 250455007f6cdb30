// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/page.hpp"

#include "report/text.hpp"

#include <fmt/color.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace quadrille::report {
namespace {

// Texts are shortened to no less.
constexpr std::size_t kNarrowest = 10;
constexpr std::size_t kBetween = 2;

fmt::text_style style_of(Tone tone) {
  switch (tone) {
    case Tone::strong: return fmt::emphasis::bold;
    case Tone::faint: return fmt::emphasis::faint;
    case Tone::good: return fmt::fg(fmt::terminal_color::green);
    case Tone::warn: return fmt::fg(fmt::terminal_color::yellow);
    case Tone::bad: return fmt::fg(fmt::terminal_color::red) | fmt::emphasis::bold;
    case Tone::plain: break;
  }
  return {};
}

std::size_t total(std::vector<std::size_t> const& widths) {
  return std::accumulate(widths.begin(), widths.end(), kBetween * (widths.size() - 1));
}

std::vector<std::size_t> widths_of(std::vector<Fitted> const& columns) {
  std::vector<std::size_t> widths(columns.size());
  std::ranges::transform(columns, widths.begin(), &Fitted::width);
  return widths;
}

/// Leaves out what is least wanted, then shortens the longest texts. Numbers stay whole.
void fit(std::vector<Fitted>& columns, std::size_t width) {
  auto const least_total = [&] {
    std::vector<std::size_t> widths = widths_of(columns);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (columns[c].short_width > 0) widths[c] = std::min(widths[c], columns[c].short_width);
    }
    return total(widths);
  };
  while (least_total() > width) {
    auto const least = std::ranges::min_element(columns, {}, &Fitted::keep);
    if (least->keep == Fitted::kAlways) break;
    columns.erase(least);
  }
  std::vector<std::size_t> widths = widths_of(columns);
  while (total(widths) > width) {
    std::size_t longest = columns.size();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      std::size_t const least = std::max(kNarrowest, width_of(columns[c].head));
      bool const may_shrink = columns[c].align == Align::left && widths[c] > least;
      if (may_shrink && (longest == columns.size() || widths[c] > widths[longest])) longest = c;
    }
    if (longest == columns.size()) break;
    --widths[longest];
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (std::string& cell : columns[c].cells) cell = clip(cell, std::max(widths[c], kNarrowest));
  }
}

}  // namespace

std::size_t Fitted::width() const {
  std::size_t width = width_of(head);
  for (std::string const& cell : cells) width = std::max(width, width_of(cell));
  return width;
}

bool Fitted::has_values() const {
  return std::ranges::any_of(cells, [](std::string const& cell) { return cell != "-"; });
}

std::string Page::toned(std::string const& text, Tone tone) const {
  bool const is_plain = !terminal_.has_colours || tone == Tone::plain || text.empty();
  return is_plain ? text : fmt::format(style_of(tone), "{}", text);
}

void Page::add_gap() {
  if (!text_.empty() && !text_.ends_with("\n\n")) text_ += '\n';
}

void Page::add_line(std::string const& text) { text_ += text + '\n'; }

void Page::add_labelled(std::string const& label, std::size_t indent, std::string const& text,
                        Tone tone) {
  std::string begin = toned(fmt::format("{:<{}}", label, indent), tone);
  for (std::string const& line : wrap(text, width() - indent)) {
    add_line(begin + line);
    begin.assign(indent, ' ');
  }
}

void Page::add_clipped(std::string const& label, std::size_t indent, std::string const& text,
                       Tone tone) {
  add_line(toned(fmt::format("{:<{}}", label, indent), tone) + clip_end(text, width() - indent));
}

void Page::add_text(std::string const& text, Tone tone) {
  for (std::string const& line : wrap(text, width())) add_line(toned(line, tone));
}

void Page::add_title(std::string const& text) {
  add_line(toned(clip_end(text, width()), Tone::strong));
}

void Page::add_table(std::vector<Fitted> columns,
                     std::function<Tone(std::size_t, std::string const&)> const& tone_of) {
  std::erase_if(columns, [](Fitted const& column) {
    return column.keep != Fitted::kAlways && !column.has_values();
  });
  fit(columns, width());
  std::vector<std::size_t> const widths = widths_of(columns);
  auto const add_row = [&](auto const& text_of, auto const& tone) {
    std::string line;
    std::size_t blanks = 0;  // not written yet: none at the end of a line
    for (std::size_t c = 0; c < columns.size(); ++c) {
      std::string const& text = text_of(columns[c]);
      std::size_t const rest = widths[c] - width_of(text);
      bool const is_left = columns[c].align == Align::left;
      if (!text.empty()) {
        line += std::string(blanks + (is_left ? 0 : rest), ' ') + toned(text, tone(columns[c]));
        blanks = is_left ? rest : 0;
      } else {
        blanks += rest;
      }
      blanks += kBetween;
    }
    add_line(line);
  };
  add_row([](Fitted const& column) -> std::string const& { return column.head; },
          [](Fitted const&) { return Tone::faint; });
  for (std::size_t row = 0; row < columns.front().cells.size(); ++row) {
    add_row([&](Fitted const& column) -> std::string const& { return column.cells[row]; },
            [&](Fitted const& column) { return tone_of(row, column.head); });
  }
}

}  // namespace quadrille::report
