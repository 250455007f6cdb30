// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"

#include <vector>

namespace quadrille::workloads {

/// Pointers to the rows of an operation's table.
template <class Problem>
std::vector<kernels::VariantInfo const*> rows_of(std::span<kernels::Variant<Problem> const> table) {
  std::vector<kernels::VariantInfo const*> rows;
  for (kernels::Variant<Problem> const& row : table) rows.push_back(&row);
  return rows;
}

/// The launch function behind a row that came from rows_of() of the same operation.
template <class Problem>
void launch(kernels::VariantInfo const& row, Problem const& problem, device::StreamView stream) {
  static_cast<kernels::Variant<Problem> const&>(row).launch(problem, stream);
}

}  // namespace quadrille::workloads
