// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.hpp"

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <vector_types.h>

namespace quadrille::kernels {

/// A kernel as it is written where it is launched, for messages.
struct KernelCall {
  char const* kernel;
  std::source_location where;
};

/// What a launch needs besides its arguments and its stream.
struct LaunchShape {
  dim3 grid{};
  dim3 block{};
  std::size_t shared_bytes = 0;  ///< dynamic shared memory
  dim3 cluster{};                ///< blocks of a cluster; the grid is a multiple of it
  /// Allows clusters of more than 8 blocks, up to 16, where the GPU has room for them.
  bool non_portable_cluster = false;
  /// Programmatic stream serialization: the kernel may start before the one before it in the stream
  /// has ended. It calls griddepcontrol_wait() before it accesses what that one reads or writes.
  bool overlaps_previous = false;

  std::uint64_t cluster_blocks() const { return std::uint64_t{cluster.x} * cluster.y * cluster.z; }
};

/// Fails on a cluster that no GPU supports. The runtime and the interpreter check the rest.
inline void require_cluster(KernelCall const& call, LaunchShape const& shape) {
  auto const text = [](dim3 const& n) {
    return std::to_string(n.x) + " x " + std::to_string(n.y) + " x " + std::to_string(n.z);
  };
  auto const& grid = shape.grid;
  auto const& cluster = shape.cluster;
  std::uint64_t const most = shape.non_portable_cluster ? 16 : 8;
  std::string wrong;
  if (shape.cluster_blocks() == 0 || shape.cluster_blocks() > most) {
    wrong = "a cluster of " + text(cluster) +
            " blocks; 1 to 8 are allowed, and 16 with non_portable_cluster";
  } else if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
    wrong = "a grid of " + text(grid) + " blocks is no multiple of the cluster of " +
            text(cluster) + "; round it up";
  }
  if (!wrong.empty()) {
    core::fail(std::string{call.kernel} + ": " + wrong, core::Exit::runtime, call.where);
  }
}

}  // namespace quadrille::kernels
