// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Barriers of parts of a block: named barriers and mbarriers, and the fences that go with these.
///
/// Two proxies: ordinary loads and stores (and cp.async) go through the generic proxy, bulk copies,
/// tensor copies and wgmma through the asynchronous one. A thread that writes shared memory by
/// ordinary stores, for a bulk store, a tensor store or wgmma to read, calls fence_proxy_async()
/// after the stores and before the barrier. An mbarrier orders the other direction, from copy to
/// load. The same is true of global memory that a kernel writes and then copies from, with
/// fence_proxy_async_global(); one kernel after another in a stream needs nothing.

#include "common/ptx/instruction.cuh"

#ifdef QUAD_KERNELS

#ifndef __CUDACC__
#include "simt/async_proxy.hpp"
#include "simt/barriers.hpp"
#endif

namespace quadrille::ptx {

/// Waits at barrier `id` (0 to 15; 0 is that of __syncthreads) for `threads` threads, a multiple of
/// 32, those that only arrive included; whole warps. PTX bar.sync.
QUAD_INSTRUCTION void bar_sync(int id, int threads QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
#else
  simt::barrier(id, static_cast<unsigned>(threads), where, "bar.sync");
#endif
}

/// Counts as arrived at barrier `id` of `threads` threads, without waiting. PTX bar.arrive.
QUAD_INSTRUCTION void bar_arrive(int id, int threads QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
#else
  simt::barrier(id, static_cast<unsigned>(threads), where, "bar.arrive", false, true);
#endif
}

#ifdef __CUDACC__

/// A barrier in shared memory that counts arrivals and bytes. Its phase ends when all expected
/// arrivals and all expected bytes have come; then the next one starts.
struct alignas(8) MBarrier {
  std::uint64_t opaque;
};

#else

using simt::MBarrier;

#endif

/// Makes a barrier whose phases end after `count` arrivals. One thread calls it, then
/// fence_mbarrier_init(), then the block synchronises by __syncthreads().
QUAD_INSTRUCTION void mbarrier_init(MBarrier* barrier, unsigned count QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(detail::shared_address(barrier)),
               "r"(count)
               : "memory");
#else
  simt::mbarrier_init(barrier, count, where);
#endif
}

/// Ends the life of a barrier, so that its memory can be used for something else.
QUAD_INSTRUCTION void mbarrier_inval(MBarrier* barrier QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(detail::shared_address(barrier))
               : "memory");
#else
  simt::mbarrier_inval(barrier, where);
#endif
}

/// Arrives `count` times: what the thread did before is visible to threads that wait for the phase.
QUAD_INSTRUCTION void mbarrier_arrive(MBarrier* barrier, unsigned count = 1 QUAD_WHERE) {
#ifdef __CUDACC__
  QUAD_ASM_SM90(
      "mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(detail::shared_address(barrier)),
      "r"(count)
      : "memory");
#else
  simt::mbarrier_arrive(barrier, count, where);
#endif
}

/// Adds `bytes` to what the phase waits for, then arrives once.
QUAD_INSTRUCTION void mbarrier_arrive_expect_tx(MBarrier* barrier, unsigned bytes QUAD_WHERE) {
#ifdef __CUDACC__
  QUAD_ASM_SM90("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                    detail::shared_address(barrier)),
                "r"(bytes)
                : "memory");
#else
  simt::mbarrier_expect_tx(barrier, bytes, where);
  simt::mbarrier_arrive(barrier, 1, where);
#endif
}

/// Adds `bytes` to what the phase waits for, and does not arrive.
QUAD_INSTRUCTION void mbarrier_expect_tx(MBarrier* barrier, unsigned bytes QUAD_WHERE) {
#ifdef __CUDACC__
  QUAD_ASM_SM90("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(
                    detail::shared_address(barrier)),
                "r"(bytes)
                : "memory");
#else
  simt::mbarrier_expect_tx(barrier, bytes, where);
#endif
}

/// Arrives once when all cp.async() of this thread so far are complete: who then waits for the phase
/// sees their data. `count` of mbarrier_init() includes the arrival. The copies are waited for here,
/// no longer by cp_async_wait(). PTX cp.async.mbarrier.arrive.noinc.
QUAD_INSTRUCTION void cp_async_mbarrier_arrive_noinc(MBarrier* barrier QUAD_WHERE) {
#ifdef __CUDACC__
  asm volatile(
      "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(detail::shared_address(barrier))
      : "memory");
#else
  simt::mbarrier_arrive_after_copies(barrier, where);
#endif
}

/// Whether the phase of this parity has ended: 0 for the first phase, 1 for the second, 0 for the
/// third. A barrier that has ended no phase yet answers true to parity 1.
QUAD_INSTRUCTION bool mbarrier_test(MBarrier* barrier, unsigned parity QUAD_WHERE) {
#ifdef __CUDACC__
  unsigned ended = 0;
  QUAD_ASM_SM90(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(ended)
      : "r"(detail::shared_address(barrier)), "r"(parity)
      : "memory");
  return ended != 0;
#else
  return simt::mbarrier_test(barrier, parity, where);
#endif
}

/// Waits for the end of the phase of this parity.
QUAD_INSTRUCTION void mbarrier_wait(MBarrier* barrier, unsigned parity QUAD_WHERE) {
#ifdef __CUDACC__
  while (!mbarrier_test(barrier, parity)) {
  }
#else
  simt::mbarrier_wait(barrier, parity, where);
#endif
}

/// Makes initialised barriers visible to the asynchronous proxy and to the cluster.
QUAD_INSTRUCTION void fence_mbarrier_init() {
#ifdef __CUDACC__
  QUAD_ASM_SM90("fence.mbarrier_init.release.cluster;" ::: "memory");
  QUAD_ASM_SM90("fence.proxy.async.shared::cta;" ::: "memory");
#else
  simt::fence_mbarrier_init();
#endif
}

/// Makes this thread's ordinary stores to shared memory visible to the asynchronous proxy: bulk and
/// tensor stores, wgmma.
QUAD_INSTRUCTION void fence_proxy_async() {
#ifdef __CUDACC__
  QUAD_ASM_SM90("fence.proxy.async.shared::cta;" ::: "memory");
#else
  simt::async_proxy::fence();
#endif
}

/// Makes this thread's ordinary stores to global memory visible to the asynchronous proxy: bulk and
/// tensor loads of the same kernel. The race detector finds where it is missing.
QUAD_INSTRUCTION void fence_proxy_async_global() {
#ifdef __CUDACC__
  QUAD_ASM_SM90("fence.proxy.async.global;" ::: "memory");
#else
  simt::race::fence_async_proxy();
#endif
}

}  // namespace quadrille::ptx

#endif  // QUAD_KERNELS
