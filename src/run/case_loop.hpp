// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "core/config.hpp"
#include "measure/fault.hpp"
#include "run/directory.hpp"
#include "run/output.hpp"
#include "run/plan.hpp"

#include <string>
#include <vector>

namespace quadrille::run {

/// The cases of a run, one after the other and in rounds, with what tells of them: journal, screen
/// and result, and the files that `destination` names. Collective.
core::Exit run_cases(comm::World& world, core::Config const& config, std::vector<Planned>& plan,
                     measure::Fault fault, Destination const& destination, RunStart& start,
                     Output& out);

}  // namespace quadrille::run
