// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// A wait on the device.
///
///   clock at the end - clock at the beginning >= nanoseconds
///
/// Technique    one thread reads the clock until the time is over
/// Shapes       none
/// Types        none
/// Work         none
/// Constraints  none
/// Launch       one thread
/// Accuracy     a microsecond or two longer than asked
/// Source       own
#include "common/delay.hpp"
#include "common/ptx/threads.cuh"
#include "common/simt.cuh"

namespace quadrille::kernels {
namespace {

__global__ void delay_kernel(std::uint64_t nanoseconds) {
  std::uint64_t const start = ptx::globaltimer();
  while (ptx::globaltimer() - start < nanoseconds) {
  }
}

}  // namespace

void launch_delay(std::uint64_t nanoseconds, device::StreamView stream) {
  QUAD_LAUNCH(delay_kernel, 1, 1, 0, stream, nanoseconds);
}

}  // namespace quadrille::kernels
