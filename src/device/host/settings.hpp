// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace quadrille::device {

/// How the system drives this machine's CPUs, and what it lets this process lock.
struct HostSettings {
  std::string governors;  ///< of frequencies, each once: "performance"; empty where it has none
  std::optional<std::uint64_t> memlock_bytes = {};  ///< that may be locked; empty for no limit
  int threads_per_core = 1;                         ///< hardware threads
};

/// Reads them; `cpus` is the system's folder of CPUs.
HostSettings host_settings(std::filesystem::path const& cpus = "/sys/devices/system/cpu");

}  // namespace quadrille::device
