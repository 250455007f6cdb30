// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/workload.hpp"

#include <memory>
#include <string>
#include <vector>

namespace quadrille::measure {

/// A variant that a case asks for, or that joins it.
struct Selected {
  kernels::VariantInfo const* info = nullptr;
  std::string unsupported;   ///< why it does not run; empty: it runs
  bool is_left_out = false;  ///< it could, but "all" spares everybody the time
  bool is_best = false;      ///< the case asks for "best", which it is
};

/// Why each row of the workload's table does not run this case, in its order: what the device lacks,
/// the type, what the workload says. Empty where it runs. This rank's view; enqueues nothing.
std::vector<std::string> unsupported_reasons(Workload const& workload, WorkloadEntry const& entry,
                                             core::Case const& spec, device::Device const& device);

/// Collective. Makes of all ranks' reasons one list: what any rank cannot run is run by none, with
/// the reason of the lowest such rank.
void agree(comm::Machine const& machine, std::vector<std::string>& reasons);

/// Resolves "best", "all" and names, and joins the bar and a local ceiling where the case wants the
/// vendor's line. Rows that cannot run are left out unless the case names them; of the textbook's, which
/// have one thread, "all" tells why it leaves them out where they would take seconds.
/// `best`: what has been found to be it; else it is the preferred row.
std::vector<Selected> select_variants(WorkloadEntry const& entry, core::Case const& spec,
                                      device::Device const& device, Description const& description,
                                      int ranks, std::vector<std::string> const& reasons,
                                      kernels::VariantInfo const* best = nullptr);
/// The reasons of all ranks, those of Workload::unavailable_reason() among them: collective. `parts` are
/// the case's workload on each of Machine::planned_ranks().
std::vector<std::string> agreed_reasons(comm::Machine const& machine,
                                        std::span<std::unique_ptr<Workload> const> parts,
                                        WorkloadEntry const& entry, core::Case const& spec);

/// A case's workload with what runs of it, on which all ranks agree.
struct SelectedCase {
  std::unique_ptr<Workload> workload;  ///< not prepared; nothing once it is measured
  std::vector<std::string> reasons;    ///< why each row of the table does not run
  std::vector<Selected> variants;      ///< that the case asks for, with the preferred row as "best"
};
/// Where this process is one rank. Collective.
SelectedCase select_case(comm::Machine const& machine, core::Case const& spec,
                         WorkloadEntry const& entry);

/// Those that run.
Selection running(std::vector<Selected> const& selected);

/// Bytes of one rank. That of a host device is memory of the host.
struct Memory {
  double device = 0;
  double host = 0;

  bool fits(Memory const& there) const { return device <= there.device && host <= there.host; }
  Memory operator+(Memory const& other) const { return {device + other.device, host + other.host}; }
  Memory operator*(double share) const { return {device * share, host * share}; }
};

/// Memory that each rank may use: the smallest free memory over ranks, shared where ranks share a
/// node's memory or a GPU. Collective.
Memory memory_per_rank(comm::Machine const& machine);

/// What every case takes beside the memory of its workload: staging of messages, tiles and sums of
/// checks, samples, saving, libraries.
Memory overhead_of(core::Case const& spec, WorkloadEntry const& entry,
                   comm::Machine const& machine);

/// What the rank of this workload needs for a case with these variants, overhead included.
Memory memory_of(Workload const& workload, Selection const& selected, core::Case const& spec,
                 WorkloadEntry const& entry, comm::Machine const& machine);

/// Replaces "auto:70%" by the largest size that fits into that share of `memory`.
void resolve_auto_size(core::Case& spec, WorkloadEntry const& entry, comm::Machine const& machine,
                       Memory const& memory);

/// The largest size (all extents equal) whose memory fits; 0 where not even 1 does.
core::Extents largest_fitting(core::Case spec, WorkloadEntry const& entry,
                              comm::Machine const& machine, Memory const& memory);

}  // namespace quadrille::measure
