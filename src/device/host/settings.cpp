// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/host/settings.hpp"

#include "device/host/topology.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <fstream>
#include <set>

namespace quadrille::device {

HostSettings host_settings(std::filesystem::path const& cpus) {
  std::set<std::string> governors;
  std::error_code none;
  for (auto const& cpu : std::filesystem::directory_iterator{cpus, none}) {
    std::ifstream in{cpu.path() / "cpufreq/scaling_governor"};
    if (std::string governor; in >> governor) governors.insert(governor);
  }
  HostSettings settings{.governors = fmt::format("{}", fmt::join(governors, ", ")),
                        .threads_per_core = threads_per_core()};
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    settings.memlock_bytes = limit.rlim_cur;
  return settings;
}

}  // namespace quadrille::device
