// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product that loads the next tiles and values while it multiplies.
///
///   C = alpha A B + beta C
///
/// Technique    a pipeline of two levels. The words of the next pair of tiles are loaded to
///              registers before this pair is multiplied and stored to the other buffer after it,
///              so that products hide the latency of global memory. Within a pair, the values of
///              the next k-iteration are read from shared memory before this iteration's products
///                  registers | load 0 |         | load 1 .............. |         | load 2 .......
///                  pair 0             | store 0 | products 0            |         |
///                  pair 1                                               | store 1 | products 1
///                  barrier                      ^                                 ^
///                  products 0
///                    read    | q = 0 | q = 1 | q = 2 | ... | q = 15 |
///                    multiply        | q = 0 | q = 1 | ... | q = 14 | q = 15 |
/// Before       double_buffer_pingpong
/// Shapes       row-major; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k / 64 elements
/// Launch       256 threads, 32 KiB of shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/cuda_cores/gemm_warp_tile.cuh"

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS

using namespace warp_tiles;

__global__ void __launch_bounds__(kThreads) gemm_double_buffer_prefetch_kernel(Operands<float> p) {
  QUAD_SHARED(Tiles, tiles, [2]);
  int const thread = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) * kBM;
  int const col = static_cast<int>(blockIdx.x) * kBN;
  Position const position;
  float accumulators[kRows][kCols] = {};
  Words<> words;
  if (p.k > 0) {
    words.load(p, row, col, 0, thread);
    words.store(tiles[0], thread);
  }
  __syncthreads();  // the first pair is complete
  for (int first = 0, buffer = 0; first < p.k; first += kBK, buffer = 1 - buffer) {
    bool const more = first + kBK < p.k;
    if (more) words.load(p, row, col, first + kBK, thread);
    Fragment values[2];
    values[0].read(tiles[buffer], position, 0);
#pragma unroll
    for (int q = 0; q < kBK; ++q) {
      if (q + 1 < kBK) values[(q + 1) % 2].read(tiles[buffer], position, q + 1);
      add_products(accumulators, values[q % 2]);
    }
    if (more) words.store(tiles[1 - buffer], thread);
    __syncthreads();  // the next pair is complete, and all have read this one
  }
  write(p, position, row, col, accumulators);
}

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_double_buffer_prefetch_kernel, grid_of(p, kBM, kBN), dim3(kThreads), 0, stream,
              p);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const double_buffer_prefetch{
    {.name = "double_buffer_prefetch",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.layouts = {Layout::nn},
               .row_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * warp_tiles::kBM},
     .source = "after Boehm 2022",
     .summary = "next tiles and values loaded during the products"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.tile = warp_tiles::kTile}}};

}  // namespace quadrille::kernels::gemm
