// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

/// Kernels around the instructions of common/ptx/barriers.cuh. Pointers are to device memory.
namespace quadrille::test {

/// One warp hands 3 x 32 numbers to another through one buffer: out[i] = 2 in[i]. Both
/// barriers are of `count` threads, which should be 64.
void launch_named_barriers(int const* in, int* out, int count, device::StreamView stream);

/// What the ring does wrong on purpose.
enum class RingMisuse {
  none,
  wrong_parity,
  no_expect_tx,
  too_few_expected,
  odd_size,
  not_initialised,
  no_init_fence,
  no_wait_for_full,   ///< reads what has not arrived
  no_wait_for_empty,  ///< overwrites what has not been read
  arrives_before_copies,
};

/// to[i] = from[i] + 1 by one block: chunks of 256 floats through a ring of three.
void launch_bulk_ring(float const* from, float* to, int chunks, RingMisuse misuse,
                      device::StreamView stream);

/// The same by cp.async: chunks of 128 floats, copied by one warp, read by another.
void launch_copy_ring(float const* from, float* to, int chunks, RingMisuse misuse,
                      device::StreamView stream);

}  // namespace quadrille::test
