// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/exchange.hpp"

namespace quadrille::test {

/// A rank's part of an exchange, by a grid of its own.
struct ExchangeStep {
  kernels::exchange::Problem problem;
  bool is_packed = false, combines = false;
  unsigned blocks = 0;  ///< of the grid, where it is packed
};

/// Blocks that stand for a rank, which are those of two lanes.
inline constexpr unsigned kBlocksOfRank = 4;

/// Runs steps[rank * count + i], i < count, one after another for each rank, all ranks in one launch.
/// `counters` are a zero for each rank.
void launch_ranks(ExchangeStep const* steps, int count, int ranks, unsigned* counters,
                  core::DataType type, kernels::Combine op, device::StreamView stream);

/// Bytes of a message that a lane moves in a step.
struct Stretch {
  std::size_t first, bytes;
};
/// out[step * lanes + lane], of a message of so many bytes.
void launch_stretches(kernels::exchange::Sizes const& sizes, std::size_t bytes, Stretch* out,
                      device::StreamView stream);

}  // namespace quadrille::test
