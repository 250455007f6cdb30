// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <limits>

namespace quadrille::report {

/// What a report is shown on.
struct Terminal {
  std::size_t width = 80;
  bool has_colours = false;
  bool is_read = false;   ///< by a person: programs get no terminal
  bool rewrites = false;  ///< a line can be written over
};

/// Of lines that are as long as they like.
inline constexpr Terminal kUnlimited{.width = std::numeric_limits<std::size_t>::max()};

/// The value of a variable of the environment; nullptr where it is not set.
using Environment = std::function<char const*(char const* name)>;

/// `columns`: of the terminal, 0 where there is none. COLUMNS overrides the width. Colours are for a
/// terminal that is not "dumb": NO_COLOR, set and not empty, takes them away, CLICOLOR_FORCE, set and
/// neither empty nor 0, gives them anywhere.
Terminal choose_terminal(std::size_t columns, Environment const& environment);

/// That of standard output. Open MPI gives each rank a pseudo-terminal: it has the width of
/// mpirun's own, or 0 columns where that has none.
Terminal terminal_of_output();

/// That of standard error, as wide as it is now; kUnlimited where it is none.
Terminal terminal_of_errors();

}  // namespace quadrille::report
