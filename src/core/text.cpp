// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/text.hpp"

#include <fmt/format.h>

#include <array>

namespace quadrille::core {
namespace {

constexpr std::size_t kLongest = 1500;

/// The character of UTF-8 that a text begins with; of 0 bytes where it begins with none.
struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;
};
Character first_character(std::string_view text) {
  auto const first = static_cast<unsigned char>(text[0]);
  std::size_t const length = first < 0x80                    ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || text.size() < length) return {};
  char32_t code = length == 1 ? first : first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    auto const next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0U) != 0x80) return {};
    code = code << 6 | (next & 0x3fU);
  }
  constexpr std::array<char32_t, 5> kMin{0, 0, 0x80, 0x800, 0x10000};
  bool const is_surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kMin[length] || is_surrogate || code > 0x10ffff) return {};
  return {code, length};
}

/// Whether a terminal obeys a character, or it changes the order of others, or ends a line, or XML may
/// not have it.
bool is_obeyed(char32_t c) {
  bool const is_control = c < 0x20 || (c >= 0x7f && c < 0xa0);
  bool const is_order = c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
                        (c >= 0x2066 && c <= 0x2069);
  return is_control || is_order || c == 0x2028 || c == 0x2029 || c == 0xfffe || c == 0xffff;
}

std::string escaped(std::string_view text, bool keep_lines) {
  std::string out;
  while (!text.empty()) {
    Character const c = first_character(text);
    std::size_t const n = c.bytes == 0 ? 1 : c.bytes;
    bool const is_shown = c.bytes > 0 && (!is_obeyed(c.code) || (keep_lines && c.code == U'\n'));
    if (is_shown) out += text.substr(0, n);
    for (char const byte : is_shown ? std::string_view{} : text.substr(0, n)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
    text.remove_prefix(n);
  }
  return out;
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
    std::size_t const bytes = first_character(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash) {
  for (char const c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace quadrille::core
