// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "core/config.hpp"
#include "measure/fault.hpp"
#include "run/directory.hpp"
#include "run/plan.hpp"

namespace quadrille::run {

/// Measures what is planned and writes the result, which is `about` this program on these ranks. The
/// same exit code on every rank. Collective.
core::Exit measure_all(comm::World& world, core::Config const& config, Plan& plan,
                       Destination const& destination, measure::RunInfo const& about,
                       measure::Fault fault);

}  // namespace quadrille::run
