// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/mpi_world.hpp"
#include "workloads/serving/measured_times.hpp"

/// A small model and its measured times.
namespace quadrille::workloads::serving {

inline constexpr Extent kExtent{
    .model = {.layers = 2, .heads = 4, .kv_heads = 2, .head_size = 64, .element_bytes = 2},
    .type = core::DataType::f16,
    .rows = 64,
    .length = 256,
    .sequences = 32,  // more than tokens in a block: a sequence alone may have fewer
    .kv_tokens = 1024,
    .block = 16,
    .vocabulary = 100,
    .deterministic = false};

/// Collective.
inline Measurement measured(Extent const& extent) {
  Execution execution{test::world(), extent, 1};
  return measure_times(test::world(), execution);
}

}  // namespace quadrille::workloads::serving
