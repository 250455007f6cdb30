// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/record.hpp"
#include "measure/sampler.hpp"
#include "measure/selection.hpp"

#include <string_view>

namespace quadrille::measure {

/// What is known of a measurement before anything of the workload is.
Record record_of_case(comm::World const& world, core::Case const& spec, std::string_view variant);

/// What a case's records have in common.
struct CaseFacts {
  comm::World const& world;
  core::Case const& spec;
  WorkloadEntry const& entry;
  Description const& description;
  core::Timing timing;  ///< resolved
};
/// What is known of a measurement before it runs: where it cannot, with outcome and reason.
Record record_of_variant(CaseFacts const& facts, Selected const& choice);

/// Puts a published figure behind each secondary metric that has one: "VARIANT METRIC: FIGURE".
void add_published_metrics(core::Case const& spec, Record& record);

/// Names the kernels of one execution, a vendor's too; nothing runs.
void record_kernels(comm::World& world, Workload& workload, Traits const& traits,
                    kernels::VariantInfo const& variant, Record& record);

/// What was sampled so far of all ranks, on rank 0. `links` are those between all ranks, where there is a
/// schedule of pairs. Collective.
void record_samples(comm::World& world, Description const& description,
                    std::vector<device::Link> const& links, VariantRun const& run, Record& record);

}  // namespace quadrille::measure
