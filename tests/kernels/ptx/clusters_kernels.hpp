// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

/// Kernels around the instructions of common/ptx/clusters.cuh. Pointers are to device memory.
namespace quadrille::test {

/// What a cluster does wrong on purpose.
enum class ClusterMisuse {
  none,
  no_meeting,        ///< reaches for others before they are there
  no_last_meeting,   ///< ends while others still reach for it
  no_remote_arrive,  ///< overwrites what the other has not read
  too_many_arrivals,
  no_proxy_fence,
  odd_size,
  overwrites_source,  ///< of a copy that may not have read it
  wait_of_block,      ///< waits without a look at what other blocks did
  not_in_cluster,     ///< names a block that there is not
};

/// out[32 b + i] = in[32 (b ^ 1) + i] through shared memory, by clusters of 2.
void launch_exchange(int const* in, int* out, int blocks, ClusterMisuse misuse,
                     device::StreamView stream);

/// Two blocks that arrive at each other's barrier without order of their memory: arrivals[b] is
/// how often block b has seen the other arrive.
void launch_relaxed(int* arrivals, device::StreamView stream);

/// Chunks of 16 rows x 32 floats through a ring of two in each block of a cluster of 2, each of which
/// copies half of each chunk to both. to[(2 b + h) ...]: what block b read, plus one.
void launch_multicast_ring(float const* from, float* to, int chunks, ClusterMisuse misuse,
                           device::StreamView stream);

/// What launch_exchange() does, by bulk copies from shared memory to shared memory.
void launch_bulk_exchange(int const* in, int* out, int blocks, ClusterMisuse misuse,
                          device::StreamView stream);

}  // namespace quadrille::test
