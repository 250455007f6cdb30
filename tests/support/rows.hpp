// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace quadrille::test {

/// The row of a table called `name` for this kind of device. The test's program ends without it.
template <class Problem>
kernels::Variant<Problem> const& row(kernels::Variants<Problem> table, std::string_view name,
                                     device::Kind kind = device::Kind::host) {
  kernels::Variant<Problem> const* const found = kernels::find(table, name, kind);
  QUAD_REQUIRE(found != nullptr, "no row " + std::string{name} + " in this table");
  return *found;
}

/// Names of the rows of a table that run on the host.
template <class Problem>
std::vector<std::string_view> host_rows(kernels::Variants<Problem> table) {
  std::vector<std::string_view> names;
  for (kernels::Variant<Problem> const& row : table) {
    if (row.runs_on(device::Kind::host)) names.push_back(row.name);
  }
  return names;
}

/// Launches the row called `name` for the device of the stream.
template <class Problem>
void launch(kernels::Variants<Problem> table, std::string_view name,
            std::type_identity_t<Problem> const& problem, device::StreamView stream) {
  row(table, name, stream.device().kind()).launch(problem, stream);
}

}  // namespace quadrille::test
