// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config.hpp"
#include "measure/workload.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace quadrille::workloads {

/// Every workload, in the order of tables and lists.
std::span<measure::WorkloadEntry const> workloads();
measure::WorkloadEntry const* find(std::string_view name);
/// Names of workloads and their variants, for the configuration's checks.
std::vector<core::Known> known_names();

}  // namespace quadrille::workloads
