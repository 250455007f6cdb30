// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"
#include "report/assessment.hpp"
#include "report/columns.hpp"
#include "report/compare.hpp"

#include <span>
#include <string_view>

namespace quadrille::report {

/// For `explain`.
std::string_view meaning_of(measure::Outcome outcome);
std::string_view meaning_of(Change change);
std::string_view meaning_of(Answer answer);
std::string_view meaning_of(Limit limit);
std::string_view meaning_of(kernels::Role role);

/// A word of a report, or of its page, that is neither a metric nor a column of every result.
struct Word {
  std::string_view name;
  std::string_view meaning;
};
std::span<Word const> words();

/// That of its metric, else what stands here; empty where neither says.
std::string_view meaning_of(Column const& column);

}  // namespace quadrille::report
