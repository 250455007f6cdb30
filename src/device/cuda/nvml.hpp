// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda/library.hpp"
#include "device/device.hpp"

#include <optional>
#include <string>
#include <vector>

// As in nvml.h.
struct nvmlDevice_st;
struct nvmlEventSet_st;

namespace quadrille::device {

/// NVML for one GPU. Tells nothing where the library or the GPU is missing, and of what a driver or a
/// virtual machine hides.
class Nvml {
 public:
  explicit Nvml(std::string const& uuid);

  std::optional<Telemetry> read() const;
  /// The share of the latest time, up to a second, in which any process ran a kernel; 0 where untold.
  double utilization() const;
  /// Those that this GPU and its driver tell of, in the order of a table.
  std::vector<ErrorCounter> error_counters();
  PcieLink pcie_link() const;
  GpuSettings settings() const;
  /// NVLink, directly or through switches, or PCIe; unknown where NVML does not see the other GPU.
  Link link_to(std::string const& uuid) const;

 private:
  Library library_{{"libnvidia-ml.so.1"}};
  nvmlDevice_st* handle_ = nullptr;
  nvmlEventSet_st* xid_events_ = nullptr;
  std::uint64_t xids_ = 0;  ///< that arrived since the start
};

/// "580.82.07"; empty where NVML does not tell.
std::string nvml_driver_version();

}  // namespace quadrille::device
