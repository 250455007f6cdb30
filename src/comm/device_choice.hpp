// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config.hpp"

#include <span>
#include <string>

namespace quadrille::comm {

/// What names a GPU beside its index.
struct GpuName {
  std::string uuid;  ///< "GPU-1b2c..."
  std::string pci;   ///< "0000:17:00.0"
};

/// The index of the GPU that a rank drives, of those it sees, at least one: what settings.device_map
/// lists for its local rank, else the GPU of that index, or the only one it sees. The reason where it
/// has none of its own, or the map does not fit this node.
core::Parsed<int> choose_gpu(core::RunSettings const& settings, std::span<GpuName const> visible,
                             int local_rank, int local_size);

}  // namespace quadrille::comm
