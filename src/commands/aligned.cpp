// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/aligned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace quadrille::commands {
namespace {

/// Lines of at most `width` characters, broken at blanks.
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

}  // namespace

std::string aligned(std::vector<Row> const& rows) {
  constexpr std::size_t kLine = 120;
  if (rows.empty()) return {};
  std::vector<std::size_t> widths(rows[0].size() - 1, 0);
  for (Row const& row : rows) {
    for (std::size_t c = 0; c < widths.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  std::size_t indent = 0;
  for (std::size_t const width : widths) indent += width + 2;
  for (Row const& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      line += fmt::format("{:<{}}", row[c], widths[c] + 2);
    }
    for (std::string const& part : wrapped(row.back(), kLine - indent)) {
      line += part;
      text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
      line.assign(indent, ' ');
    }
  }
  return text;
}

}  // namespace quadrille::commands
