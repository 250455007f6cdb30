// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/host/memory.hpp"

#include "device/host/cgroup.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <malloc.h>
#include <string>

namespace quadrille::device {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

// The number behind `key` in a file of "key number" lines, or `otherwise`.
std::size_t number_of(fs::path const& file, std::string const& key, std::size_t otherwise) {
  std::ifstream in = open_system_file(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) return std::stoull(line.substr(key.size()));
  }
  return otherwise;
}

// The number a file consists of, or `otherwise` where it is absent or says "max".
std::size_t number_in(fs::path const& file, std::size_t otherwise) {
  std::ifstream in = open_system_file(file);
  std::size_t number = 0;
  return in >> number ? number : otherwise;
}

std::size_t limit_of(ControlGroup const& group) {
  return number_in(group.folder / (group.is_unified ? "memory.max" : "memory.limit_in_bytes"),
                   kUnlimited);
}

// Pages of files are given back on demand.
std::size_t held_by(ControlGroup const& group) {
  std::size_t const reclaimable =
      number_of(group.folder / "memory.stat",
                group.is_unified ? "inactive_file " : "total_inactive_file ", 0);
  std::size_t const used =
      number_in(group.folder / (group.is_unified ? "memory.current" : "memory.usage_in_bytes"), 0);
  return used - std::min(used, reclaimable);
}

}  // namespace

std::size_t total_host_memory(fs::path const& root) {
  std::size_t total = number_of(root / "proc/meminfo", "MemTotal:", 0) * 1024;
  for (ControlGroup const& group : control_groups("memory", root)) {
    total = std::min(total, limit_of(group));
  }
  return total;
}

std::size_t available_host_memory(fs::path const& root) {
  std::size_t left = number_of(root / "proc/meminfo", "MemAvailable:", 0) * 1024;
  for (ControlGroup const& group : control_groups("memory", root)) {
    std::size_t const limit = limit_of(group);
    left = std::min(left, limit - std::min(limit, held_by(group)));
  }
  return left;
}

std::size_t resident_host_memory() {
  std::ifstream in = open_system_file("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  in >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void trim_host_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace quadrille::device
