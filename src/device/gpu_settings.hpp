// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/link.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::device {

/// What the driver asks for after an error.
enum class Recovery { none, reset, reboot, drain, drain_and_reset };
constexpr auto enum_names(Recovery) {
  return core::EnumNames<Recovery, 5>{
      {{Recovery::none, "none"},
       {Recovery::reset, "reset the GPU"},
       {Recovery::reboot, "reboot the node"},
       {Recovery::drain, "drain traffic between GPUs"},
       {Recovery::drain_and_reset, "drain traffic, and reset the GPU"}}};
}

/// Rows of the memory that spare ones stand for, since they had errors.
struct RemappedRows {
  unsigned corrected = 0, uncorrected = 0;  ///< by the kind of error
  bool is_pending = false;                  ///< one more with the next reset
  bool has_failed = false;                  ///< no spare row was left

  bool operator==(RemappedRows const&) const = default;
};

/// How a GPU is set up, and what it has been through, as far as NVML tells.
struct GpuSettings {
  std::optional<bool> corrects_errors = {};  ///< of its memory, by ECC
  std::optional<bool> is_persistent = {};    ///< the driver stays loaded while nobody uses the GPU
  int nvlinks = 0;                           ///< that it has
  int nvlinks_up = 0;
  std::optional<double> power_limit_w = {};  ///< in force
  std::optional<double> default_power_limit_w = {};
  std::optional<Recovery> recovery = {};
  std::optional<RemappedRows> remapped_rows = {};
  std::optional<unsigned> retired_pages = {};  ///< of GPUs that cannot remap rows
  PcieLink pcie = {};
};

/// All of these by name, in words. What is not told is said to be so.
std::vector<std::pair<std::string, std::string>> facts_of(GpuSettings const& settings);
/// "power limit 700 W, persistence on, ..."
std::string line_of(GpuSettings const& settings);

}  // namespace quadrille::device
