// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/columns.hpp"
#include "report/terminal.hpp"

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace quadrille::report {

enum class Tone { plain, strong, faint, good, warn, bad };

/// A column of a table: a head, and a cell for each row.
struct TableColumn {
  static constexpr int kAlways = 100, kDetail = -1;

  std::string head;
  Align align = Align::right;
  /// The lowest goes first where a screen has no room; kAlways never, kDetail is on none.
  int keep = kAlways;
  std::vector<std::string> cells{};
  std::size_t short_width = 0;  ///< to which texts are shortened before any column goes; 0: not
  std::size_t min_width = 0;    ///< so that tables of different runs mostly line up
  /// Of the last column: is not shortened, but takes several lines where it has to.
  bool wraps = false;

  std::size_t width() const;
  /// Whether a cell says more than "-".
  bool has_values() const;
};

/// Columns of equal length.
struct Table {
  std::string title{};
  std::vector<TableColumn> columns{};
  /// Of the cell in this row under this head.
  std::function<Tone(std::size_t row, std::string const& head)> tone_of{};
  /// Columns that all parts have, where it is cut for want of room; 0: it is not.
  std::size_t repeated = 0;
  bool is_cut = false;     ///< on a screen, too, where columns would be left out
  bool is_detail = false;  ///< on no screen
  /// A page that is narrower by more has a line in its place that says so.
  std::size_t max_excess = std::numeric_limits<std::size_t>::max();
  /// No text is shortened: the last column takes what the others leave, on several lines, and stands
  /// below them where that is little.
  bool wraps_last = false;

  void add_column(Heading const& heading);
  void add_columns(std::initializer_list<Heading> headings);
  /// A cell for each column.
  void add_row(std::vector<std::string> const& cells);
  std::size_t rows() const { return columns.empty() ? 0 : columns.front().cells.size(); }
};

/// Texts under these heads, the last of which wraps; heads that are all empty have no line.
Table text_table(std::vector<std::string_view> const& heads);

/// Headings, texts, notes and tables, in the order in which they are read. What a file says must be
/// without control characters: see core::one_line().
class Document {
 public:
  /// An empty line, unless there is one.
  void add_gap();
  void add_text(std::string text, Tone tone = Tone::plain);
  /// Behind a label as wide as `indent`, which has the tone. A wider one has the text two blanks behind
  /// it, or below it where that is too wide.
  void add_labelled(std::string label, std::size_t indent, std::string text, Tone tone);
  /// The same on one line, which ends where the page does.
  void add_clipped(std::string label, std::size_t indent, std::string text, Tone tone);
  void add_title(std::string text);
  void add_table(Table table);

  struct Gap {};
  struct Title {
    std::string text;
  };
  struct Text {
    std::string label;
    std::size_t indent = 0;
    std::string text;
    Tone tone = Tone::plain;
    bool is_item = false;     ///< one of a list, and not a paragraph
    bool is_clipped = false;  ///< to one line
  };
  using Block = std::variant<Gap, Title, Text, Table>;
  std::vector<Block> const& blocks() const { return blocks_; }

 private:
  std::vector<Block> blocks_;
};

enum class Content { screen, all };

/// For a terminal of a width, in colours where it has them. Of a table that is too wide for a screen
/// columns are left out, and then texts are shortened, until it fits; with all columns it is cut. Those
/// that may be left out are where they have no values.
std::string write_text(Document const& document, Terminal const& terminal,
                       Content content = Content::screen);
std::string write_text(Table table, Terminal const& terminal);
/// With all columns.
std::string write_markdown(Document const& document);

}  // namespace quadrille::report
