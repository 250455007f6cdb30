// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

/// CPUs, cores and PCI devices of this machine, by hwloc.
namespace quadrille::device {

/// "AMD EPYC 9B14"; "CPU" where it is not known.
std::string cpu_name();

/// "Mellanox Technologies MT2910 Family [ConnectX-7]", those of PCI, each kind once; "none".
std::string network_cards();

/// CPUs that the calling thread may run on, for example "0-3,8".
std::string usable_cpus();

/// Cores, by their numbers here, with any of these CPUs: hardware threads of one core share its units.
/// Without knowledge of cores each CPU is one.
std::set<int> cores_of(std::string const& cpus);

/// Hardware threads of a core, the most that any has.
int threads_per_core();

/// The NUMA node next to the PCI device "0000:18:00.0"; -1 where it is not known or not one.
int numa_node_of(std::string const& pci);

/// CPUs next to that NUMA node; empty where it is not known.
std::string cpus_of_numa_node(int node);

}  // namespace quadrille::device
