// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/units.hpp"
#include "measure/record.hpp"

#include <string>

namespace quadrille::report {

/// A result as reports take it: what io::read_result() reads, with its cases.
core::Parsed<measure::RunResult> open_result(std::string const& path);

/// Reads the case of each record that has none yet, and the settings of the run, from their texts.
void read_cases(measure::RunResult& result);

}  // namespace quadrille::report
