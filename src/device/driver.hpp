// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace quadrille::device {

/// The driver of this node's GPUs: "580.82.07, CUDA 13.0", or "none" without one. NVML tells the
/// first and the runtime the second; what neither tells is left out.
std::string driver_version();

/// How a GPU is set up, as far as NVML tells.
struct GpuSettings {
  std::optional<bool> corrects_errors = {};  ///< of its memory, by ECC
  std::optional<bool> is_persistent = {};    ///< the driver stays loaded while nobody uses the GPU
  int nvlinks = 0;                           ///< that it has
  int nvlinks_up = 0;
};

/// Of the GPU with this UUID.
GpuSettings gpu_settings(std::string const& uuid);

}  // namespace quadrille::device
