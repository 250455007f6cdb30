// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#define TOML_EXCEPTIONS 0
// toml++ 3.3 asserts (with NDEBUG: assumes) what it then checks and reports, as for "[=x]". Without
// both, malformed text always ends in the report.
#undef NDEBUG
#define TOML_ASSERT(expr) static_assert(true)
#include <toml++/toml.h>

namespace quadrille::core {

struct SyntaxError {
  std::int64_t line = 0;  ///< 0: there is none
  std::string_view why = {};
};

/// What toml++ 3.3 must not see: a byte beyond ASCII outside strings and comments, on some of which it
/// runs into undefined behaviour before it says that TOML allows none, and keys of so many parts that
/// its recursion, or that over its tables, overruns the stack.
SyntaxError find_syntax_error(std::string_view text);

}  // namespace quadrille::core
