// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/host/memory.hpp"

#include "core/error.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <malloc.h>
#include <string>
#include <vector>

namespace quadrille::device {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

// A file of the system, or one that is absent. A process that may open no more of them would take
// what it cannot read for no memory at all.
std::ifstream opened(fs::path const& file) {
  errno = 0;
  std::ifstream in{file};
  if (!in && (errno == EMFILE || errno == ENFILE)) {
    core::fail(
        fmt::format("{}: {}; raise their limit (ulimit -n)", file.string(), std::strerror(errno)),
        core::Exit::environment);
  }
  return in;
}

// The number behind `key` in a file of "key number" lines, or `otherwise`.
std::size_t number_of(fs::path const& file, std::string const& key, std::size_t otherwise) {
  std::ifstream in = opened(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) return std::stoull(line.substr(key.size()));
  }
  return otherwise;
}

// The number a file consists of, or `otherwise` where it is absent or says "max".
std::size_t number_in(fs::path const& file, std::size_t otherwise) {
  std::ifstream in = opened(file);
  std::size_t number = 0;
  return in >> number ? number : otherwise;
}

// A control group and what its files are called.
struct Group {
  fs::path folder;
  char const* limit;
  char const* usage;
  char const* cache;  // pages of files that are given back on demand

  std::size_t most() const { return number_in(folder / limit, kUnlimited); }
  std::size_t held() const {
    std::size_t const reclaimable = number_of(folder / "memory.stat", cache, 0);
    std::size_t const used = number_in(folder / usage, 0);
    return used - std::min(used, reclaimable);
  }
};

// Those around this process that limit memory, up to the outermost. The path a container shows may
// not exist inside it; then only the groups that do exist count.
std::vector<Group> groups_of(fs::path const& root) {
  std::vector<Group> found;
  std::ifstream groups = opened(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "id:controllers:path"
    auto const first = line.find(':');
    auto const second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string const controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    bool const is_second_version = controllers == ",,";
    if (!is_second_version && controllers.find(",memory,") == std::string::npos) continue;
    for (fs::path path = fs::path{line.substr(second + 1)}.relative_path();;
         path = path.parent_path()) {
      if (is_second_version) {
        found.push_back(
            {root / "sys/fs/cgroup" / path, "memory.max", "memory.current", "inactive_file "});
      } else {
        found.push_back({root / "sys/fs/cgroup/memory" / path, "memory.limit_in_bytes",
                         "memory.usage_in_bytes", "total_inactive_file "});
      }
      if (path.empty()) break;
    }
  }
  return found;
}

}  // namespace

std::size_t total_host_memory(fs::path const& root) {
  std::size_t total = number_of(root / "proc/meminfo", "MemTotal:", 0) * 1024;
  for (Group const& group : groups_of(root)) total = std::min(total, group.most());
  return total;
}

std::size_t available_host_memory(fs::path const& root) {
  std::size_t left = number_of(root / "proc/meminfo", "MemAvailable:", 0) * 1024;
  for (Group const& group : groups_of(root)) {
    std::size_t const most = group.most();
    left = std::min(left, most - std::min(most, group.held()));
  }
  return left;
}

std::size_t resident_host_memory() {
  std::ifstream in = opened("/proc/self/statm");
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
