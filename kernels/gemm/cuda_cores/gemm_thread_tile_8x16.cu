// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with a thread tile of 8 x 16.
///
///   C = alpha A B + beta C
///
/// Technique    a thread has 128 accumulators. It reads 8 + 16 values from shared memory for 128
///              multiply-adds, where a thread tile of 8 x 8 reads 16 for 64: six 16-byte loads take
///              at most three quarters of the cycles of their multiply-adds, four take all of them.
///              A warp has 64 x 64 elements of C, a block 128 x 256; it takes nearly all registers,
///              so two warps per scheduler must do. The multiply-adds of a row go there and back,
///              so that each shares a value with the one before
/// Before       double_buffer_prefetch
/// Shapes       row-major, any extents; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k (4 / 128 + 4 / 256) bytes
/// Launch       256 threads, 48 KiB of shared memory, one block per multiprocessor
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/cuda_cores/gemm_thread_tile_8x16.cuh"
#include "gemm/cuda_cores/gemm_warp_tile.cuh"

namespace quadrille::kernels::gemm {
namespace {

using namespace simt_tiles;

constexpr int kBM = warp_tiles::kBM, kBN = 256, kBK = warp_tiles::kBK;

#ifdef QUAD_KERNELS

__global__ void __launch_bounds__(kThreads, 1) gemm_thread_tile_8x16_kernel(Operands<float> p) {
  // changed: tiles of B are as wide as the threads need
  QUAD_SHARED(warp_tiles::TilesOf<kBN>, tiles, [2]);
  int const thread = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) * kBM;
  int const col = static_cast<int>(blockIdx.x) * kBN;
  Position const position{thread / 32, kBN / kWarpTile};
  float accumulators[kRows][kCols] = {};
  // changed: so is what a thread copies
  warp_tiles::Words<kThreads, kBN> words;
  if (p.k > 0) {
    words.load(p, row, col, 0, thread);
    words.store(tiles[0], thread);
  }
  __syncthreads();  // the first pair is complete
  for (int first = 0, buffer = 0; first < p.k; first += kBK, buffer = 1 - buffer) {
    bool const more = first + kBK < p.k;
    if (more) words.load(p, row, col, first + kBK, thread);
    auto const& pair = tiles[buffer];
    // changed: 16 columns a thread: 24 values are read for 128 products, not 16 for 64
    Values values[2];
    values[0].read(&pair.a[0][position.row], &pair.b[0][position.col]);
#pragma unroll
    for (int q = 0; q < kBK; ++q) {
      if (q + 1 < kBK) {
        values[(q + 1) % 2].read(&pair.a[q + 1][position.row], &pair.b[q + 1][position.col]);
      }
      add_products(accumulators, values[q % 2]);
    }
    if (more) words.store(tiles[1 - buffer], thread);
    __syncthreads();  // the next pair is complete, and all have read this one
  }
  // changed: a thread has 8 x 16 results
  write<true>(p, row + position.row, col + position.col, accumulators);
}

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_thread_tile_8x16_kernel, grid_of(p, kBM, kBN), dim3(kThreads), 0, stream, p);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const thread_tile_8x16{
    {.name = "thread_tile_8x16",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.layouts = {Layout::nn},
               .row_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * 128},
     .source = "own",
     .summary = "double_buffer_prefetch with a thread tile of 8 x 16"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.tile = {kBM, kBN, kBK}}}};

}  // namespace quadrille::kernels::gemm
