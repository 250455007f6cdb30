// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/ptx/threads.cuh"
#include "common/simt.cuh"

/// Short kernels behind one another, of which each is launched while the one before still runs.
namespace quadrille::kernels {

#ifdef QUAD_KERNELS

/// For LaunchShape::overlaps_previous of a kernel that calls begin_behind(): before Hopper no kernel can.
inline bool can_overlap(device::StreamView stream) {
  return stream.facts().code.compute_capability >= 90;
}

/// Lets the next kernel start, then waits for those before this one. Blocks of both are on the device meanwhile,
/// so that what a launch costs, and the time that blocks take to get there, lie under the kernel before.
__device__ inline void begin_behind() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();
#endif
}

/// For the interpreter: while it lives, a thread may read what no kernel before writes, although it has not waited
/// for these.
class EarlyAccess {
 public:
#ifdef __CUDACC__
  __device__ EarlyAccess() {}
#else
  EarlyAccess() : had_waited_{simt::current->has_waited} { simt::current->has_waited = true; }
  ~EarlyAccess() { simt::current->has_waited = had_waited_; }

 private:
  bool had_waited_;
#endif
};

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels
