// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace quadrille::core {

/// A message that may quote what somebody wrote, as one line for a terminal: control characters as
/// \xNN, and without its middle where it is very long.
std::string one_line(std::string_view text);

/// The same of a text of several lines, whole.
std::string printable(std::string_view text);

/// As one_line(), and nothing but characters of UTF-8 that a terminal shows and XML may hold: the
/// second set of control characters and bytes of no character are \xNN too.
std::string visible(std::string_view text);

/// A text as TOML writes it, in quotes.
std::string quote(std::string_view text);

/// Whether the bytes are characters of UTF-8.
bool is_utf8(std::string_view text);

}  // namespace quadrille::core
