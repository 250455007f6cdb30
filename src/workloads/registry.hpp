// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/workload.hpp"

#include <span>
#include <string_view>

namespace quadrille::workloads {

/// Every workload, in the order of tables and lists.
std::span<measure::WorkloadEntry const* const> workloads();
/// The entry of a schema that resolve() found in name_table().
measure::WorkloadEntry const& entry_of(core::WorkloadSchema const& schema);
/// What the configuration may name.
core::NameTable const& name_table();

}  // namespace quadrille::workloads
