// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/columns.hpp"
#include "report/compare.hpp"

#include <string_view>

namespace quadrille::report {

/// For `explain`.
std::string_view meaning_of(measure::Outcome outcome);
std::string_view meaning_of(Change change);
/// That of its metric, else what stands here; empty where neither says.
std::string_view meaning_of(Column const& column);

}  // namespace quadrille::report
