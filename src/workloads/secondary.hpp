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
inline constexpr measure::Metric kSecondLevelCache{
    "second-level cache", "B/s",
    "what the second-level cache of each GPU serves: of a product the tiles that blocks read and\n"
    "the C that they write, by the counts of bank conflicts; of a window that it holds, and that\n"
    "first-level caches do not, all that is read."};

}  // namespace quadrille::workloads
