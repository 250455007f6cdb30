// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::commands {

using Row = std::vector<std::string>;

/// Lines of at most `width` characters, broken at blanks.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// Rows of as many cells each, in aligned columns that fit standard output. The last cell takes what
/// the others leave, on several lines where it must, broken at blanks; where they leave little it
/// stands below them.
std::string aligned(std::vector<Row> const& rows);

}  // namespace quadrille::commands
