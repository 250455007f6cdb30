// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/library.hpp"
#include "common/variant.hpp"
#include "measure/workload.hpp"
#include "workloads/data.hpp"

#include <algorithm>

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

/// Scratch memory that any of these rows of the operation's table needs for a problem, in bytes.
template <class Problem>
std::size_t max_scratch(Problem const& problem, measure::Selection const& selected,
                        device::Facts const& device) {
  std::size_t bytes = 0;
  for (kernels::VariantInfo const* row : selected) {
    bytes = std::max(bytes, row_of<Problem>(*row).scratch_bytes(problem, device));
  }
  return bytes;
}

/// As much of it, which the problem gets.
template <class Problem>
device::Buffer<std::byte> allocate_scratch(Problem& problem, measure::Selection const& selected,
                                           comm::World const& world) {
  device::Buffer<std::byte> scratch =
      allocate_scratch(max_scratch(problem, selected, world.device().facts()), world);
  problem.scratch = scratch.data();
  problem.scratch_bytes = scratch.bytes();
  return scratch;
}

}  // namespace quadrille::workloads
