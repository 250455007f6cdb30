// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/journal.hpp"

#include "core/error.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace quadrille::io {

Journal::Journal(std::string const& path) : file_{std::fopen(path.c_str(), "wx")}, path_{path} {
  if (file_ != nullptr) return;
  char const* const remedy = errno == EEXIST ? "remove it or choose another output directory"
                                             : "choose an output directory that can be written";
  core::fail(
      fmt::format("{}: cannot create the journal: {}; {}", path, std::strerror(errno), remedy),
      core::Exit::environment);
}

void Journal::append(std::string const& json_line) {
  std::string const line = json_line + '\n';
  bool const kept = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() &&
                    std::fflush(file_.get()) == 0 && fsync(fileno(file_.get())) == 0;
  if (!kept) {
    core::fail(fmt::format("{}: cannot append to the journal: {}; earlier lines are kept", path_,
                           std::strerror(errno)),
               core::Exit::environment);
  }
}

}  // namespace quadrille::io
