// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/fault.hpp"
#include "measure/workload.hpp"

#include <functional>
#include <string>
#include <vector>

namespace quadrille::measure {

/// What the runner tells about its progress; called on rank 0 only.
struct Progress {
  std::string case_name;
  std::string step;     ///< "prepare", "check", "warm up", "time"
  double fraction = 0;  ///< of this case
};

struct RunnerOptions {
  Fault fault = Fault::none;
  std::function<void(Progress const&)> on_progress = [](Progress const&) {};
  /// Called once per case after the last repetition, collectively, with outputs in place.
  std::function<void(Workload&)> on_outputs = [](Workload&) {};
};

/// A variant of a case that shall run, or the reason why it cannot.
struct Selected {
  kernels::VariantInfo const* info = nullptr;
  std::string unsupported;  ///< empty: runs
};

/// Resolves "best", "all" and names, joins the vendor line, checks types and what the device has.
/// Enqueues nothing.
std::vector<Selected> select_variants(Workload const& workload, core::Case const& one,
                                      device::Device const& device);

/// Device memory that each rank may use: the smallest free memory over ranks, shared where ranks
/// share a node's memory or a GPU. Collective.
double memory_per_rank(comm::World const& world);

/// Replaces "auto:70%" by the largest size that fits into that share of `memory_per_rank`.
void resolve_auto_size(core::Case& one, WorkloadEntry const& entry, int ranks, double memory);

/// The largest size (first extent, others in proportion) whose memory fits.
core::Extents largest_fitting(core::Case one, WorkloadEntry const& entry, int ranks, double memory);

/// Validates, warms up, times, validates again; one record per variant, the same on every rank but
/// for samples, which rank 0 has in full. Collective.
std::vector<Record> measure_case(comm::World& world, core::Case const& one,
                                 WorkloadEntry const& entry, RunnerOptions const& options);

}  // namespace quadrille::measure
