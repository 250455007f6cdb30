// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "core/types.hpp"
#include "workloads/serving/times.hpp"

namespace quadrille::workloads::serving {

/// Times of the devices of this world: products by the gemm variant that "best" would take, for 1,
/// 4, 16, ... rows up to `most_rows`, and copies. Attention is given the arithmetic rate of the
/// largest product, and reads K and V as fast as a copy. Of all ranks the slowest counts.
/// Collective.
StepTimes measure_times(comm::World& world, Transformer const& model, core::DataType type,
                        std::int64_t most_rows);

}  // namespace quadrille::workloads::serving
