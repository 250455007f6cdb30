// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"

#include <functional>

namespace quadrille::measure {

/// What is measured beside a case, in milliseconds, so that a workload can choose by it or count with
/// it: seconds of one execution of what `enqueue` puts on world.stream(). The fastest of a few rounds,
/// each of as many executions as the clock needs, of the slowest rank of each round; what takes long
/// is executed once. The same on every rank. Collective.
double quick_seconds(comm::World& world, std::function<void()> const& enqueue);

}  // namespace quadrille::measure
