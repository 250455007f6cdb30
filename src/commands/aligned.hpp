// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace quadrille::commands {

using Row = std::vector<std::string>;

/// Rows of as many cells each, as lines of at most 120 characters in aligned columns. The last cell
/// takes what the others leave, on several lines where it must, broken at blanks.
std::string aligned(std::vector<Row> const& rows);

}  // namespace quadrille::commands
