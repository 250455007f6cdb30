// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/record.hpp"

#include <string>

namespace quadrille::report {

/// Each case that measured two techniques of this project or more, as a table in Markdown: what
/// each changes, its rate, and its gain over the fastest above it, beside the same gain by
/// the figures of the technique's source. Above the tables stand device, commit, driver and clock.
/// Empty where a result has no such case.
std::string render_ladders(measure::RunResult const& result);

}  // namespace quadrille::report
