// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/simt.cuh"
#include "memory/memory.hpp"

/// The loop that reads global and shared memory.
namespace quadrille::kernels::memory {

#ifdef QUAD_KERNELS

inline constexpr int kThreads = kDeviceLanes.count;
/// 16-byte loads that a thread has in flight: with four blocks 64 KiB per multiprocessor, several
/// times what the latency of memory needs.
inline constexpr int kLoads = 4;
inline constexpr int kTileVectors = kThreads * kLoads;
static_assert(kTileVectors * 16 == kTileBytes);

/// The sum of this thread's words of a block's share. Addresses depend on the share alone, which
/// the compiler does not know: it can neither reuse a tile nor skip one.
__device__ inline std::uint32_t sum_share(uint4 const* window, std::int64_t window_tiles,
                                          Share share) {
  std::uint32_t sum[kLoads] = {};
  std::int64_t const end = window_tiles * kTileVectors + threadIdx.x;
  std::int64_t at = share.first * kTileVectors + threadIdx.x;
#pragma unroll 1  // registers for the loads of several tiles would leave fewer blocks resident
  for (std::int64_t i = 0; i < share.count; ++i) {
    uint4 words[kLoads];
#pragma unroll
    for (int f = 0; f < kLoads; ++f) words[f] = window[at + f * kThreads];
#pragma unroll
    for (int f = 0; f < kLoads; ++f) {
      sum[f] += words[f].x + words[f].y + words[f].z + words[f].w;
    }
    at += kTileVectors;
    if (at == end) at = threadIdx.x;
  }
  return sum[0] + sum[1] + sum[2] + sum[3];
}

/// Writes a thread's sum. Its number makes every result different.
__device__ inline void write_result(std::uint32_t* result, std::uint32_t sum) {
  std::uint32_t const at = blockIdx.x * kThreads + threadIdx.x;
  result[at] = sum + at;
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::memory
