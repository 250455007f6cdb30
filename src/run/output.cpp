// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "run/output.hpp"

#include "core/process.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace quadrille::run {

core::Exit refuse(std::string_view why, core::Exit code) {
  core::print_error("quadrille: {}\n", core::one_line(why));
  return code;
}

core::Exit refuse(comm::Machine const& machine, std::string const& why, core::Exit code) {
  return machine.rank() == 0 ? refuse(why, code) : code;
}

core::Exit refuse_interrupted(comm::Machine const& machine) {
  return refuse(machine, "interrupted by a signal before anything was measured",
                core::Exit::interrupted);
}

Output::Output(bool speaks, std::filesystem::path const& log, bool is_quiet)
    : path_{log}, shows_{speaks}, logs_{speaks}, is_quiet_{is_quiet} {
  if (!speaks) return;
  std::signal(SIGPIPE, SIG_IGN);  // a reader that leaves is an error of write()
  log_.open(log, std::ios::app);
  if (!log_) report(fmt::format("{}: cannot be opened: {}", log.string(), std::strerror(errno)));
}

void Output::show(std::string_view text) {
  if (!is_quiet_) tell(text);
}

void Output::tell(std::string_view text) {
  if (!shows_) return;
  shows_ = core::show_output(text);
  if (shows_) return;
  report(fmt::format("standard output: {}", std::strerror(errno)));
  std::clearerr(stdout);  // it is told
}

void Output::log(std::string_view text) {
  if (!logs_) return;
  std::error_code none;
  std::uintmax_t const before = std::filesystem::file_size(path_, none);
  logs_ = static_cast<bool>(log_ << text << std::flush);
  if (logs_) return;
  int const error = errno;
  std::filesystem::resize_file(path_, before, none);
  report(fmt::format("{}: cannot be written: {}", path_.string(), std::strerror(error)));
}

void Output::report(std::string const& problem) {
  if (problem.empty()) return;
  if (problem_.empty()) problem_ = problem;
  core::print_error("quadrille: {}\n", core::one_line(problem));
}

}  // namespace quadrille::run
