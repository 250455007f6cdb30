// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/record.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::report {

/// The keys of a record's case that select what is computed and how it is timed, beside those that
/// have columns of their own, where they differ from their defaults: {"beta", "2"}; those of
/// `always` also where they do not. Only its name where this program cannot read the configuration.
std::vector<std::pair<std::string, std::string>> settings_of(
    measure::Record const& record, std::span<std::string const> always = {});

}  // namespace quadrille::report
