// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "core/types.hpp"
#include "workloads/serving/times.hpp"

#include <string>

namespace quadrille::workloads::serving {

/// What a server's steps are made of.
struct Extent {
  Transformer model{};
  core::DataType type = core::DataType::f16;
  std::int64_t rows = 1;       ///< tokens that a step usually has, or a prompt, at most
  std::int64_t length = 1;     ///< tokens of a sequence, at most
  std::int64_t sequences = 1;  ///< in a step, at most
  std::int64_t kv_tokens = 1;  ///< slots of KV memory
  std::int64_t block = 16;     ///< tokens of a block of it
};

/// Why no kernels take the model; empty where some may.
std::string shape_error(Extent const& extent);
/// Why this device has none for it; empty where it has.
std::string unsupported_reason(Extent const& extent, device::Device const& device);
/// Device memory that measure_times() takes.
double memory_bytes(Extent const& extent);

/// Times of one layer on the devices of this world, by the variants that "best" would take: its four
/// products, attention of a chunk, causal, behind tokens of the same sequence, and attention of single
/// tokens over paged K and V. Weights, and K and V of single tokens, are other ones in each execution, as
/// layers follow one another, up to some 256 MiB of them. The longest axes end where a point would
/// take seconds. Collective.
Measurement measure_times(comm::World& world, Extent const& extent);

}  // namespace quadrille::workloads::serving
