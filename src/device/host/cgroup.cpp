// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/host/cgroup.hpp"

#include "core/error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace quadrille::device {

namespace fs = std::filesystem;

std::ifstream open_system_file(fs::path const& file) {
  errno = 0;
  std::ifstream in{file};
  if (!in && (errno == EMFILE || errno == ENFILE)) {
    core::fail(
        fmt::format("{}: {}; raise their limit (ulimit -n)", file.string(), std::strerror(errno)),
        core::Exit::environment);
  }
  return in;
}

std::vector<ControlGroup> control_groups(std::string_view controller, fs::path const& root) {
  std::vector<ControlGroup> found;
  std::ifstream groups = open_system_file(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "id:controllers:path"
    auto const first = line.find(':');
    auto const second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string const controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    bool const is_unified = controllers == ",,";
    if (!is_unified && controllers.find(fmt::format(",{},", controller)) == std::string::npos) {
      continue;
    }
    fs::path const top = is_unified ? root / "sys/fs/cgroup" : root / "sys/fs/cgroup" / controller;
    for (fs::path path = fs::path{line.substr(second + 1)}.relative_path();;
         path = path.parent_path()) {
      found.push_back({path.empty() ? top : top / path, is_unified});
      if (path.empty()) break;
    }
  }
  return found;
}

std::vector<CpuQuota> cpu_quotas(fs::path const& root) {
  std::vector<CpuQuota> quotas;
  for (ControlGroup const& group : control_groups("cpu", root)) {
    double quota = 0, period = 0;
    // A group without a limit says "max", or -1.
    if (group.is_unified) {
      open_system_file(group.folder / "cpu.max") >> quota >> period;
    } else {
      open_system_file(group.folder / "cpu.cfs_quota_us") >> quota;
      open_system_file(group.folder / "cpu.cfs_period_us") >> period;
    }
    if (quota > 0 && period > 0) quotas.push_back({group.folder.string(), quota / period});
  }
  return quotas;
}

}  // namespace quadrille::device
