// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/whole_file.hpp"

#include "core/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace quadrille::io {

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t const written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

namespace {

/// The name of a file beside `path` with these bytes, in the storage.
std::string write_beside(std::string const& path, std::string_view bytes) {
  std::string temporary = fmt::format("{}.tmp.{}", path, getpid());
  int const file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) {
    bool const is_too_many = errno == EMFILE || errno == ENFILE;
    core::fail(fmt::format("{}: cannot create: {}; {}", path, std::strerror(errno),
                           is_too_many ? "raise their limit (ulimit -n)"
                                       : "choose an output directory that can be written"),
               core::Exit::environment);
  }
  bool const written = write_all(file, bytes) && fsync(file) == 0;
  int const error = errno;
  bool const closed = close(file) == 0;
  if (!written || !closed) {
    std::string const why = std::strerror(written ? errno : error);
    std::remove(temporary.c_str());
    core::fail(fmt::format("{}: cannot be written: {}", path, why));
  }
  return temporary;
}

std::string cannot_be_named(std::string const& temporary, std::string const& path) {
  return fmt::format("{}: cannot be given its name: {}; the data are in {}", path,
                     std::strerror(errno), temporary);
}

}  // namespace

std::string unwritable_reason(std::string const& path, std::optional<std::string_view> begin) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return fmt::format("'{}' is a directory; name a file", path);
  }
  if (fs::exists(path, error)) {
    std::string found(begin.value_or("").size(), '\0');
    std::ifstream file{path, std::ios::binary};
    bool const is_alike = begin &&
                          file.read(found.data(), static_cast<std::streamsize>(found.size())) &&
                          found == *begin;
    if (!is_alike)
      return fmt::format("'{}' exists already{}; name another file", path,
                         begin ? " and is something else" : "");
  }
  fs::path const folder = fs::absolute(path, error).parent_path();
  if (!fs::is_directory(folder, error) || access(folder.c_str(), W_OK) != 0) {
    return fmt::format(
        "no file can be written to '{}'; name one in a directory that you can write to",
        folder.string());
  }
  return {};
}

void write_whole_file(std::string const& path, std::string_view bytes) {
  std::string const status = publish(write_beside(path, bytes), path);
  if (!status.empty()) core::fail(status, core::Exit::environment);
}

void replace_whole_file(std::string const& path, std::string_view bytes) {
  std::string const temporary = write_beside(path, bytes);
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    core::fail(cannot_be_named(temporary, path), core::Exit::environment);
  }
}

std::string publish(std::string const& temporary, std::string const& path) {
  // Some file systems (NFS) cannot refuse to replace; there, look first.
  bool done = renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0;
  if (!done && errno == EINVAL) {
    done = access(path.c_str(), F_OK) != 0 && std::rename(temporary.c_str(), path.c_str()) == 0;
    if (!done && access(path.c_str(), F_OK) == 0) errno = EEXIST;
  }
  return done ? std::string{} : cannot_be_named(temporary, path);
}

}  // namespace quadrille::io
