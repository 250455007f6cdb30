// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/ptx/barriers.cuh"

/// The ring of stages between a producer and the warps that multiply.
namespace quadrille::kernels::gemm {

#ifdef QUAD_KERNELS

/// The stages in turn, and the parity of the phase in which each is filled.
template <int kStages>
struct PipelineState {
  int stage = 0;
  unsigned parity = 0;

  __device__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1U;
    }
  }
};

/// A stage is full when its copies have arrived, empty when all consumers have read it.
template <int kStages>
struct StageBarriers {
  ptx::MBarrier full[kStages], empty[kStages];

  /// By one thread; then the block synchronises. `producers` arrive when a stage is full, `consumers`
  /// when it is empty.
  __device__ void init(unsigned producers, unsigned consumers) {
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::mbarrier_init(&full[stage], producers);
      ptx::mbarrier_init(&empty[stage], consumers);
    }
    ptx::fence_mbarrier_init();
  }

  /// Waits until all consumers have read the stage, of which `bytes` must be copied then; the barrier at
  /// which the copies arrive. One thread.
  __device__ __forceinline__ ptx::MBarrier* producer_acquire(PipelineState<kStages> const& state,
                                                             unsigned bytes) {
    ptx::mbarrier_wait(&empty[state.stage], state.parity ^ 1U);
    ptx::mbarrier_arrive_expect_tx(&full[state.stage], bytes);
    return &full[state.stage];
  }
};

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm
