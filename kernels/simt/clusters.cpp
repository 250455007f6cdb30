// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "simt/clusters.hpp"

#include "simt/race.hpp"
#include "simt/scheduler.hpp"

#include <fmt/format.h>

namespace quadrille::simt {
namespace {

/// Each phase of the barrier has a clock of its own.
void const* clock_of(Cluster const& cluster, unsigned phase) {
  return reinterpret_cast<char const*>(&cluster) + phase % 2;
}

void end_phase_if_complete(Cluster& cluster) {
  if (cluster.missing > 0) return;
  ++cluster.phase;
  cluster.missing = cluster.live;
}

}  // namespace

unsigned cluster_rank() { return current->block->rank; }
dim3 cluster_extents() { return current_launch->cluster; }

void cluster_arrive(Place place) {
  preempt();
  Cluster& cluster = *current->block->cluster;
  if (current->cluster_phases > cluster.phase) {
    fail("cluster_arrive: the thread has arrived before and not waited since", place);
  }
  current->cluster_phases = cluster.phase + 1;
  race::release_in_cluster(clock_of(cluster, cluster.phase));
  --cluster.missing;
  end_phase_if_complete(cluster);
}

void cluster_wait(Place place) {
  Cluster const& cluster = *current->block->cluster;
  if (current->cluster_phases == 0) fail("cluster_wait: the thread has not arrived", place);
  unsigned const phases = current->cluster_phases;
  wait_until([&cluster, phases] { return cluster.phase >= phases; }, place, "cluster_wait");
  race::acquire_in_cluster(clock_of(cluster, phases - 1));
}

void leave_cluster(Thread const& thread) {
  Cluster& cluster = *thread.block->cluster;
  --cluster.live;
  if (thread.cluster_phases > cluster.phase) return;  // it has arrived
  --cluster.missing;
  end_phase_if_complete(cluster);
}

Block& block_of_cluster(unsigned rank, char const* what, Place place) {
  auto const& blocks = current->block->cluster->blocks;
  if (rank >= blocks.size()) {
    fail(fmt::format("{}: block {} of a cluster of {}", what, rank, blocks.size()), place);
  }
  if (blocks[rank]->has_ended) {
    fail(fmt::format("{}: block {} of the cluster has ended; let it wait for the others", what,
                     rank),
         place);
  }
  return *blocks[rank];
}

void* cluster_map(void* shared, unsigned rank, Place place) {
  std::size_t const offset = shared_offset(shared, place);
  return block_of_cluster(rank, "cluster_map", place).arena + offset;
}

}  // namespace quadrille::simt
