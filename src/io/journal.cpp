// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/journal.hpp"

#include "core/error.hpp"
#include "io/whole_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <tuple>

namespace quadrille::io {

Journal::Journal(std::string const& path) : file_{std::fopen(path.c_str(), "wxe")}, path_{path} {
  if (file_ != nullptr) return;
  char const* const remedy = errno == EEXIST ? "remove it or choose another output directory"
                                             : "choose an output directory that can be written";
  core::fail(
      fmt::format("{}: cannot create the journal: {}; {}", path, std::strerror(errno), remedy),
      core::Exit::environment);
}

std::string Journal::reopen(std::string const& path) {
  path_ = path;
  file_.reset(std::fopen(path.c_str(), "r+e"));
  if (file_ != nullptr) return {};
  return fmt::format("{}: cannot be opened: {}", path, std::strerror(errno));
}

void Journal::truncate(std::int64_t bytes) {
  require(ftruncate(fileno(file_.get()), bytes) == 0 && std::fseek(file_.get(), 0, SEEK_END) == 0 &&
              fsync(fileno(file_.get())) == 0,
          "cannot go on with");
}

void Journal::append(std::string const& json_line) {
  std::string const line = json_line + '\n';
  int const file = fileno(file_.get());
  off_t const end = lseek(file, 0, SEEK_END);
  bool const kept = write_all(file, line) && fsync(file) == 0;
  int const error = errno;
  // Half a line would be nobody's.
  if (!kept) std::ignore = ftruncate(file, end);
  errno = error;
  require(kept, "cannot append to");
}

void Journal::require(bool kept, char const* what) const {
  if (kept) return;
  core::fail(fmt::format("{}: {} the journal: {}; earlier lines are kept", path_, what,
                         std::strerror(errno)));
}

}  // namespace quadrille::io
