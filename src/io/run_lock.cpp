// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/run_lock.hpp"

#include "io/whole_file.hpp"

#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace quadrille::io {
namespace {

std::filesystem::path path_in(std::filesystem::path const& directory) {
  return directory / ".lock";
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

std::string RunLock::take(std::filesystem::path const& directory, std::string const& now) {
  std::string const path = path_in(directory).string();
  file_.reset(std::fopen(path.c_str(), "a+e"));
  if (file_ == nullptr) return fmt::format("{}: cannot be written: {}", path, std::strerror(errno));
  int const file = fileno(file_.get());
  bool const is_locked = flock(file, LOCK_EX | LOCK_NB) == 0;
  if (!is_locked && errno == EWOULDBLOCK) {
    return fmt::format(
        "another run writes to '{}' ({}); wait until it has ended, or choose another --run-id",
        directory.string(), read_owner(directory));
  }
  if (!is_locked) {
    warning_ =
        fmt::format("'{}' cannot be locked ({}): another run of this --run-id would not be refused",
                    directory.string(), std::strerror(errno));
  }
  // In the storage, where other nodes look for it.
  std::string const owner = fmt::format("process {} on {}, since {}\n", getpid(), host_name(), now);
  bool const is_written = ftruncate(file, 0) == 0 && write_all(file, owner) && fsync(file) == 0;
  return is_written ? "" : fmt::format("{}: cannot be written: {}", path, std::strerror(errno));
}

std::string RunLock::read_owner(std::filesystem::path const& directory) {
  std::ifstream file{path_in(directory)};
  std::string owner;
  std::getline(file, owner);
  return owner;
}

}  // namespace quadrille::io
