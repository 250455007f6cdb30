// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product as `warp_tile`, with blocks in another order.
///
///   C = alpha A B + beta C
///
/// Technique    tiles in another order. Blocks start in about the order of their numbers. In row
///              order, the blocks that run together need few rows of A but all columns of B. In
///              bands of 8 rows they form a compact part of C and find more of both in the L2
///              cache; it pays once all of B no longer fits there
///                  C: 32 x 32 tiles   row order, as in warp_tile      bands of 8 rows
///                  row 0                0    1    2  ...   31           0    8   16  ...  248
///                  row 1               32   33   34  ...   63           1    9   17  ...  249
///                  ...
///                  row 7              224  225  226  ...  255           7   15   23  ...  255
///                  row 8              256  257  258  ...  287         256  264  272  ...  504
///                  blocks 0 to 63     2 rows, 32 columns              8 rows, 8 columns
///                  read               2 + 32 strips of A and B        8 + 8
/// Before       warp_tile
/// Shapes       row-major; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k / 64 elements
/// Launch       256 threads, 16 KiB of shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/cuda_cores/gemm_warp_tile.cuh"

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS

using namespace warp_tiles;

inline constexpr int kBand = 8;  // rows of tiles

__global__ void __launch_bounds__(kThreads) gemm_warp_tile_block_swizzle_kernel(Operands<float> p) {
  QUAD_SHARED(Tiles, tiles);
  int const thread = static_cast<int>(threadIdx.x);
  int const tiles_m = divide_up(p.m, kBM);
  int const tiles_n = divide_up(p.n, kBN);
  int const block = static_cast<int>(blockIdx.x);
  int const band = block / (kBand * tiles_n);
  int const band_rows = min(kBand, tiles_m - band * kBand);
  int const in_band = block % (kBand * tiles_n);
  int const row = (band * kBand + in_band % band_rows) * kBM;
  int const col = in_band / band_rows * kBN;
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
  dim3 const grid = grid_of(p, kBM, kBN);
  QUAD_LAUNCH(gemm_warp_tile_block_swizzle_kernel, dim3(grid.x * grid.y), dim3(kThreads), 0, stream,
              p);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const warp_tile_block_swizzle{
    {.name = "warp_tile_block_swizzle",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.layouts = {Layout::nn},
               .row_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * warp_tiles::kBM},
     .source = "after Boehm 2022",
     .summary = "blocks in bands for the L2 cache"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.tile = warp_tiles::kTile}}};

}  // namespace quadrille::kernels::gemm
