// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/machine.hpp"
#include "core/error.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace quadrille::run {

/// Says why nothing is done, and returns this code.
core::Exit refuse(std::string_view why, core::Exit code = core::Exit::bad_config);
/// ... once for all ranks.
core::Exit refuse(comm::Machine const& machine, std::string const& why, core::Exit code);
/// ... where a signal came before anything was measured.
core::Exit refuse_interrupted(comm::Machine const& machine);

/// Standard output and log.txt of rank 0. Where one takes no more, it is left out from then on, which is
/// reported once: the run goes on, and its results lie in other files.
class Output {
 public:
  /// Where it is quiet, standard output has what is told alone.
  Output(bool speaks, std::filesystem::path const& log, bool is_quiet);
  bool is_quiet() const { return is_quiet_; }
  void show(std::string_view text);
  void tell(std::string_view text);
  void log(std::string_view text);
  /// Reports what could not be written, if anything.
  void report(std::string const& problem);
  /// The first that was reported.
  std::string const& problem() const { return problem_; }

 private:
  std::filesystem::path path_;
  std::ofstream log_;
  bool shows_ = false, logs_ = false, is_quiet_ = false;
  std::string problem_;
};

}  // namespace quadrille::run
