// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Additions of registers: what reading costs where nothing needs to be loaded.
///
///   v[j] = v[j] + v[(j + 1) mod 8], j = 0 ... 7, once for each tile of the block's share
///
/// Technique    every addition reads two registers, 8 bytes: the eight of a thread represent its 64
///              bytes of a tile; each needs the one before, so that none can be left out
/// Shapes       windows of whole tiles of 16 KiB, of which 8 KiB are loaded, once
/// Work         tiles x 16 KiB read from registers
/// Launch       256 threads per block, `readers` blocks, no shared memory
/// Accuracy     exact
#include "memory/memory_tiles.cuh"

namespace quadrille::kernels::memory {
namespace {

constexpr int kValues = 8;

#ifdef QUAD_KERNELS
static_assert(kThreads * kValues * 2 * sizeof(std::uint32_t) == kTileBytes);

__global__ void __launch_bounds__(kThreads, kResidentBlocks)
    memory_read_registers_kernel(std::uint32_t const* window, std::int64_t window_tiles,
                                 std::int64_t tiles, std::uint32_t* result) {
  Share const share = share_of(blockIdx.x, gridDim.x, window_tiles, tiles);
  std::uint32_t value[kValues];
#pragma unroll
  for (int j = 0; j < kValues; ++j) value[j] = window[threadIdx.x * kValues + j];
#pragma unroll 8  // so that the loop costs little
  for (std::int64_t i = 0; i < share.count; ++i) {
#pragma unroll
    for (int j = 0; j < kValues; ++j) value[j] += value[(j + 1) % kValues];
  }
  std::uint32_t sum = 0;
#pragma unroll
  for (int j = 0; j < kValues; ++j) sum += value[j];
  write_result(result, sum);
}

void launch(Problem const& p, device::StreamView stream) {
  prefer_shared(memory_read_registers_kernel, p.carveout);
  QUAD_LAUNCH(memory_read_registers_kernel, static_cast<unsigned>(p.readers), kThreads, 0, stream,
              static_cast<std::uint32_t const*>(p.window), p.bytes / kTileBytes, p.tiles, p.result);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const read_registers{
    {.name = "read_registers",
     .where = Where::cuda,
     .types = kEveryType,
     .needs = {.other = "windows of whole 16 KiB"},
     .source = "own",
     .summary = "additions of two registers each, of which 8 bytes are read"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = window_unsupported<>, .notes = {.result = Problem::Result::registers}}};

}  // namespace quadrille::kernels::memory
