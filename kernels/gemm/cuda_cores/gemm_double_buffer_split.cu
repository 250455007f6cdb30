// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product in which half of a block loads while the other half computes.
///
///   C = alpha A B + beta C
///
/// Technique    two pairs of tiles, and the threads in two halves. Each half loads one pair for all
///              and computes its own part of C from both, half an iteration after the other: while
///              one waits for global memory, the other multiplies. Two pairs take three phases with
///              one barrier after each, which all threads reach
/// Before       warp_tile
/// Shapes       row-major; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k / 64 elements
/// Launch       256 threads, 32 KiB of shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/cuda_cores/gemm_warp_tile.cuh"

namespace quadrille::kernels::gemm {
namespace {

using namespace warp_tiles;

#ifdef QUAD_KERNELS

__global__ void __launch_bounds__(kThreads) gemm_double_buffer_split_kernel(Operands<float> p) {
  QUAD_SHARED(Tiles, tiles, [2]);
  int const thread = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) * kBM;
  int const col = static_cast<int>(blockIdx.x) * kBN;
  Position const position;
  float accumulators[kRows][kCols] = {};
  int const half = thread / (kThreads / 2);
  auto const fill = [&](int buffer, int first) {
    Words<kThreads / 2> words;
    words.load(p, row, col, first, thread % (kThreads / 2));
    words.store(tiles[buffer], thread % (kThreads / 2));
  };
  if (half == 0) fill(0, 0);
  __syncthreads();  // the first pair is complete
  for (int first = 0; first < p.k; first += 2 * kBK) {
    if (half == 0) {
      multiply(tiles[0], position, accumulators);
    } else {
      fill(1, first + kBK);
    }
    __syncthreads();  // the second pair is complete
    multiply(tiles[half == 0 ? 1 : 0], position, accumulators);
    __syncthreads();  // all have read the first pair
    if (half == 0) {
      fill(0, first + 2 * kBK);
    } else {
      multiply(tiles[1], position, accumulators);
    }
    // The first pair of the next iteration is complete, and all have read the second.
    __syncthreads();
  }
  write(p, position, row, col, accumulators);
}

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_double_buffer_split_kernel, grid_of(p, kBM, kBN), dim3(kThreads), 0, stream, p);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const double_buffer_split{
    {.name = "double_buffer_split",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.layouts = {Layout::nn},
               .row_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * kBM},
     .source = "after Boehm 2022",
     .summary = "half of a block loads, half computes"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.tile = {kBM, kBN, 2 * kBK}}}};

}  // namespace quadrille::kernels::gemm
