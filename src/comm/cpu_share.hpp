// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/group.hpp"
#include "comm/placement.hpp"
#include "device/host/cgroup.hpp"

#include <set>
#include <string>
#include <vector>

namespace quadrille::comm {

/// What one rank may run on.
struct CpuLimits {
  std::set<int> cores;
  std::vector<device::CpuQuota> quotas;
};

/// What remains of that for one rank among those of its node.
struct CpuShare {
  double cores = 1;  ///< below 1 where ranks share one
  double quota = 0;  ///< CPUs; 0 for none
  /// Threads for computing, at least one.
  int threads() const;
};
CpuShare cpu_share(std::vector<CpuLimits> const& node, std::size_t rank);

/// That of this rank of a node; `cpus` is what it may run on. Collective.
CpuShare cpu_share(Group const& node, std::string const& cpus);

/// The first rank whose threads wait for a CPU that others have, or the time of a control group; null
/// where none does, as in results from before this was known.
Placement const* waiting_for_cpus(std::vector<Placement> const& ranks);
/// Whether it is a control group's limit of CPU time that this rank lacks.
bool is_throttled(Placement const& place);
/// "rank 1 has 0.5 cores for 1 thread: ranks share cores", of that rank; empty where none waits.
std::string cpu_contention(std::vector<Placement> const& ranks);

}  // namespace quadrille::comm
