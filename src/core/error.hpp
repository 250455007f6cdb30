// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>
#include <string>

namespace quadrille::core {

/// What the process returns to its launcher; the same on every rank.
enum class Exit : int {
  pass = 0,
  wrong_result = 1,
  bad_config = 2,
  environment = 3,
  runtime = 4,
  timeout = 5,
  regression = 6,
  interrupted = 7,
  nothing_executed = 8,
  undecided = 9,  ///< measured, but too little is known to say anything
  skipped = 77,
};

/// The more serious of two outcomes, in the order 2, 5, 4, 3, 1, 6, 9, 7, 8, 0.
Exit worse(Exit a, Exit b);

/// One failure, as it reaches the handler.
struct Failure {
  std::string what;
  Exit code = Exit::runtime;
  std::source_location where;
};

/// Called by fail(). If it returns, the process still ends. Tests install one that throws.
using FailHandler = void (*)(Failure const&);

/// Installs a handler and returns the one before. nullptr restores the default: print, then _exit.
FailHandler set_fail_handler(FailHandler handler) noexcept;

/// Reports one failure and ends the job. Never returns; unwinds only under a test's handler.
/// Message grammar: the problem, why, what to change.
[[noreturn]] void fail(std::string const& what, Exit code = Exit::runtime,
                       std::source_location where = std::source_location::current());

}  // namespace quadrille::core

/// Ends the job with `message` unless `condition` holds. Always on.
#define QUAD_REQUIRE(condition, message) \
  do {                                   \
    if (!(condition)) {                  \
      ::quadrille::core::fail(message);  \
    }                                    \
  } while (false)
