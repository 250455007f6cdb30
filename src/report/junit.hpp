// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/record.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quadrille::report {

/// What a file of JUnit's XML begins with.
inline constexpr std::string_view kJunitBegin = "<?xml";

/// A test case of JUnit's: one measurement.
struct JunitCase {
  enum class Ending { passed, failure, error, skipped };
  std::string workload, name;
  std::optional<double> seconds{};  ///< of a repetition, where it is known
  Ending ending = Ending::passed;
  std::string_view type{};  ///< of a failure or an error, in a word
  std::string message{};
};

/// One suite as XML, without what XML or a terminal would obey in a text.
std::string write_junit(std::string_view suite,
                        std::vector<std::pair<std::string, std::string>> const& properties,
                        std::vector<JunitCase> const& cases);

/// A run: FAIL is a failure; ERROR, TIMEOUT and INTERRUPTED are errors, and so is a run that has not
/// passed for none of these; SKIP and UNSUPPORTED are skipped.
std::string render_junit(measure::RunResult const& result);

}  // namespace quadrille::report
