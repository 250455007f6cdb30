// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"
#include "core/options.hpp"
#include "measure/record.hpp"

#include <string>
#include <utility>
#include <vector>

namespace quadrille::report {

/// The case with its members' defaults in place of these.
template <auto... kMembers>
core::Case without(core::Case spec) {
  core::Case const preset;
  ((spec.*kMembers = preset.*kMembers), ...);
  return spec;
}

/// The value of a key of a case as people write it; empty where it has none.
std::string value_of(core::Option const& option, core::Case const& spec);

/// The keys of a record's case that select what is computed and how it is timed, beside those that
/// have columns of their own, where they differ from their defaults: {"beta", "2"}. Only its name
/// where this program cannot read the configuration.
std::vector<std::pair<std::string, std::string>> settings_of(measure::Record const& record);

/// The row of its operation's table that a record is of; nullptr where this program has none such.
kernels::VariantInfo const* row_of(measure::Record const& record);

}  // namespace quadrille::report
