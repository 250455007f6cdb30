// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace quadrille::device {

/// What one multiprocessor offers, and in which units it hands it out.
struct Multiprocessor {
  int threads = 0;
  int blocks = 0;
  int registers = 0;
  int register_unit = 256;          ///< registers are given to a warp in multiples of this
  int partitions = 4;               ///< schedulers with a register file of their own
  std::size_t shared_bytes = 0;     ///< of all blocks, the system's share included
  std::size_t shared_reserved = 0;  ///< taken by the system for each block
  std::size_t shared_unit = 128;
};

/// The multiprocessor of a compute capability (times ten): 70, 75, 80, 86, 87, 89, 90, 100, 120;
/// all zero for others. Source: CUDA C++ Programming Guide, "Compute Capabilities".
Multiprocessor multiprocessor(int compute_capability);

/// What one block of a kernel takes.
struct BlockNeeds {
  int threads = 0;
  int registers = 0;             ///< of each thread
  std::size_t shared_bytes = 0;  ///< static and dynamic
};

/// Blocks that are resident at the same time on one multiprocessor: the least of what threads,
/// registers, shared memory and the limit of blocks allow. 0 when one does not fit.
int resident_blocks(Multiprocessor const& offered, BlockNeeds const& needs);

}  // namespace quadrille::device
