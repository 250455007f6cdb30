// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads of a window in each block's shared memory.
///
///   result[block][thread] = number of the thread + sum of its words, modulo 2^32
///
/// Technique    a copy in shared memory, which never misses. The larger the copy, the fewer blocks
///              are resident, down to too few threads for full rate
/// Before       read_global
/// Shapes       windows of whole tiles of 16 KiB
/// Work         tiles x 16 KiB read; the window is copied once for each block
/// Launch       256 threads per block, `readers` blocks, the window as dynamic shared memory
/// Accuracy     exact
#include "memory/memory_tiles.cuh"

namespace quadrille::kernels::memory {
namespace {

#ifdef QUAD_KERNELS

__global__ void __launch_bounds__(kThreads, kResidentBlocks)
    memory_read_shared_kernel(uint4 const* window, std::int64_t window_tiles, std::int64_t tiles,
                              std::uint32_t* result) {
  QUAD_DYNAMIC_SHARED(uint4, copy);
  for (std::int64_t v = threadIdx.x; v < window_tiles * kTileVectors; v += kThreads) {
    copy[v] = window[v];
  }
  __syncthreads();  // threads read what others copied
  Share const share = share_of(blockIdx.x, gridDim.x, window_tiles, tiles);
  write_result(result, sum_share(copy, window_tiles, share));
}

void launch(Problem const& p, device::StreamView stream) {
  prefer_shared(memory_read_shared_kernel, p.carveout);
  QUAD_LAUNCH(memory_read_shared_kernel, static_cast<unsigned>(p.readers), kThreads,
              static_cast<std::size_t>(p.bytes), stream, static_cast<uint4 const*>(p.window),
              p.bytes / kTileBytes, p.tiles, p.result);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const read_shared{
    {.name = "read_shared",
     .where = Where::cuda,
     .types = kEveryType,
     .needs = {.other = "windows of whole 16 KiB, at most 227 KiB"},
     .source = "own",
     .summary = "the same from each block's copy in shared memory"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = window_unsupported<kMaxSharedBytes>}};

}  // namespace quadrille::kernels::memory
