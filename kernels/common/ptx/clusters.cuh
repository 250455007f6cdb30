// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Clusters of blocks (sm_90): they run together and reach each other's shared memory.
///
/// A block must not end while others may still access its memory or arrive at its barriers. Before
/// the first access to another's, all threads of the cluster meet, so that what it has initialised
/// is there: cluster_arrive(), cluster_wait().

#include "common/ptx/bulk_copies.cuh"

#ifdef QUAD_KERNELS

#ifndef __CUDACC__
#include "simt/clusters.hpp"
#endif

namespace quadrille::ptx {

/// The number of this block in its cluster. PTX %cluster_ctarank.
QUAD_INSTRUCTION unsigned cluster_rank() {
#ifdef __CUDACC__
  unsigned rank = 0;
  QUAD_ASM_SM90("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
#else
  return simt::cluster_rank();
#endif
}

/// Blocks of the cluster in each direction. PTX %cluster_nctaid.
QUAD_INSTRUCTION dim3 cluster_extents() {
#ifdef __CUDACC__
  dim3 extents;
  QUAD_ASM_SM90("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(extents.x));
  QUAD_ASM_SM90("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(extents.y));
  QUAD_ASM_SM90("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(extents.z));
  return extents;
#else
  return simt::cluster_extents();
#endif
}

/// Arrives at the barrier of all threads of the cluster, and does not wait; whole warps.
QUAD_INSTRUCTION void cluster_arrive(QUAD_ONLY_WHERE) {
#ifdef __CUDACC__
  QUAD_ASM_SM90("barrier.cluster.arrive.release.aligned;" ::: "memory");
#else
  simt::cluster_arrive(where);
#endif
}

/// The same, and what this thread has written is not visible to who waits, but for barriers behind
/// fence_mbarrier_init(): cluster_arrive() waits until all that it has stored has reached the L2 cache.
/// The interpreter orders both alike.
QUAD_INSTRUCTION void cluster_arrive_relaxed(QUAD_ONLY_WHERE) {
#ifdef __CUDACC__
  QUAD_ASM_SM90("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#else
  simt::cluster_arrive(where);
#endif
}

/// Waits until all threads of the cluster have arrived; whole warps. Each thread arrives before it
/// waits.
QUAD_INSTRUCTION void cluster_wait(QUAD_ONLY_WHERE) {
#ifdef __CUDACC__
  QUAD_ASM_SM90("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
  simt::cluster_wait(where);
#endif
}

/// The same variable of this block's shared memory in block `rank` of the cluster.
template <class T>
QUAD_INSTRUCTION T* cluster_map(T* shared, unsigned rank QUAD_WHERE) {
#ifdef __CUDACC__
  std::uint64_t mapped = 0;
  QUAD_ASM_SM90("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(shared), "r"(rank));
  return reinterpret_cast<T*>(mapped);
#else
  return static_cast<T*>(simt::cluster_map(shared, rank, where));
#endif
}

/// Arrives once at the same barrier of block `rank` of the cluster.
QUAD_INSTRUCTION void mbarrier_arrive_cluster(MBarrier* barrier, unsigned rank QUAD_WHERE) {
#ifdef __CUDACC__
  QUAD_ASM_SM90(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(detail::shared_address(barrier)),
      "r"(rank)
      : "memory");
#else
  simt::mbarrier_arrive_cluster(barrier, rank, 1, where);
#endif
}

/// The same `count` times: for all of a group that one thread has met.
QUAD_INSTRUCTION void mbarrier_arrive_cluster(MBarrier* barrier, unsigned rank,
                                              unsigned count QUAD_WHERE) {
#ifdef __CUDACC__
  QUAD_ASM_SM90(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote], %2;\n"
      "}" ::"r"(detail::shared_address(barrier)),
      "r"(rank), "r"(count)
      : "memory");
#else
  simt::mbarrier_arrive_cluster(barrier, rank, count, where);
#endif
}

/// Arrives once for who has only read what the other may now overwrite: nothing that it wrote is
/// visible by this, which costs a fence of the whole device where it is. The interpreter orders both
/// alike.
QUAD_INSTRUCTION void mbarrier_arrive_cluster_relaxed(MBarrier* barrier, unsigned rank QUAD_WHERE) {
#ifdef __CUDACC__
  QUAD_ASM_SM90(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(detail::shared_address(barrier)),
      "r"(rank)
      : "memory");
#else
  simt::mbarrier_arrive_cluster(barrier, rank, 1, where);
#endif
}

/// Waits for the end of the phase of this parity, and sees what other blocks of the cluster did
/// before they arrived.
QUAD_INSTRUCTION void mbarrier_wait_cluster(MBarrier* barrier, unsigned parity QUAD_WHERE) {
#ifdef __CUDACC__
  unsigned ended = 0;
  while (ended == 0) {
    QUAD_ASM_SM90(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(ended)
        : "r"(detail::shared_address(barrier)), "r"(parity)
        : "memory");
  }
#else
  simt::mbarrier_wait(barrier, parity, where, true);
#endif
}

/// The same for who overwrites what others have read, and reads nothing that they wrote: the first-level
/// cache stays as it is. The interpreter orders both alike.
QUAD_INSTRUCTION void mbarrier_wait_cluster_relaxed(MBarrier* barrier, unsigned parity QUAD_WHERE) {
#ifdef __CUDACC__
  unsigned ended = 0;
  while (ended == 0) {
    QUAD_ASM_SM90(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(ended)
        : "r"(detail::shared_address(barrier)), "r"(parity)
        : "memory");
  }
#else
  simt::mbarrier_wait(barrier, parity, where, true);
#endif
}

/// Copies a box to the same address of each block whose bit is set in `blocks`, and counts it on
/// the same barrier of each. Code for later architectures than sm_90a lacks it, where it may be slow.
template <L2Hint hint = L2Hint::none>
QUAD_INSTRUCTION void tensor_load_multicast(void* shared, TensorMap const& map, int row, int column,
                                            MBarrier* barrier, std::uint16_t blocks QUAD_WHERE) {
#ifdef __CUDACC__
  if constexpr (hint == L2Hint::none) {
    QUAD_ASM_SM90A(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(detail::shared_address(shared)),
        "l"(&map), "r"(column), "r"(row), "r"(detail::shared_address(barrier)), "h"(blocks)
        : "memory");
  } else {
    QUAD_ASM_SM90A(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster.L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5, %6;" ::"r"(
            detail::shared_address(shared)),
        "l"(&map), "r"(column), "r"(row), "r"(detail::shared_address(barrier)), "h"(blocks),
        "l"(static_cast<std::uint64_t>(hint))
        : "memory");
  }
#else
  simt::tensor_load_multicast(shared, map, row, column, barrier, blocks, where);
#endif
}

/// Copies `bytes` of this block's shared memory at `from` to `shared` of block `rank` of the
/// cluster, and then counts them on `barrier` there. Addresses and size are multiples of 16 bytes;
/// ordinary stores to `from` need a fence_proxy_async(). Who waits at the barrier knows that `from`
/// has been read: this block must not end, nor write there, before it hears of that.
QUAD_INSTRUCTION void bulk_copy_cluster(void* shared, void const* from, unsigned bytes,
                                        MBarrier* barrier, unsigned rank QUAD_WHERE) {
#ifdef __CUDACC__
  QUAD_ASM_SM90(
      "{\n"
      ".reg .b32 remote_shared, remote_barrier;\n"
      "mapa.shared::cluster.u32 remote_shared, %0, %4;\n"
      "mapa.shared::cluster.u32 remote_barrier, %3, %4;\n"
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [remote_shared], "
      "[%1], %2, [remote_barrier];\n"
      "}" ::"r"(detail::shared_address(shared)),
      "r"(detail::shared_address(from)), "r"(bytes), "r"(detail::shared_address(barrier)), "r"(rank)
      : "memory");
#else
  simt::bulk_copy_cluster(shared, from, bytes, barrier, rank, where);
#endif
}

}  // namespace quadrille::ptx

#endif  // QUAD_KERNELS
