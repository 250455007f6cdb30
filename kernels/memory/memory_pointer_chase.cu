// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// A pointer chase: each load needs the result of the one before.
///
///   position = window[position]
///
/// Technique    one thread: the time of a step is the latency of the level that holds the window.
///              Positions are a line apart and in random order, so that no step prefetches the next
/// Shapes       a cycle through all lines of a window of whole tiles of 16 KiB
/// Work         one word in every 128 bytes of tiles x 16 KiB, one after the other
/// Launch       1 block of 1 thread
/// Accuracy     exact
#include "common/simt.cuh"
#include "memory/memory.hpp"

namespace quadrille::kernels::memory {
namespace {

#ifdef QUAD_KERNELS

__global__ void memory_pointer_chase_kernel(std::uint32_t const* next, std::int64_t steps,
                                            std::uint32_t* result) {
  std::uint32_t position = 0, sum = 0;
  for (std::int64_t i = 0; i < steps; ++i) {
    position = next[position];
    sum += position;  // not on the critical path: shows that every step was made
  }
  result[0] = position;
  result[1] = sum;
}

void launch(Problem const& p, device::StreamView stream) {
  prefer_shared(memory_pointer_chase_kernel, p.carveout);
  QUAD_LAUNCH(memory_pointer_chase_kernel, 1, 1, 0, stream,
              static_cast<std::uint32_t const*>(p.window), accesses(p.tiles), p.result);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const pointer_chase_cuda{
    {.name = "pointer_chase",
     .where = Where::cuda,
     .types = kEveryType,
     .needs = {.other = "windows of whole 16 KiB, at most 16 GiB"},
     .source = "own",
     .summary = "one thread follows a random cycle, one line per step: latency"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = window_unsupported<kMaxPointerChaseBytes>,
     .notes = {.result = Problem::Result::walk}}};

}  // namespace quadrille::kernels::memory
