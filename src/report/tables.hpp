// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/document.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::report {

/// What the workload `pairs` measured: its links, and matrices of latencies, rates and links, of few
/// ranks. Those without rows are left out. The first four columns say which measurement it is.
std::vector<Table> tables_of_pairs(measure::RunResult const& result);
inline constexpr std::array<std::string_view, 4> kIdentity{"case", "size", "type", "variant"};
/// Kernels of each measurement, and by which times transport = "auto" chose. On no screen.
std::vector<Table> tables_of_details(measure::RunResult const& result);

/// Of a result that says that its run is going on.
inline constexpr std::string_view kNotEnded =
    "this run has not ended, or was killed: what it had finished is shown";

/// "2 ranks", "1 rank".
std::string counted(std::size_t n, std::string_view what);

/// Of its build; "unknown" where nothing is.
std::string build_fact(measure::RunInfo const& info, std::string_view name);
/// "Quadrille 0.1.0, commit 1a72114".
std::string version_line(measure::RunInfo const& info);
/// "3 ranks, 2 nodes, 2 devices: 2 x host, H200".
std::string placement_line(measure::RunInfo const& info);

}  // namespace quadrille::report
