// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/host/memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace quadrille::device {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

// The number behind `key` in a file of "key number" lines, or `otherwise`.
std::size_t number_of(fs::path const& file, std::string const& key, std::size_t otherwise) {
  std::ifstream in{file};
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) return std::stoull(line.substr(key.size()));
  }
  return otherwise;
}

// The number a file consists of, or `otherwise` where it is absent or says "max".
std::size_t number_in(fs::path const& file, std::size_t otherwise) {
  std::ifstream in{file};
  std::size_t number = 0;
  return in >> number ? number : otherwise;
}

// What the groups on the way from `group` up to `mount` leave. The path a container shows may not
// exist inside it; then only the groups that do exist count.
std::size_t left_in_groups(fs::path const& mount, fs::path group, char const* limit,
                           char const* usage, std::string const& cache) {
  std::size_t left = kUnlimited;
  for (group = group.relative_path();; group = group.parent_path()) {
    fs::path const folder = mount / group;
    std::size_t const most = number_in(folder / limit, kUnlimited);
    // The page cache counts as used but is given back on demand.
    std::size_t const reclaimable = number_of(folder / "memory.stat", cache, 0);
    std::size_t const used = number_in(folder / usage, 0);
    std::size_t const held = used - std::min(used, reclaimable);
    left = std::min(left, most - std::min(most, held));
    if (group.empty()) return left;
  }
}

}  // namespace

std::size_t total_host_memory() { return number_of("/proc/meminfo", "MemTotal:", 0) * 1024; }

std::size_t available_host_memory(fs::path const& root) {
  std::size_t left = number_of(root / "proc/meminfo", "MemAvailable:", 0) * 1024;
  std::ifstream groups{root / "proc/self/cgroup"};
  for (std::string line; std::getline(groups, line);) {  // "id:controllers:path"
    auto const first = line.find(':');
    auto const second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string const controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    std::string const path = line.substr(second + 1);
    if (controllers == ",,") {
      left = std::min(left, left_in_groups(root / "sys/fs/cgroup", path, "memory.max",
                                           "memory.current", "inactive_file "));
    } else if (controllers.find(",memory,") != std::string::npos) {
      left = std::min(left,
                      left_in_groups(root / "sys/fs/cgroup/memory", path, "memory.limit_in_bytes",
                                     "memory.usage_in_bytes", "total_inactive_file "));
    }
  }
  return left;
}

std::size_t resident_host_memory() {
  std::ifstream in{"/proc/self/statm"};
  std::size_t all = 0, resident = 0;
  in >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace quadrille::device
