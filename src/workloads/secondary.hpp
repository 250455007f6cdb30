// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/record.hpp"

namespace quadrille::workloads {

// Secondary metrics of several workloads.
inline constexpr measure::Metric kReceived{
    "received", "B/s", "bytes that ranks get from others, over the time of a repetition."};
inline constexpr measure::Metric kBankConflicts{
    "bank conflicts", "wavefronts",
    "passes of shared memory beyond those that requests of warps need without\n"
    "conflicts, of one rank, as an interpreter of the kernel counted them."};

}  // namespace quadrille::workloads
