// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/record.hpp"
#include "report/terminal.hpp"

#include <string>

namespace quadrille::report {

/// Which run of what, on what, in a line or two.
std::string render_short_header(measure::RunInfo const& info, Terminal const& terminal);

/// For people: on one screen the verdict, what stands out, and a line per case that says how good its
/// best variant is and what limits it. Behind it a table per workload in the columns for which
/// there is room, the legs of overlap, links, what has no result, equal notes once, and what happened
/// during the run.
std::string render_screen(measure::RunResult const& result, Terminal const& terminal);

/// The same with every column, of tables in as many parts as they need.
std::string render_details(measure::RunResult const& result, Terminal const& terminal);
std::string render_markdown(measure::RunResult const& result);

/// Where there is more, and last the result, shown_result().
std::string render_end(measure::RunResult const& result, std::string const& file,
                       Terminal const& terminal);
/// result_line(), which is one line for programs, and of several for a person whose terminal is narrower.
std::string shown_result(measure::RunResult const& result, std::string const& file,
                         Terminal const& terminal);

}  // namespace quadrille::report
