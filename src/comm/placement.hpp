// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace quadrille::comm {

/// Where one rank runs.
struct Placement {
  int rank = 0;
  std::string node;
  int local_rank = 0;
  std::string device;
  std::string uuid;  ///< empty for a host device
  std::string pci;
  int numa = -1;                 ///< -1 where unknown
  std::string cpus;              ///< affinity mask as a list, for example "0-3,8"
  std::int64_t free_memory = 0;  ///< bytes, when the device was opened
  int threads = 1;
  double cores =
      0;  ///< of the node's, those of this rank: below 1 where ranks share one; 0 unknown
  double cpu_quota = 0;       ///< CPUs' worth of time that control groups allow it; 0 for no limit
  std::string settings = {};  ///< of a GPU at the start: what device::facts_of() tells, in a line
  int local_size = 1;         ///< ranks on this node; not kept in files, which list all ranks
};

/// Visits the facts of a rank as visit(name, member) under the names they have in files: World
/// gathers them, JSON and HDF5 are written and read by this list.
template <class Place, class Visit>
requires std::same_as<std::remove_const_t<Place>, Placement>
void visit_members(Place& place, Visit&& visit) {
  visit("rank", place.rank);
  visit("node", place.node);
  visit("local_rank", place.local_rank);
  visit("device", place.device);
  visit("uuid", place.uuid);
  visit("pci", place.pci);
  visit("numa", place.numa);
  visit("cpu_mask", place.cpus);
  visit("memory", place.free_memory);
  visit("threads", place.threads);
  visit("cores", place.cores);
  visit("cpu_quota", place.cpu_quota);
  visit("settings", place.settings);
}

/// Two ranks that drive one GPU, the lower first; empty where none do.
std::optional<std::pair<int, int>> sharing_a_gpu(std::vector<Placement> const& ranks);

}  // namespace quadrille::comm
