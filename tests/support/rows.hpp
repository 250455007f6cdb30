// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"
#include "support/kernel_test.hpp"

#include <string>
#include <string_view>
#include <tuple>
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

inline bool is_host_row(kernels::VariantInfo const& row) { return row.runs_on(device::Kind::host); }
/// Whether a row is one of CUDA kernels. The interpreter has no vendor's libraries.
inline bool is_cuda_row(kernels::VariantInfo const& row) {
  return row.where == kernels::Where::cuda &&
         (row.role != kernels::Role::vendor || kernel_mode() == KernelMode::gpu);
}

/// The rows of a table that a test takes.
template <class Problem, class Takes>
std::vector<kernels::Variant<Problem>> rows_of(kernels::Variants<Problem> table, Takes&& takes) {
  std::vector<kernels::Variant<Problem>> rows;
  for (kernels::Variant<Problem> const& row : table) {
    if (takes(row)) rows.push_back(row);
  }
  return rows;
}
/// Their names.
template <class Problem, class Takes>
std::vector<std::string_view> names_of(kernels::Variants<Problem> table, Takes&& takes) {
  std::vector<std::string_view> names;
  for (kernels::Variant<Problem> const& row : rows_of(table, takes)) names.push_back(row.name);
  return names;
}
/// Their names with each type that they take.
template <class Problem, class Takes>
std::vector<std::tuple<std::string_view, core::DataType>> names_with_types_of(
    kernels::Variants<Problem> table, Takes&& takes) {
  std::vector<std::tuple<std::string_view, core::DataType>> all;
  for (kernels::Variant<Problem> const& row : rows_of(table, takes)) {
    for (kernels::Types const& types : row.types) all.emplace_back(row.name, types.in);
  }
  return all;
}

/// Names tests after their row.
struct RowName {
  std::string operator()(testing::TestParamInfo<std::string_view> const& row) const {
    return std::string{row.param};
  }
  std::string operator()(
      testing::TestParamInfo<std::tuple<std::string_view, core::DataType>> const& row) const {
    auto const [name, type] = row.param;
    return std::string{name} + "_" + std::string{core::to_text(type)};
  }
};

/// Launches the row called `name` for the device of the stream.
template <class Problem>
void launch(kernels::Variants<Problem> table, std::string_view name,
            std::type_identity_t<Problem> const& problem, device::StreamView stream) {
  row(table, name, stream.device().kind()).launch(problem, stream);
}

}  // namespace quadrille::test
