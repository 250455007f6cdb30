// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with a tile for each warp between those of block and thread.
///
///   C = alpha A B + beta C
///
/// Technique    the 32 threads of a warp cover a compact 32 x 64 part of C instead of two long rows
///              of the block's tile, each with four parts of 4 x 4: together they read 32 + 64
///              words of shared memory in a k-iteration where those read 16 + 128, and without bank
///              conflicts, since neighbouring threads read neighbouring vectors
///                  tile 128 x 128              warp tile 32 x 64: lanes, 4 x 4 elements each
///                  column 0        64          column   0   4   8 ...  28    32  36  40 ...  60
///                  row  0 +--------+--------+  row  0   0   1   2 ...   7     0   1   2 ...   7
///                         | warp 0 | warp 1 |  row  4   8   9  10 ...  15     8   9  10 ...  15
///                  row 32 +--------+--------+  row  8  16  17  18 ...  23    16  17  18 ...  23
///                         | warp 2 | warp 3 |  row 12  24  25  26 ...  31    24  25  26 ...  31
///                  row 64 +--------+--------+  row 16   0   1   2 ...   7     0   1   2 ...   7
///                         | warp 4 | warp 5 |  row 20   8   9  10 ...  15     8   9  10 ...  15
///                  row 96 +--------+--------+  row 24  16  17  18 ...  23    16  17  18 ...  23
///                         | warp 6 | warp 7 |  row 28  24  25  26 ...  31    24  25  26 ...  31
///                         +--------+--------+
/// Before       tuned_128x128x16_8x8
/// Shapes       row-major; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k / 64 elements
/// Launch       256 threads, 16 KiB of shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/cuda_cores/gemm_warp_tile.cuh"

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS

using namespace warp_tiles;

__global__ void __launch_bounds__(kThreads) gemm_warp_tile_kernel(Operands<float> p) {
  QUAD_SHARED(Tiles, tiles);
  int const thread = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) * kBM;
  int const col = static_cast<int>(blockIdx.x) * kBN;
  Position const position;
  float accumulators[kRows][kCols] = {};
  for (int first = 0; first < p.k; first += kBK) {
    Words<> words;
    words.load(p, row, col, first, thread);
    words.store(tiles, thread);
    __syncthreads();  // both tiles are complete
    multiply(tiles, position, accumulators);
    __syncthreads();  // all have read the tiles
  }
  write(p, position, row, col, accumulators);
}

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_warp_tile_kernel, grid_of(p, kBM, kBN), dim3(kThreads), 0, stream, p);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const warp_tile{
    {.name = "warp_tile",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.layouts = {Layout::nn},
               .row_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * warp_tiles::kBM},
     .source = "after Boehm 2022",
     .summary = "warp tiles of 32 x 64 within the block's tile"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.tile = warp_tiles::kTile}}};

}  // namespace quadrille::kernels::gemm
