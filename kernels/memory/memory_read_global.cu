// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads of one window of global memory by every block.
///
///   result[block][thread] = number of the thread + sum of its words, modulo 2^32
///
/// Technique    every block reads its share of the same window, from a position of its own. A window
///              that fits the first-level cache is read from there. Larger ones are read past it, in
///              chunks of 64 KiB, which each block takes in an order of its own, so that blocks find
///              what the second-level cache holds and nothing that others have just asked for. In
///              windows below 16 MiB several blocks meet in a chunk by chance and share requests: a
///              profiler counts 8 % fewer sectors at 4 MiB, 2 % at 24 MiB (H100)
/// Shapes       windows of whole tiles of 16 KiB
/// Work         tiles x 16 KiB read; one addition for 4 bytes
/// Launch       256 threads per block, `readers` blocks, no shared memory; at most 64 registers, so
///              that four blocks are resident
/// Accuracy     exact
#include "common/ptx/copies.cuh"
#include "memory/memory_tiles.cuh"

namespace quadrille::kernels::memory {
namespace {

#ifdef QUAD_KERNELS

/// The sum of this thread's words of a block's share, past the first-level cache.
__device__ inline std::uint32_t sum_chunks(uint4 const* window, std::int64_t window_tiles,
                                           Share share) {
  std::uint32_t sum[kLoads] = {};
  std::int64_t const chunks = (share.count + kChunkTiles - 1) / kChunkTiles;
  ChunkOrder order{blockIdx.x, chunks};
#pragma unroll 1
  for (std::int64_t i = 0; i < chunks; ++i) {
    std::int64_t const begin = order.next() * kChunkTiles;
    std::int64_t const left = share.count - begin;
    std::int64_t tile = (share.first + begin) % window_tiles;
#pragma unroll 1  // as in sum_share
    for (std::int64_t t = 0; t < kChunkTiles && t < left; ++t) {
      uint4 const* const from = window + tile * kTileVectors + threadIdx.x;
      uint4 words[kLoads];
#pragma unroll
      for (int f = 0; f < kLoads; ++f) words[f] = ptx::load_streaming(from + f * kThreads);
#pragma unroll
      for (int f = 0; f < kLoads; ++f) {
        sum[f] += words[f].x + words[f].y + words[f].z + words[f].w;
      }
      if (++tile == window_tiles) tile = 0;
    }
  }
  return sum[0] + sum[1] + sum[2] + sum[3];
}

template <bool kThroughFirstLevel>
__global__ void __launch_bounds__(kThreads, kResidentBlocks)
    memory_read_global_kernel(uint4 const* window, std::int64_t window_tiles, std::int64_t tiles,
                              std::uint32_t* result) {
  Share const share = share_of(blockIdx.x, gridDim.x, window_tiles, tiles);
  write_result(result, kThroughFirstLevel ? sum_share(window, window_tiles, share)
                                          : sum_chunks(window, window_tiles, share));
}

template <bool kThroughFirstLevel>
void launch_as(Problem const& p, device::StreamView stream) {
  prefer_shared(memory_read_global_kernel<kThroughFirstLevel>, p.carveout);
  QUAD_LAUNCH(memory_read_global_kernel<kThroughFirstLevel>, static_cast<unsigned>(p.readers),
              kThreads, 0, stream, static_cast<uint4 const*>(p.window), p.bytes / kTileBytes,
              p.tiles, p.result);
}

void launch(Problem const& p, device::StreamView stream) {
  p.bytes > kMaxFirstLevelBytes ? launch_as<false>(p, stream) : launch_as<true>(p, stream);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const read_global{
    {.name = "read_global",
     .where = Where::cuda,
     .types = kEveryType,
     .needs = {.other = "windows of whole 16 KiB"},
     .preference = 20,
     .source = "own",
     .summary = "16-byte loads by 1024 threads per multiprocessor"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = window_unsupported<>}};

}  // namespace quadrille::kernels::memory
