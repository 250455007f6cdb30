// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/units.hpp"
#include "measure/record.hpp"

#include <string>

namespace quadrille::run {

/// What repeats the run of a result, as TOML: its settings, and its cases with the sizes and
/// configurations that "auto" stood for then. Of a run that was interrupted also the cases that it
/// did not reach. With `id` one measurement ("summa.2:kokkos"), or one case ("summa.2").
core::Parsed<std::string> earlier_config(std::string const& result, std::string const& id);

/// What differs now, and what happened in that run. Empty where the result cannot be read.
std::string render_changes(std::string const& result, measure::RunInfo const& now);

}  // namespace quadrille::run
