// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/plan.hpp"

#include <string>

namespace quadrille::commands {

/// The plan as a table with the named problems below it, for --dry-run.
std::string render_plan(run::Plan const& plan, int ranks);
/// ... for --json.
std::string plan_as_json(run::Plan const& plan, device::Facts const& device, int ranks);

}  // namespace quadrille::commands
