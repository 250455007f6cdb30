// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/record.hpp"

#include <string>
#include <string_view>

namespace quadrille::io {

inline constexpr std::string_view kResultSchema = "quadrille-result";
inline constexpr int kResultSchemaVersion = 1;

/// One line of a journal, without its end. A journal is one run line, then for each case a line per
/// record and one that says that these are all. A later run line replaces the first, a later record
/// of the same id the earlier one. Doubles keep
/// every bit: null is NaN (or a missing number), "inf" and "-inf" are what they say.
std::string to_json_line(measure::RunInfo const& info);
std::string to_json_line(measure::Record const& record);
std::string finished_case_line(std::string const& name);

/// Whether the sample vectors of a record hold a value for each of its ranks.
bool has_whole_repetitions(measure::Record const& record);

/// Adds the line to `result`. Empty when it was understood, else the reason.
std::string add_json_line(std::string_view line, measure::RunResult& result);

}  // namespace quadrille::io
