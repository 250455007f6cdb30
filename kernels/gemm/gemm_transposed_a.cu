// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with 8 x 8 sums per thread and A transposed in shared memory.
///
///   C = alpha A B + beta C
///
/// Technique    as `thread_tile_2d`, but the tile of A is stored by columns. A thread's 8 values of
/// A for
///              one step of k then lie side by side and arrive with two 16-byte reads instead of
///              eight 4-byte reads
/// Shapes       row-major, any extents and leading dimensions; outside the matrices, tiles are zero
/// Types        f32, sums in f32
/// Work         2 m n k flop; traffic m n k / 64 elements
/// Constraints  A and B not transposed; extents below 2^31 - 1024
/// Launch       256 threads, 8 KiB of shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
/// Source       own, after S. Boehm, How to Optimize a CUDA Matmul Kernel for cuBLAS-like
/// Performance
#include "gemm/gemm_cuda.cuh"

namespace quadrille::kernels::gemm {
namespace {

inline constexpr int kM = 128, kN = 128;  // tile of C
inline constexpr int kDepth = 8;
inline constexpr int kRows = 8, kCols = 8;  // of one thread
inline constexpr int kThreads = kM * kN / (kRows * kCols);

__global__ void __launch_bounds__(kThreads) gemm_transposed_a_kernel(Operands<float> p) {
  QUAD_SHARED(float, tile_a, [kDepth][kM]);  // transposed
  QUAD_SHARED(float, tile_b, [kDepth][kN]);
  int const thread = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) * kM;
  int const col = static_cast<int>(blockIdx.x) * kN;
  int const my_row = thread / (kN / kCols) * kRows;
  int const my_col = thread % (kN / kCols) * kCols;

  float sum[kRows][kCols] = {};
  for (int first = 0; first < p.k; first += kDepth) {
#pragma unroll
    for (int e = thread; e < kM * kDepth; e += kThreads) {
      int const i = e / kDepth, q = e % kDepth;
      bool const inside = row + i < p.m && first + q < p.k;
      tile_a[q][i] = inside ? p.a[(row + i) * p.lda + first + q] : 0.0F;
    }
#pragma unroll
    for (int e = thread; e < kDepth * kN; e += kThreads) {
      int const q = e / kN, j = e % kN;
      bool const inside = first + q < p.k && col + j < p.n;
      tile_b[q][j] = inside ? p.b[(first + q) * p.ldb + col + j] : 0.0F;
    }
    __syncthreads();  // both tiles are complete
#pragma unroll
    for (int q = 0; q < kDepth; ++q) {
      float a[kRows], b[kCols];
#pragma unroll
      for (int i = 0; i < kRows; ++i) a[i] = tile_a[q][my_row + i];
#pragma unroll
      for (int j = 0; j < kCols; ++j) b[j] = tile_b[q][my_col + j];
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int j = 0; j < kCols; ++j) sum[i][j] += a[i] * b[j];
      }
    }
    __syncthreads();  // all have read the tiles
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kCols; ++j) {
      int const c_row = row + my_row + i;
      int const c_col = col + my_col + j;
      if (c_row < p.m && c_col < p.n) update(p, c_row, c_col, sum[i][j]);
    }
  }
}

}  // namespace

void launch_transposed_a(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem, "transposed_a");
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_transposed_a_kernel, grid_of(p, kM, kN, "transposed_a"), dim3(kThreads), 0,
              stream, p);
}

}  // namespace quadrille::kernels::gemm
