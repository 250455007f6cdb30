// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/columns.hpp"

#include <string>
#include <vector>

namespace quadrille::report {

/// Cells under headings, a text each.
struct Table {
  std::string title;
  std::vector<Heading> headings;
  std::vector<std::vector<std::string>> rows;
};

/// What the workload `pairs` measured: its links, and matrices of latencies, rates and links, of few
/// ranks. Those without rows are left out. The first four columns say which measurement it is.
std::vector<Table> tables_of_pairs(measure::RunResult const& result);
inline constexpr std::size_t kIdentityColumns = 4;

/// "2 ranks", "1 rank".
std::string counted(std::size_t n, std::string_view what);

/// "3 ranks, 2 nodes, 2 devices: 2 x host, H200".
std::string placement_line(measure::RunInfo const& info);

}  // namespace quadrille::report
