// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transpose of what two processes of a grid have in common, from the memory of one into the other's.
///
///   out[cols.out(j)][rows.out(i)] = in[rows.in(i)][cols.in(j)]
///
/// Technique    one launch for all blocks: tiles are those of the common indices, whatever blocks they
///              lie in, so that none is small because blocks are. A block of threads writes down once
///              where the rows and columns of its tile lie, and then reads lines of the input, all loads
///              under way before the first value is stored, and writes lines of the output. That hides
///              the way to a peer's memory and back, and a link carries lines of 128 bytes where the
///              blocks have them. Over a link a few blocks of threads on each multiprocessor take turns
///              at the tiles: what saturates it leaves most of the GPU to the transpose of the own
///              memory beside it
/// Shapes       row-major, any extents, leading dimensions, alignment and blocks; not overlapping;
///              any type; fewer than 2^31 tiles
/// Work         2 s bytes per element
/// Launch       tiles of 32 x 32 (s = 8) or 64 x 64 elements, 256 threads, 6 to 18 KiB of shared memory;
///              a block for each tile, or over a link at most 4 for each multiprocessor
/// Accuracy     exact
#include "common/simt.cuh"
#include "support/generate.hpp"
#include "transpose/transpose_blocks.hpp"

#include <algorithm>

namespace quadrille::kernels::transpose {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = 32 * kWarps;
constexpr std::int64_t kOverLink = 4;  // blocks of threads for a multiprocessor

template <class T>
constexpr int kSide = sizeof(T) == 8 ? 32 : 64;
// Rows of an odd number of banks, or of two more than a multiple of 32 where elements fill two.
template <class T>
constexpr int kPad = sizeof(T) >= 4 ? 1 : 4 / static_cast<int>(sizeof(T));

template <class T>
struct BlockOperands {
  T const* in;
  std::int64_t in_ld;
  T* out;
  std::int64_t out_ld;
  CommonIndices rows, cols;
  std::int64_t across, tiles;
};

template <class T>
__global__ void __launch_bounds__(kThreads) transpose_blocks_kernel(BlockOperands<T> p) {
  constexpr int kTile = kSide<T>;
  constexpr int kLoads = kTile / 32, kSteps = kTile / kWarps;  // of a row, and rows of a warp
  QUAD_SHARED(T, tile, [kTile][kTile + kPad<T>]);
  // Offsets of elements, of rows and columns of the tile in the input, then of the same in the output.
  QUAD_SHARED(std::int64_t, places, [4][kTile]);
  auto const thread = static_cast<int>(threadIdx.x);
  int const warp = thread / 32, lane = thread % 32;
  for (std::int64_t index = blockIdx.x; index < p.tiles; index += gridDim.x) {
    std::int64_t const i0 = index / p.across * kTile, j0 = index % p.across * kTile;
    int const rows = static_cast<int>(p.rows.count - i0 < kTile ? p.rows.count - i0 : kTile);
    int const cols = static_cast<int>(p.cols.count - j0 < kTile ? p.cols.count - j0 : kTile);
    // Places
    if (thread < 4 * kTile) {
      int const which = thread / kTile, k = thread % kTile;
      std::int64_t const i = i0 + k, j = j0 + k;
      places[which][k] = which == 0   ? p.rows.in.at(i, p.rows.block) * p.in_ld
                         : which == 1 ? p.cols.in.at(j, p.cols.block)
                         : which == 2 ? p.rows.out.at(i, p.rows.block)
                                      : p.cols.out.at(j, p.cols.block) * p.out_ld;
    }
    __syncthreads();  // a thread needs the places that others wrote down
    // Load
    T values[kSteps][kLoads];
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      int const r = warp + step * kWarps;
#pragma unroll
      for (int load = 0; load < kLoads; ++load) {
        int const c = lane + load * 32;
        if (r < rows && c < cols) values[step][load] = p.in[places[0][r] + places[1][c]];
      }
    }
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int load = 0; load < kLoads; ++load) {
        int const r = warp + step * kWarps, c = lane + load * 32;
        if (r < rows && c < cols) tile[r][c] = values[step][load];
      }
    }
    __syncthreads();  // a thread stores what others have loaded
                      // Store
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      int const c = warp + step * kWarps;
#pragma unroll
      for (int load = 0; load < kLoads; ++load) {
        int const r = lane + load * 32;
        if (r < rows && c < cols) p.out[places[3][c] + places[2][r]] = tile[r][c];
      }
    }
    __syncthreads();  // tile and places are written anew
  }
}

}  // namespace

void launch_blocks(Blocks const& b, device::StreamView stream) {
  generate::visit_bits(b.in.type, [&](auto zero) {
    using Bits = decltype(zero);
    constexpr std::int64_t kTile = kSide<Bits>;
    std::int64_t const down = (b.rows.count + kTile - 1) / kTile;
    std::int64_t const across = (b.cols.count + kTile - 1) / kTile;
    std::int64_t const tiles = down * across;
    QUAD_REQUIRE(tiles < std::int64_t{1} << 31, "transpose: takes fewer than 2^31 tiles at once");
    // In own memory a block for each tile, which soon makes room for those of a stream of higher priority.
    std::int64_t const most =
        b.path == Path::link ? kOverLink * std::max(1, stream.facts().multiprocessors) : tiles;
    QUAD_LAUNCH((transpose_blocks_kernel<Bits>), dim3(static_cast<unsigned>(std::min(tiles, most))),
                dim3(kThreads), 0, stream,
                BlockOperands<Bits>{static_cast<Bits const*>(b.in.data), b.in.ld,
                                    static_cast<Bits*>(b.out.data), b.out.ld, b.rows, b.cols,
                                    across, tiles});
  });
}

}  // namespace quadrille::kernels::transpose
