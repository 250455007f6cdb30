// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product in which half of a block loads while the other half computes.
///
///   C = alpha A B + beta C
///
/// Technique    two pairs of tiles, and the threads in two halves. Each half loads one pair for all
///              and computes its own part of C from both, half a turn behind the other: while one
///              waits for global memory, the other multiplies. Two pairs take three phases with one
///              barrier behind each, on a path that all threads share
/// Shapes       row-major; outside the matrices, tiles are zero
/// Types        f32, sums in f32
/// Work         2 m n k flop; traffic m n k / 64 elements
/// Constraints  k, n and leading dimensions multiples of 4; A, B and C aligned to 16 bytes; A and B
///              not transposed; extents below 2^31 - 1024
/// Launch       256 threads, 32 KiB of shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
/// Source       own, after S. Boehm, How to Optimize a CUDA Matmul Kernel for cuBLAS-like
///              Performance
#include "gemm/gemm_warp_tile.cuh"

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS

using namespace warp_tiles;

__global__ void __launch_bounds__(kThreads) gemm_double_buffer_split_kernel(Operands<float> p) {
  QUAD_SHARED(Tiles, tiles, [2]);
  int const thread = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) * kM;
  int const col = static_cast<int>(blockIdx.x) * kN;
  Place const place;
  float sum[kRows][kCols] = {};
  int const half = thread / (kThreads / 2);
  auto const fill = [&](int buffer, int first) {
    Words<kThreads / 2> words;
    words.load(p, row, col, first, thread % (kThreads / 2));
    words.store(tiles[buffer], thread % (kThreads / 2));
  };
  if (half == 0) fill(0, 0);
  __syncthreads();  // the first pair is complete
  for (int first = 0; first < p.k; first += 2 * kDepth) {
    if (half == 0) {
      multiply(tiles[0], place, sum);
    } else {
      fill(1, first + kDepth);
    }
    __syncthreads();  // the second pair is complete
    multiply(tiles[half == 0 ? 1 : 0], place, sum);
    __syncthreads();  // all have read the first pair
    if (half == 0) {
      fill(0, first + 2 * kDepth);
    } else {
      multiply(tiles[1], place, sum);
    }
    __syncthreads();  // the first pair of the next turn is complete, and all have read the second
  }
  write(p, place, row, col, sum);
}

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_double_buffer_split_kernel, grid_of(p, kM, kN), dim3(kThreads), 0, stream, p);
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
               .most_extent = kMostCudaExtent,
               .most_rows = kMostTileRows * warp_tiles::kM},
     .source = "after Boehm 2022",
     .summary = "half of a block loads, half computes"},
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::gemm
