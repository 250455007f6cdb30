// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/aligned.hpp"

#include "report/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace quadrille::commands {

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const end = std::min(text.find(' ', at), text.size());
    std::string_view const word = text.substr(at, end - at);
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) {
      lines.emplace_back();
    }
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
    at = end + 1;
  }
  return lines;
}

std::string aligned(std::vector<Row> const& rows) {
  // A narrower last column is hard to read.
  constexpr std::size_t kNarrowest = 24, kBelow = 6;
  if (rows.empty()) return {};
  std::size_t const line_width = report::terminal_of_output().width;
  std::vector<std::size_t> widths(rows[0].size() - 1, 0);
  for (Row const& row : rows) {
    for (std::size_t c = 0; c < widths.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  std::size_t longest = 0, indent = 0;
  for (Row const& row : rows) longest = std::max(longest, row.back().size());
  for (std::size_t const width : widths) indent += width + 2;
  bool const is_below = indent + std::min(longest, kNarrowest) > line_width;
  if (is_below) indent = kBelow;
  auto const add = [&](std::string_view line) {
    text.append(line.substr(0, line.find_last_not_of(' ') + 1)) += '\n';
  };
  for (Row const& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      line += fmt::format("{:<{}}", row[c], widths[c] + 2);
    }
    if (is_below) {
      add(line);
      line.assign(indent, ' ');
    }
    for (std::string const& part : wrapped(row.back(), line_width - indent)) {
      add(line + part);
      line.assign(indent, ' ');
    }
  }
  return text;
}

}  // namespace quadrille::commands
