// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with two pairs of tiles and one barrier per pair.
///
///   C = alpha A B + beta C
///
/// Technique    without the second barrier, which only keeps a tile from being overwritten while
///              others still read it. With two pairs of tiles that alternate, the barrier of the
///              next pair does that. A warp still waits for its own loads before it multiplies:
///              loads and products overlap only between warps that have drifted apart
///                  warp 0   |load 0|store 0||products 0|load 1|store 1|    |products 1|load 2|
///                  warp 1   |load 0|store 0||  products 0  |load 1|store 1||  products 1  |load 2|
///                  barrier                 1                               2
///                  1: pair 0 is complete
///                  2: pair 1 is complete, and all have read pair 0, to which store 2 goes
/// Before       warp_tile
/// Shapes       row-major; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k / 64 elements
/// Launch       256 threads, 32 KiB of shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/cuda_cores/gemm_warp_tile.cuh"

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS

using namespace warp_tiles;

__global__ void __launch_bounds__(kThreads) gemm_double_buffer_pingpong_kernel(Operands<float> p) {
  // changed: two pairs of tiles
  QUAD_SHARED(Tiles, tiles, [2]);
  int const thread = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) * kBM;
  int const col = static_cast<int>(blockIdx.x) * kBN;
  Position const position;
  float accumulators[kRows][kCols] = {};
  // changed: they take turns
  for (int first = 0, buffer = 0; first < p.k; first += kBK, buffer = 1 - buffer) {
    Words<> words;
    words.load(p, row, col, first, thread);
    // changed: nobody reads this pair: one barrier is enough for both
    words.store(tiles[buffer], thread);
    __syncthreads();  // this pair is complete, and all have read the other one
    multiply(tiles[buffer], position, accumulators);
  }
  write(p, position, row, col, accumulators);
}

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_double_buffer_pingpong_kernel, grid_of(p, kBM, kBN), dim3(kThreads), 0, stream,
              p);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const double_buffer_pingpong{
    {.name = "double_buffer_pingpong",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.layouts = {Layout::nn},
               .row_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * warp_tiles::kBM},
     .source = "after Boehm 2022",
     .summary = "two pairs of tiles, one barrier"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.tile = warp_tiles::kTile}}};

}  // namespace quadrille::kernels::gemm
