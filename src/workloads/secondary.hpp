// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/asked_bytes.hpp"
#include "common/requests.hpp"
#include "measure/record.hpp"

#include <vector>

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

inline constexpr measure::Metric kGlobalMemory{
    "global memory", "B, requests and sectors",
    "asked: bytes that all threads load and store, as if nothing were cached; compulsory: those\n"
    "of each input read once and the result written once; requests of warps, and the sectors of\n"
    "32 bytes that these touch. Of one rank, by the same counts."};
inline constexpr measure::Metric kSectorsPerRequest{
    "sectors per request", "sectors",
    "of 32 bytes, that a request of a warp touches, by the same counts; 4 are the least for\n"
    "words of 4 bytes, 16 for vectors of 16."};

/// kGlobalMemory, as details.
std::vector<measure::SecondaryMetric> global_metrics(kernels::Accesses const& accesses,
                                                     kernels::AskedBytes const& bytes);
/// kSectorsPerRequest.
std::vector<measure::SecondaryMetric> sector_metrics(kernels::Accesses const& accesses);

}  // namespace quadrille::workloads
