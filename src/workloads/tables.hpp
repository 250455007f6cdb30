// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"
#include "measure/workload.hpp"
#include "vendor/library.hpp"
#include "workloads/data.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <vector>

namespace quadrille::workloads {

// A workload's table has rows, or pointers to them, of a type of its own. The runner knows them as what
// all rows have, and hands that back.

template <class Row>
Row const* address_of(Row const& row) {
  return &row;
}
template <class Row>
Row const* address_of(Row const* const& row) {
  return row;
}

/// The rows of a table for the runner.
template <class Table>
measure::Selection rows_of(Table const& table) {
  measure::Selection rows;
  for (auto const& row : table) rows.push_back(address_of(row));
  return rows;
}

/// The whole of a row that the runner has; nullptr where it is none of this table.
template <class Table>
auto find_row(Table const& table, kernels::VariantInfo const& info) {
  for (auto const& row : table) {
    if (address_of(row) == &info) return address_of(row);
  }
  return decltype(address_of(*std::begin(table))){nullptr};
}

/// The same of one that must be of the table.
template <class Table>
auto const& row_of(Table const& table, kernels::VariantInfo const& info) {
  auto const* const found = find_row(table, info);
  QUAD_REQUIRE(found != nullptr, fmt::format("\"{}\" is no row of this table", info.name));
  return *found;
}

/// Whether a row runs on such a device and takes a problem.
template <class Problem>
bool takes(kernels::Variant<Problem> const& row, Problem const& problem, device::Kind kind,
           device::Facts const& facts) {
  return kernels::unsupported_reason(row, kind, facts).empty() &&
         row.unsupported_reason(problem).empty();
}

/// Rows that take a problem, the likeliest first.
template <class Problem>
using Candidates = std::vector<kernels::Variant<Problem> const*>;

/// Those of a role; `invariant`: with bits of a row of the result that do not depend on the others alone.
template <class Problem>
Candidates<Problem> rows_taking(kernels::Variants<Problem> const& table, Problem const& problem,
                                kernels::Role role, device::Kind kind, device::Facts const& facts,
                                bool invariant = false) {
  Candidates<Problem> found;
  for (kernels::Variant<Problem> const& row : table) {
    bool const is_candidate =
        row.role == role && row.preference >= 0 && (row.batch_invariant || !invariant);
    if (is_candidate && takes(row, problem, kind, facts)) found.push_back(&row);
  }
  std::ranges::stable_sort(found, std::greater{}, &kernels::VariantInfo::preference);
  return found;
}

/// Steps that a repetition may have. A host enqueues each, and looks at each before anything runs.
inline constexpr std::int64_t kMaxSteps = 1 << 16;
/// Why a pipeline does not move `extent` indices in steps of so many; empty where it does. `key` sets
/// their number.
inline std::string steps_problem(std::int64_t extent, std::int64_t width, std::string_view key) {
  if (extent / width <= kMaxSteps) return {};
  return fmt::format("has more than {} steps; take a {} of at least {}", kMaxSteps, key,
                     (extent - 1) / kMaxSteps + 1);
}

/// For Workload::run_plainly() of one that launches this problem.
template <class Problem>
bool run_plainly(measure::Workload& workload, comm::World& world,
                 kernels::VariantInfo const& variant, kernels::Library<Problem> const& library,
                 Problem const& problem) {
  if (library.plain == nullptr) return false;
  workload.reset(world, variant);
  library.plain(problem, world.stream());
  return true;
}

/// Scratch memory that any of these variants needs for a problem, in bytes; those that are no rows of the
/// table bring their own, or need none.
template <class Problem>
std::size_t max_scratch(kernels::Variants<Problem> const& table, Problem const& problem,
                        measure::Selection const& selected, device::Facts const& device) {
  std::size_t bytes = 0;
  for (kernels::VariantInfo const* variant : selected) {
    auto const* const row = find_row(table, *variant);
    if (row != nullptr) bytes = std::max(bytes, row->scratch_bytes(problem, device));
  }
  return bytes;
}

template <class Problem>
void give_scratch(Problem& problem, device::Buffer<std::byte> const& scratch) {
  problem.scratch = scratch.data();
  problem.scratch_bytes = scratch.bytes();
}

/// As much of it, which the problem gets.
template <class Problem>
device::Buffer<std::byte> allocate_scratch(kernels::Variants<Problem> const& table,
                                           Problem& problem, measure::Selection const& selected,
                                           comm::World const& world) {
  device::Buffer<std::byte> scratch =
      allocate_scratch(max_scratch(table, problem, selected, world.device().facts()), world);
  give_scratch(problem, scratch);
  return scratch;
}

}  // namespace quadrille::workloads
