// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/document.hpp"

#include "core/error.hpp"
#include "report/text.hpp"

#include <fmt/color.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace quadrille::report {
namespace {

using Columns = std::vector<TableColumn>;

// Texts are shortened to no less.
constexpr std::size_t kNarrowest = 10;
constexpr std::size_t kBetween = 2;
constexpr std::size_t kMarkdownWidth = 120;
// A last column that wraps in less is hard to read: it stands below the others, indented.
constexpr std::size_t kMinWrapped = 24, kBelow = 6;

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

std::vector<std::size_t> widths_of(Columns const& columns) {
  std::vector<std::size_t> widths(columns.size());
  std::ranges::transform(columns, widths.begin(), &TableColumn::width);
  return widths;
}

std::size_t widest_word(TableColumn const& column) {
  std::size_t widest = width_of(column.head);
  for (std::string const& cell : column.cells) {
    for (std::string const& word : wrap(cell, 1, LongWords::keep)) {
      widest = std::max(widest, width_of(word));
    }
  }
  return widest;
}

/// To how little a column may be shortened.
std::size_t least_width(TableColumn const& column) {
  if (column.wraps) return widest_word(column);
  bool const is_text = column.align == Align::left;
  return is_text ? std::max(kNarrowest, width_of(column.head)) : column.width();
}

/// Drops minimum widths, leaves out what is least wanted, then shortens the longest texts. Numbers stay
/// whole. The widths.
std::vector<std::size_t> fit(Columns& columns, std::size_t width) {
  if (total(widths_of(columns)) > width) {
    for (TableColumn& column : columns) column.min_width = 0;
  }
  auto const least_total = [&] {
    std::vector<std::size_t> widths = widths_of(columns);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      std::size_t const least = columns[c].wraps ? least_width(columns[c]) : columns[c].short_width;
      if (least > 0) widths[c] = std::min(widths[c], least);
    }
    return total(widths);
  };
  while (least_total() > width) {
    auto const least = std::ranges::min_element(columns, {}, &TableColumn::keep);
    if (least->keep == TableColumn::kAlways) break;
    columns.erase(least);
  }
  std::vector<std::size_t> widths = widths_of(columns), least(columns.size());
  std::ranges::transform(columns, least.begin(), least_width);
  while (total(widths) > width) {
    std::size_t longest = columns.size();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      bool const may_shrink = widths[c] > least[c];
      if (may_shrink && (longest == columns.size() || widths[c] > widths[longest])) longest = c;
    }
    if (longest == columns.size()) break;
    --widths[longest];
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].wraps || columns[c].width() <= widths[c]) continue;
    columns[c].cells = clip_apart(columns[c].cells, widths[c]);
  }
  return widths;
}

/// Without columns that say nothing.
Table without_empty(Table table) {
  std::erase_if(table.columns, [](TableColumn const& column) {
    return column.keep != TableColumn::kAlways && !column.has_values();
  });
  return table;
}

/// Columns that fit side by side, of each part.
std::vector<Columns> parts_of(Table const& table, std::size_t width) {
  if (table.repeated == 0) return {table.columns};
  auto const behind = table.columns.begin() + static_cast<std::ptrdiff_t>(table.repeated);
  std::vector<Columns> parts;
  for (auto column = behind; column != table.columns.end(); ++column) {
    bool const fits =
        !parts.empty() && total(widths_of(parts.back())) + kBetween + column->width() <= width;
    if (!fits) parts.emplace_back(table.columns.begin(), behind);
    parts.back().push_back(*column);
  }
  return parts;
}

class TextWriter {
 public:
  TextWriter(Terminal const& terminal, Content content) : terminal_{terminal}, content_{content} {}

  std::string const& text() const { return text_; }

  void operator()(Document::Gap) { has_gap_ = !text_.empty(); }
  void operator()(Document::Title const& title) {
    (*this)(Document::Text{.label = {}, .text = title.text, .tone = Tone::strong});
  }
  void operator()(Document::Text const& text) {
    std::size_t const room = terminal_.width - text.indent;
    std::string begin = toned(fmt::format("{:<{}}", text.label, text.indent), text.tone);
    if (std::size_t const label = width_of(text.label); label > text.indent) {
      bool const fits = label + kBetween + width_of(text.text) <= terminal_.width;
      if (fits) return add_line(begin + std::string(kBetween, ' ') + text.text);
      add_line(begin);
      begin.assign(text.indent, ' ');
    }
    if (text.is_clipped) return add_line(begin + clip_end(text.text, room));
    for (std::string const& line : wrap(text.text, room)) {
      add_line(begin + (text.is_item ? line : toned(line, text.tone)));
      begin.assign(text.indent, ' ');
    }
  }
  void operator()(Table const& all) {
    bool const is_screen = content_ == Content::screen;
    if (is_screen && all.is_detail) return;
    Table table = without_empty(all);
    if (is_screen) std::erase_if(table.columns, [](auto const& c) { return c.keep < 0; });
    std::size_t const width = total(widths_of(table.columns));
    if (is_screen && width > terminal_.width && width - terminal_.width > table.max_excess) {
      if (!std::exchange(has_left_out_, true)) {
        (*this)(Document::Text{.label = {},
                               .text = "a table is too wide for this terminal: --details, --csv"});
      }
      return;
    }
    if (!table.title.empty()) {
      (*this)(Document::Text{.label = {}, .text = table.title, .tone = Tone::strong});
    }
    if (is_screen && !table.is_cut) return add_table(table, table.columns);
    for (Columns const& part : parts_of(table, terminal_.width)) {
      add_table(table, part);
      (*this)(Document::Gap{});
    }
  }

 private:
  std::string toned(std::string const& text, Tone tone) const {
    bool const is_plain = !terminal_.has_colours || tone == Tone::plain || text.empty();
    return is_plain ? text : fmt::format(style_of(tone), "{}", text);
  }

  void add_line(std::string const& text) {
    if (std::exchange(has_gap_, false)) text_ += '\n';
    text_ += text + '\n';
  }

  void add_table(Table const& table, Columns columns) {
    bool const is_fitted = content_ == Content::screen && !table.wraps_last;
    std::vector<std::size_t> const widths =
        is_fitted ? fit(columns, terminal_.width) : widths_of(columns);
    std::size_t indent = total(widths) - widths.back();
    bool const is_below =
        table.wraps_last && indent + std::min(widths.back(), kMinWrapped) > terminal_.width;
    if (is_below) indent = kBelow;
    auto const add_row = [&](auto const& text_of, auto const& tone) {
      std::string line;
      std::size_t blanks = 0;  // not written yet: none at the end of a line
      auto const end_line = [&] {
        add_line(std::exchange(line, {}));
        blanks = indent;
      };
      for (std::size_t c = 0; c < columns.size(); ++c) {
        std::vector<std::string> parts{text_of(columns[c])};
        bool const is_last = c + 1 == columns.size();
        if (table.wraps_last && is_last) {
          if (is_below) end_line();
          parts = wrap(parts.front(), terminal_.width - indent, LongWords::keep);
        } else if (columns[c].wraps && is_last) {
          parts = wrap(parts.front(), widths[c], LongWords::keep);
        }
        for (std::string const& text : parts) {
          if (&text != &parts.front()) end_line();
          std::size_t const rest = widths[c] - width_of(text);
          bool const is_left = columns[c].align == Align::left;
          if (!text.empty()) {
            line += std::string(blanks + (is_left ? 0 : rest), ' ') + toned(text, tone(columns[c]));
            blanks = is_left ? rest : 0;
          } else {
            blanks += rest;
          }
        }
        blanks += kBetween;
      }
      add_line(line);
    };
    bool const has_heads =
        std::ranges::any_of(columns, [](auto const& column) { return !column.head.empty(); });
    if (has_heads) {
      add_row([](TableColumn const& column) -> std::string const& { return column.head; },
              [](TableColumn const&) { return Tone::faint; });
    }
    for (std::size_t row = 0; row < columns.front().cells.size(); ++row) {
      add_row([&](TableColumn const& column) -> std::string const& { return column.cells[row]; },
              [&](TableColumn const& column) {
                return table.tone_of ? table.tone_of(row, column.head) : Tone::plain;
              });
    }
  }

  Terminal terminal_;
  Content content_;
  bool has_gap_ = false;       ///< before the next line
  bool has_left_out_ = false;  ///< and said so
  std::string text_;
};

class MarkdownWriter {
 public:
  std::string const& text() const { return text_; }

  void operator()(Document::Gap) {
    if (!text_.empty() && !text_.ends_with("\n\n")) text_ += '\n';
  }
  void operator()(Document::Title const& title) { text_ += fmt::format("**{}**\n\n", title.text); }
  void operator()(Document::Text const& text) {
    if (text.is_item) text_ += "- ";
    // A list has marks of its own, and no columns.
    std::size_t const label = text.label.find_first_not_of(" -");
    if (label != text.label.npos) text_ += text.label.substr(label) + ' ';
    text_ += text.text + '\n';
  }
  void operator()(Table const& all) {
    Table const table = without_empty(all);
    if (!table.title.empty()) (*this)(Document::Title{table.title});
    for (Columns const& columns : parts_of(table, kMarkdownWidth)) {
      (*this)(Document::Gap{});
      std::string heads = "|", rule = "|";
      for (TableColumn const& column : columns) {
        heads += cell(column.head);
        rule += column.align == Align::left ? " --- |" : " ---: |";
      }
      text_ += heads + '\n' + rule + '\n';
      for (std::size_t row = 0; row < table.rows(); ++row) {
        text_ += '|';
        for (TableColumn const& column : columns) text_ += cell(column.cells[row]);
        text_ += '\n';
      }
    }
  }

 private:
  static std::string cell(std::string_view text) {
    std::string cell = " ";
    for (char const c : text) {
      if (c == '|') cell += '\\';
      cell += c == '\n' ? ' ' : c;
    }
    return cell + " |";
  }

  std::string text_;
};

}  // namespace

std::size_t TableColumn::width() const {
  std::size_t width = std::max(min_width, width_of(head));
  for (std::string const& cell : cells) width = std::max(width, width_of(cell));
  return width;
}

bool TableColumn::has_values() const {
  return std::ranges::any_of(cells,
                             [](std::string const& cell) { return !cell.empty() && cell != "-"; });
}

void Table::add_column(Heading const& heading) {
  columns.push_back(
      {.head = std::string{heading.text}, .align = heading.align, .min_width = heading.width});
}

void Table::add_columns(std::initializer_list<Heading> headings) {
  for (Heading const& heading : headings) add_column(heading);
}

void Table::add_row(std::vector<std::string> const& cells) {
  QUAD_REQUIRE(cells.size() == columns.size(), "a row has a cell for each column");
  for (std::size_t c = 0; c < cells.size(); ++c) columns[c].cells.push_back(cells[c]);
}

Table text_table(std::vector<std::string_view> const& heads) {
  Table table{.wraps_last = true};
  for (std::string_view const head : heads) table.add_column({head, 0, Align::left});
  return table;
}

void Document::add_gap() { blocks_.emplace_back(Gap{}); }

void Document::add_text(std::string text, Tone tone) {
  blocks_.emplace_back(Text{.label = {}, .text = std::move(text), .tone = tone});
}

void Document::add_labelled(std::string label, std::size_t indent, std::string text, Tone tone) {
  blocks_.emplace_back(Text{std::move(label), indent, std::move(text), tone, true, false});
}

void Document::add_clipped(std::string label, std::size_t indent, std::string text, Tone tone) {
  blocks_.emplace_back(Text{std::move(label), indent, std::move(text), tone, true, true});
}

void Document::add_title(std::string text) { blocks_.emplace_back(Title{std::move(text)}); }

void Document::add_table(Table table) { blocks_.emplace_back(std::move(table)); }

std::string write_text(Document const& document, Terminal const& terminal, Content content) {
  TextWriter writer{terminal, content};
  for (Document::Block const& block : document.blocks()) std::visit(writer, block);
  return writer.text();
}

std::string write_text(Table table, Terminal const& terminal) {
  Document document;
  document.add_table(std::move(table));
  return write_text(document, terminal);
}

std::string write_markdown(Document const& document) {
  MarkdownWriter writer;
  for (Document::Block const& block : document.blocks()) std::visit(writer, block);
  return writer.text();
}

}  // namespace quadrille::report
