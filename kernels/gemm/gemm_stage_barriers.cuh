// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/ptx/barriers.cuh"

/// The ring of stages between a producer and the warps that multiply.
namespace quadrille::kernels::gemm {

#ifdef QUAD_KERNELS

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
};

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

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm
