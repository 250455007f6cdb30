// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/workload.hpp"

#include <string_view>

namespace quadrille::workloads::serving {

/// Of servers: of one on each rank, or of one whose model all ranks share.
measure::WorkloadEntry entry_of(std::string_view name, std::string_view summary, bool is_shared);

}  // namespace quadrille::workloads::serving
