// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simt/engine.hpp"

/// Models of common/ptx/clusters.cuh but for what belongs to mbarriers and copies.
namespace quadrille::simt {

unsigned cluster_rank();
dim3 cluster_extents();
void cluster_arrive(Place place);
void cluster_wait(Place place);
/// Block `rank` of the cluster, which must not have ended.
Block& block_of_cluster(unsigned rank, char const* what, Place place);
/// The address in its shared memory that `shared` is in that of this block.
void* cluster_map(void* shared, unsigned rank, Place place);

}  // namespace quadrille::simt
