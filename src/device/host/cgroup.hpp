// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::device {

/// A file of the system, or one that is absent. Where the process may open no more files the job ends
/// with Exit::environment: it would take what it cannot read for nothing at all.
std::ifstream open_system_file(std::filesystem::path const& file);

/// A control group around this process.
struct ControlGroup {
  std::filesystem::path folder;
  bool is_unified = false;  ///< of cgroup v2
};

/// Those that limit what `controller` ("memory", "cpu") does, from the innermost to the root; some may
/// not exist, as in a container that shows another path. `root` is "/" outside tests.
std::vector<ControlGroup> control_groups(std::string_view controller,
                                         std::filesystem::path const& root = "/");

/// CPU time that all processes of a control group may use together, in CPUs.
struct CpuQuota {
  std::string group;
  double cpus = 0;
};

/// Every one that limits this process.
std::vector<CpuQuota> cpu_quotas(std::filesystem::path const& root = "/");

}  // namespace quadrille::device
