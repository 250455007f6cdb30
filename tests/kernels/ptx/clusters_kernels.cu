// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/ptx/clusters.cuh"

namespace quadrille::test {

/// For instructions_test.py alone, which compiles it: clusters have no model.
__global__ void ptx_clusters_kernel(const __grid_constant__ ptx::TensorMap map, unsigned* result) {
  QUAD_SHARED(ptx::MBarrier, barrier);
  QUAD_SHARED(unsigned, word, [32]);
  unsigned const rank = ptx::cluster_rank();
  dim3 const extents = ptx::cluster_extents();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  *ptx::cluster_map(&word[0], rank ^ 1) = extents.x + extents.y + extents.z;
  ptx::mbarrier_arrive_cluster(&barrier, rank ^ 1);
  ptx::tensor_load_multicast(word, map, 1, 2, &barrier, 3);
  ptx::mbarrier_wait_cluster(&barrier, 0);
  result[rank] = word[0];
}

}  // namespace quadrille::test
