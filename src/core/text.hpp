// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quadrille::core {

/// A message that may quote what somebody wrote, as one line for a terminal, and text for XML: as \xNN
/// what controls a terminal or the order of characters, and bytes that are no UTF-8. Without its middle
/// where it is very long.
std::string one_line(std::string_view text);

/// The same of a text of several lines, whole.
std::string printable(std::string_view text);

/// A text as TOML writes it, in quotes.
std::string quote(std::string_view text);

/// Whether the bytes are characters of UTF-8.
bool is_utf8(std::string_view text);

/// FNV-1a of bytes that follow those of `hash`.
std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash = 0xcbf29ce484222325);

}  // namespace quadrille::core
