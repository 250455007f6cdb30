// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"
#include "measure/workload.hpp"

#include <initializer_list>
#include <string_view>
#include <vector>

namespace quadrille::workloads {

/// Pointers to the rows of an operation's table.
template <class Problem>
std::vector<kernels::VariantInfo const*> rows_of(std::span<kernels::Variant<Problem> const> table) {
  std::vector<kernels::VariantInfo const*> rows;
  for (kernels::Variant<Problem> const& row : table) rows.push_back(&row);
  return rows;
}

/// The first of `names` that a device of this kind runs with this type; else the first of our own
/// techniques that it does; else one that refuses the case, so that the reason is told; "" if there
/// is none.
inline std::string_view best_of(measure::Workload const& workload, core::DataType type,
                                device::Kind kind, std::initializer_list<std::string_view> names) {
  std::vector<kernels::VariantInfo const*> const rows = workload.variants();
  auto const runs = [&](kernels::VariantInfo const& row) {
    return workload.runs_on(row, kind) && row.is_built() && row.supports(type) &&
           !row.demonstration;
  };
  auto const takes = [&](kernels::VariantInfo const& row) {
    return runs(row) && workload.refusal(row).empty();
  };
  for (std::string_view const name : names) {
    for (kernels::VariantInfo const* row : rows) {
      if (row->name == name && takes(*row)) return name;
    }
  }
  auto const is_own = [](kernels::VariantInfo const& row) {
    return row.backend == kernels::Backend::kokkos || row.backend == kernels::Backend::cuda;
  };
  for (kernels::VariantInfo const* row : rows) {
    if (is_own(*row) && takes(*row)) return row->name;
  }
  for (kernels::VariantInfo const* row : rows) {
    if (is_own(*row) && runs(*row)) return row->name;
  }
  return {};
}

/// The launch function behind a row that came from rows_of() of the same operation.
template <class Problem>
void launch(kernels::VariantInfo const& row, Problem const& problem, device::StreamView stream) {
  static_cast<kernels::Variant<Problem> const&>(row).launch(problem, stream);
}

}  // namespace quadrille::workloads
