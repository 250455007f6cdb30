// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/serving/execution.hpp"
#include "workloads/serving/times.hpp"

namespace quadrille::workloads::serving {

/// Of a model whose steps are not executed, as much as their times need: so many layers and slots as no cache
/// holds.
Extent measured_part(Extent extent);

/// Times of steps of this model on the devices of this world, part by part: layers without their attention by
/// tokens, attention of a chunk behind tokens of the same sequence, and of single tokens over those in blocks, each
/// of one layer; then what is before and behind the layers, with all that the host does for a step. The host's
/// calls are in all of them, as they are in a step. The longest axes end where a point would take seconds.
/// Collective.
Measurement measure_times(comm::World& world, Execution& execution);

}  // namespace quadrille::workloads::serving
