// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Clusters of blocks (sm_90). The interpreter knows those of one block.

#include "common/ptx/bulk_copies.cuh"

#ifdef QUAD_KERNELS

namespace quadrille::ptx {

/// The number of this block in its cluster. PTX %cluster_ctarank.
QUAD_INSTRUCTION unsigned cluster_rank() {
#ifdef __CUDACC__
  unsigned rank = 0;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
#else
  return 0;
#endif
}

/// Blocks of the cluster in each direction. PTX %cluster_nctaid.
QUAD_INSTRUCTION dim3 cluster_extents() {
#ifdef __CUDACC__
  dim3 extents;
  asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(extents.x));
  asm volatile("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(extents.y));
  asm volatile("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(extents.z));
  return extents;
#else
  return {1, 1, 1};
#endif
}

#ifdef __CUDACC__

/// What follows has no model: kernels that use it say `simt: no` in their header block.

/// Arrives at the barrier of all threads of the cluster, and does not wait.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

/// Waits until all threads of the cluster have arrived. Each thread arrives before it waits.
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// The same variable of this block's shared memory in block `rank` of the cluster.
template <class T>
__device__ __forceinline__ T* cluster_map(T* shared, unsigned rank) {
  std::uint64_t mapped = 0;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(shared), "r"(rank));
  return reinterpret_cast<T*>(mapped);
}

/// Arrives once at the same barrier of block `rank` of the cluster.
__device__ __forceinline__ void mbarrier_arrive_cluster(MBarrier* barrier, unsigned rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(detail::shared_address(barrier)),
      "r"(rank)
      : "memory");
}

/// Waits for the end of the phase of this parity, and sees what other blocks of the cluster did
/// before they arrived.
__device__ __forceinline__ void mbarrier_wait_cluster(MBarrier* barrier, unsigned parity) {
  unsigned ended = 0;
  while (ended == 0) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(ended)
        : "r"(detail::shared_address(barrier)), "r"(parity)
        : "memory");
  }
}

/// Copies a box to the same address of each block whose bit is set in `blocks`, and counts it on
/// the same barrier of each.
__device__ __forceinline__ void tensor_load_multicast(void* shared, TensorMap const& map, int row,
                                                      int column, MBarrier* barrier,
                                                      std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(detail::shared_address(shared)),
      "l"(&map), "r"(column), "r"(row), "r"(detail::shared_address(barrier)), "h"(blocks)
      : "memory");
}

#endif

}  // namespace quadrille::ptx

#endif  // QUAD_KERNELS
