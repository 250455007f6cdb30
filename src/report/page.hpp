// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/columns.hpp"
#include "report/terminal.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace quadrille::report {

enum class Tone { plain, strong, faint, good, warn, bad };

/// A column of a table that fits its page.
struct Fitted {
  std::string head;
  Align align = Align::right;
  int keep = 0;  ///< the lowest goes first where there is no room; kAlways never
  std::vector<std::string> cells;
  std::size_t short_width = 0;  ///< to which texts are shortened before any column goes; 0: not
  static constexpr int kAlways = 100;

  std::size_t width() const;
  /// Whether a cell says more than "-".
  bool has_values() const;
};

/// Text for a terminal of a width, in colours where it has them. What a file says must be without
/// control characters: see core::one_line().
class Page {
 public:
  explicit Page(Terminal const& terminal) : terminal_{terminal} {}

  std::size_t width() const { return terminal_.width; }
  std::string const& text() const { return text_; }
  std::string toned(std::string const& text, Tone tone) const;

  /// An empty line, unless there is one.
  void add_gap();
  /// As it is.
  void add_line(std::string const& text);
  /// On as many lines as it takes, behind a label as wide as `indent` in a tone of its own.
  void add_labelled(std::string const& label, std::size_t indent, std::string const& text,
                    Tone tone);
  /// The same on one line, which ends where the page does.
  void add_clipped(std::string const& label, std::size_t indent, std::string const& text,
                   Tone tone);
  void add_text(std::string const& text, Tone tone = Tone::plain);
  void add_title(std::string const& text);
  /// Leaves columns out, and then shortens texts, until it fits; columns without values are left out
  /// in any case. `tone_of(row, head)` is the tone of a cell.
  void add_table(std::vector<Fitted> columns,
                 std::function<Tone(std::size_t, std::string const&)> const& tone_of);

 private:
  Terminal terminal_;
  std::string text_;
};

}  // namespace quadrille::report
