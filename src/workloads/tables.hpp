// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"
#include "measure/workload.hpp"

namespace quadrille::workloads {

/// Pointers to the rows of an operation's table.
template <class Problem>
measure::Selection rows_of(kernels::Variants<Problem> const& table) {
  measure::Selection rows;
  for (kernels::Variant<Problem> const& row : table) rows.push_back(&row);
  return rows;
}

/// The whole of a row that came from rows_of() of this operation.
template <class Problem>
kernels::Variant<Problem> const& row_of(kernels::VariantInfo const& row) {
  return static_cast<kernels::Variant<Problem> const&>(row);
}

}  // namespace quadrille::workloads
