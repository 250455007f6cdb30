// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with a thread tile of 8 x 1.
///
///   C = alpha A B + beta C
///
/// Technique    a thread computes 8 elements of one column of C. With k in the outer loop, one
///              value of B stays in a register for 8 multiply-adds: 9 words of shared memory for 8
///              multiply-adds where `shared_tile` reads 16
/// Shapes       row-major, any extents and leading dimensions
/// Types        f32, accumulators f32; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k / 32 elements
/// Constraints  A and B not transposed; extents below 2^31 - 1024
/// Launch       512 threads, 4 KiB of shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
/// Source       own, after S. Boehm, How to Optimize a CUDA Matmul Kernel for cuBLAS-like
///              Performance
#include "gemm/gemm_cuda.cuh"

namespace quadrille::kernels::gemm {
namespace {

inline constexpr int kBM = 64, kBN = 64;  // tile of C
inline constexpr int kBK = 8;
inline constexpr int kRows = 8;  // of one thread
inline constexpr int kThreads = kBM * kBN / kRows;

#ifdef QUAD_KERNELS
static_assert(kBM * kBK == kThreads && kBN * kBK == kThreads, "one element of A and B each");

__global__ void __launch_bounds__(kThreads) gemm_thread_tile_1d_kernel(Operands<float> p) {
  QUAD_SHARED(float, tile_a, [kBM][kBK]);
  QUAD_SHARED(float, tile_b, [kBK][kBN]);
  int const thread = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) * kBM;
  int const col = static_cast<int>(blockIdx.x) * kBN;
  int const my_row = thread / kBN * kRows;
  int const my_col = thread % kBN;
  int const row_a = thread / kBK, q_a = thread % kBK;
  int const q_b = thread / kBN, col_b = thread % kBN;
  float accumulators[kRows] = {};
  for (int first = 0; first < p.k; first += kBK) {
    bool const inside_a = row + row_a < p.m && first + q_a < p.k;
    bool const inside_b = first + q_b < p.k && col + col_b < p.n;
    tile_a[row_a][q_a] = inside_a ? p.a[(row + row_a) * p.lda + first + q_a] : 0.0F;
    tile_b[q_b][col_b] = inside_b ? p.b[(first + q_b) * p.ldb + col + col_b] : 0.0F;
    __syncthreads();  // both tiles are complete
#pragma unroll
    for (int q = 0; q < kBK; ++q) {
      float const b = tile_b[q][my_col];
#pragma unroll
      for (int i = 0; i < kRows; ++i) accumulators[i] += tile_a[my_row + i][q] * b;
    }
    __syncthreads();  // all have read the tiles
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    int const c_row = row + my_row + i;
    int const c_col = col + my_col;
    if (c_row < p.m && c_col < p.n) update(p, c_row, c_col, accumulators[i]);
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_thread_tile_1d_kernel, grid_of(p, kBM, kBN), dim3(kThreads), 0, stream, p);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const thread_tile_1d{{.name = "thread_tile_1d",
                                                        .where = Where::cuda,
                                                        .types = {core::DataType::f32},
                                                        .needs = {.layouts = {Layout::nn},
                                                                  .most_extent = kMostCudaExtent,
                                                                  .most_rows = kMostTileRows * kBM},
                                                        .source = "after Boehm 2022",
                                                        .summary = "thread tile 8 x 1"},
                                                       QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::gemm
