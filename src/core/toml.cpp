// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/toml.hpp"

#include <algorithm>
#include <string>

namespace quadrille::core {
namespace {

constexpr std::int64_t kMaxDots = 1000;

}  // namespace

SyntaxError find_syntax_error(std::string_view text) {
  std::size_t i = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  std::int64_t line = 1, dots = 0;
  auto const count_lines = [&](std::string_view part) {
    line += std::count(part.begin(), part.end(), '\n');
  };
  while (i < text.size()) {
    char const c = text[i];
    if (static_cast<unsigned char>(c) >= 0x80) {
      return {line, "a character beyond ASCII can only stand in quotes or in a comment"};
    }
    if (c == '.' && ++dots > kMaxDots) return {line, "a line of more than 1000 dots"};
    std::size_t end = i + 1;
    if (c == '\n') dots = 0;
    if (c == '#') end = text.find('\n', i);
    if (c == '"' || c == '\'') {
      std::string const triple(3, c);
      bool const lines = text.substr(i).starts_with(triple);
      std::string const closing = lines ? triple : triple.substr(2);
      end = i + closing.size();
      while (end < text.size() && !text.substr(end).starts_with(closing) &&
             (lines || text[end] != '\n')) {
        end += c == '"' && text[end] == '\\' ? 2 : 1;
      }
      end += closing.size();
    }
    end = std::min(end, text.size());
    count_lines(text.substr(i, end - i));
    i = end;
  }
  return {};
}

}  // namespace quadrille::core
