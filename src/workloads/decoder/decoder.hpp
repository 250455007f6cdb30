// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/workload.hpp"

#include <memory>
#include <string_view>
#include <vector>

/// What the entries of decoders are made of, which differ in whether ranks share a model.
namespace quadrille::workloads::decoder {

std::unique_ptr<measure::Workload> make(core::Case const& spec, int ranks, int rank,
                                        bool is_shared);
measure::Selection selection();
core::WorkloadSchema schema_of(std::string_view name, bool is_shared);
std::vector<measure::Metric> metrics();
inline constexpr std::string_view kWork =
    "new tokens; products, attention, norms and the cache of all layers";

}  // namespace quadrille::workloads::decoder
