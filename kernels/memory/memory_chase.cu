// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// A walk through memory where each step needs the one before.
///
///   place = window[place]
///
/// Technique    one thread: the time of a step is the latency of the level that holds the window.
///              Places are a line apart and in random order, so that no step brings the next
/// Shapes       a cycle through all lines of a window of whole tiles of 16 KiB
/// Types        32-bit numbers of 4-byte words
/// Work         one word in every 128 bytes of tiles x 16 KiB, one after the other
/// Constraints  a window of whole tiles, at most 16 GiB, aligned to 16 bytes
/// Launch       1 block of 1 thread
/// Accuracy     exact
/// Source       own
#include "common/simt.cuh"
#include "memory/memory.hpp"

namespace quadrille::kernels::memory {
namespace {

__global__ void memory_chase_kernel(std::uint32_t const* next, std::int64_t steps,
                                    std::uint32_t* result) {
  std::uint32_t place = 0, sum = 0;
  for (std::int64_t i = 0; i < steps; ++i) {
    place = next[place];
    sum += place;  // off the path of the latency: shows that every step was made
  }
  result[0] = place;
  result[1] = sum;
}

}  // namespace

void launch_chase(Problem const& p, device::StreamView stream) {
  require_consistent(p);
  QUAD_REQUIRE(p.bytes <= kMostChasedBytes,
               "memory/chase: the window has more than 16 GiB; use variant 'read_global'");
  prefer_shared(memory_chase_kernel, p.carveout);
  QUAD_LAUNCH(memory_chase_kernel, 1, 1, 0, stream, static_cast<std::uint32_t const*>(p.window),
              accesses(p.tiles), p.result);
}

}  // namespace quadrille::kernels::memory
