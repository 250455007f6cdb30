// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/host/memory.hpp"

#include "device/host/cgroup.hpp"

#include <sys/resource.h>
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

struct Pages {
  std::size_t mapped = 0, resident = 0;  ///< bytes
};
Pages own_pages() {
  std::ifstream in = open_system_file("/proc/self/statm");
  Pages pages;
  in >> pages.mapped >> pages.resident;
  auto const bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return {pages.mapped * bytes, pages.resident * bytes};
}

// What a shell's `ulimit -v`, or a batch system, lets this process map.
std::size_t limit_of_process() {
  rlimit limit{};
  bool const is_known = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_known ? static_cast<std::size_t>(limit.rlim_cur) : kUnlimited;
}

}  // namespace

std::size_t total_host_memory(fs::path const& root) {
  std::size_t total =
      std::min(number_of(root / "proc/meminfo", "MemTotal:", 0) * 1024, limit_of_process());
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
  std::size_t const limit = limit_of_process();
  if (limit == kUnlimited) return left;
  return std::min(left, limit - std::min(limit, own_pages().mapped));
}

std::size_t resident_host_memory() { return own_pages().resident; }

void trim_host_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace quadrille::device
