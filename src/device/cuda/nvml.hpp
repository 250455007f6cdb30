// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda/library.hpp"
#include "device/device.hpp"

#include <optional>
#include <string>
#include <vector>

namespace quadrille::device {

/// NVML for one GPU, as far as it is used here; declared because the header is not part of every
/// toolkit. Tells nothing where the library or the GPU is missing.
class Nvml {
 public:
  explicit Nvml(std::string const& uuid);

  std::optional<Telemetry> read() const;
  /// Those that this GPU and its driver tell of, in the order of a table.
  std::vector<ErrorCounter> error_counters();
  /// NVLink, directly or through switches, or PCIe; unknown where NVML does not see the other GPU.
  Link link_to(std::string const& uuid) const;

 private:
  using Handle = void*;

  Library library_{{"libnvidia-ml.so.1"}};
  Handle handle_ = nullptr;
  Handle xid_events_ = nullptr;
  std::uint64_t xids_ = 0;  ///< that arrived since the start
  int (*get_clock_)(Handle, int, unsigned*) = nullptr;
  int (*get_power_)(Handle, unsigned*) = nullptr;
  int (*get_temperature_)(Handle, int, unsigned*) = nullptr;
  int (*get_energy_)(Handle, unsigned long long*) = nullptr;
};

/// "580.82.07"; empty where NVML does not tell.
std::string nvml_driver_version();

}  // namespace quadrille::device
