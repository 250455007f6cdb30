// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads of one window of global memory by every block.
///
///   result[block][thread] = number of the thread + sum of its words, modulo 2^32
///
/// Technique    every block goes around the same window, from a position of its own: a window that
///              fits the first-level cache is read from there, one that fits the second from
///              there; of a larger one no line is still there when it is read again
/// Shapes       windows of whole tiles of 16 KiB
/// Types        32-bit words of any type
/// Work         tiles x 16 KiB read; one addition for 4 bytes
/// Constraints  a window of whole tiles, aligned to 16 bytes
/// Launch       256 threads per block, `readers` blocks, no shared memory; at most 64 registers, so
///              that four blocks are resident
/// Accuracy     exact
/// Source       own
#include "memory/memory_tiles.cuh"

namespace quadrille::kernels::memory {
namespace {

#ifdef QUAD_KERNELS

__global__ void __launch_bounds__(kThreads, kResidentBlocks)
    memory_read_global_kernel(uint4 const* window, std::int64_t window_tiles, std::int64_t tiles,
                              std::uint32_t* result) {
  Share const share = share_of(blockIdx.x, gridDim.x, window_tiles, tiles);
  write_result(result, sum_share(window, window_tiles, share));
}

void launch(Problem const& p, device::StreamView stream) {
  prefer_shared(memory_read_global_kernel, p.carveout);
  QUAD_LAUNCH(memory_read_global_kernel, static_cast<unsigned>(p.readers), kThreads, 0, stream,
              static_cast<uint4 const*>(p.window), p.bytes / kTileBytes, p.tiles, p.result);
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
