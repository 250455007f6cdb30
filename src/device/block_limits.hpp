// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/occupancy.hpp"

namespace quadrille::device {

/// Blocks that each resource of one multiprocessor has room for; 0 where not for one. The least of them
/// are resident_blocks().
struct BlockLimits {
  int threads = 0;
  int registers = 0;
  int shared_memory = 0;
  int blocks = 0;  ///< that it takes, however small
};
BlockLimits block_limits(Multiprocessor const& offered, BlockNeeds const& needs);

}  // namespace quadrille::device
