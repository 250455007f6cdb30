// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with 8 x 8 sums per thread.
///
///   C = alpha A B + beta C
///
/// Technique    a thread computes an 8 x 8 patch of C. For each step of k it reads 8 + 8 words of
///              shared memory into registers and does 64 multiply-adds with them: a square patch
///              shares more than a column. Threads fill the tiles in several passes
/// Shapes       row-major, any extents and leading dimensions; outside the matrices, tiles are zero
/// Types        f32, f64, sums in the same type
/// Work         2 m n k flop; traffic m n k / 64 elements
/// Constraints  A and B not transposed; extents below 2^31 - 1024
/// Launch       256 threads; 8 KiB (f32) or 16 KiB (f64) of shared memory
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

template <class T>
__global__ void __launch_bounds__(kThreads) gemm_thread_tile_2d_kernel(Operands<T> p) {
  QUAD_SHARED(T, tile_a, [kM][kDepth]);
  QUAD_SHARED(T, tile_b, [kDepth][kN]);
  int const thread = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) * kM;
  int const col = static_cast<int>(blockIdx.x) * kN;
  int const my_row = thread / (kN / kCols) * kRows;
  int const my_col = thread % (kN / kCols) * kCols;
  T sum[kRows][kCols] = {};
  for (int first = 0; first < p.k; first += kDepth) {
#pragma unroll
    for (int e = thread; e < kM * kDepth; e += kThreads) {
      int const i = e / kDepth, q = e % kDepth;
      bool const inside = row + i < p.m && first + q < p.k;
      tile_a[i][q] = inside ? p.a[(row + i) * p.lda + first + q] : T{};
    }
#pragma unroll
    for (int e = thread; e < kDepth * kN; e += kThreads) {
      int const q = e / kN, j = e % kN;
      bool const inside = first + q < p.k && col + j < p.n;
      tile_b[q][j] = inside ? p.b[(first + q) * p.ldb + col + j] : T{};
    }
    __syncthreads();  // both tiles are complete
#pragma unroll
    for (int q = 0; q < kDepth; ++q) {
      T a[kRows], b[kCols];
#pragma unroll
      for (int i = 0; i < kRows; ++i) a[i] = tile_a[my_row + i][q];
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

template <class T>
void enqueue(Problem const& problem, device::StreamView stream) {
  auto const p = operands<T>(problem, "thread_tile_2d");
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_thread_tile_2d_kernel<T>, grid_of(p, kM, kN, "thread_tile_2d"), dim3(kThreads),
              0, stream, p);
}

}  // namespace

void launch_thread_tile_2d(Problem const& problem, device::StreamView stream) {
  problem.c.type == core::DataType::f64 ? enqueue<double>(problem, stream)
                                        : enqueue<float>(problem, stream);
}

}  // namespace quadrille::kernels::gemm
