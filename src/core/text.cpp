// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/text.hpp"

#include <fmt/format.h>

#include <array>

namespace quadrille::core {
namespace {

constexpr std::size_t kLongest = 1500;

std::string escaped(std::string_view text, bool keep_lines) {
  std::string out;
  for (char const c : text) {
    bool const is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (is_control && !(keep_lines && c == '\n')) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

/// How many at the begin neither a terminal nor XML may get, of a line without the first set of
/// control characters.
std::size_t bytes_to_escape(std::string_view rest, bool is_text) {
  auto const first = static_cast<unsigned char>(rest[0]);
  if (first < 0x80) return 0;
  if (!is_text) return 1;
  bool const is_control = first == 0xc2 && static_cast<unsigned char>(rest[1]) < 0xa0;
  bool const is_none = rest.starts_with("\xef\xbf\xbe") || rest.starts_with("\xef\xbf\xbf");
  return is_control ? 2 : is_none ? 3 : 0;
}

}  // namespace

std::string one_line(std::string_view text) {
  // Escapes take four times the place.
  constexpr std::size_t kHalf = kLongest / 2;
  if (text.size() <= kLongest) {
    std::string line = escaped(text, false);
    if (line.size() <= kLongest) return line;
    return line.substr(0, kHalf) + " ... " + line.substr(line.size() - kHalf);
  }
  std::string const begin = escaped(text.substr(0, kHalf), false);
  std::string const end = escaped(text.substr(text.size() - kHalf), false);
  return begin.substr(0, kHalf) + " ... " + end.substr(end.size() - kHalf);
}

std::string printable(std::string_view text) { return escaped(text, true); }

std::string visible(std::string_view text) {
  std::string const line = one_line(text);
  bool const is_text = is_utf8(line);
  std::string out;
  for (std::string_view rest = line; !rest.empty();) {
    std::size_t const n = bytes_to_escape(rest, is_text);
    if (n == 0) out += rest[0];
    for (char const c : rest.substr(0, n)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    rest.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char const c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    auto const first = static_cast<unsigned char>(text[0]);
    std::size_t const length = first < 0x80                    ? 1
                               : first >= 0xc2 && first < 0xe0 ? 2
                               : first >= 0xe0 && first < 0xf0 ? 3
                               : first >= 0xf0 && first < 0xf5 ? 4
                                                               : 0;
    if (length == 0 || text.size() < length) return false;
    char32_t code = length == 1 ? first : first & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) {
      auto const next = static_cast<unsigned char>(text[i]);
      if ((next & 0xc0U) != 0x80) return false;
      code = code << 6 | (next & 0x3fU);
    }
    constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
    bool const is_surrogate = code >= 0xd800 && code < 0xe000;
    if (code < kLeast[length] || is_surrogate || code > 0x10ffff) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace quadrille::core
