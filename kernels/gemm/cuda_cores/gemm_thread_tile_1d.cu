// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with a thread tile of 8 x 1.
///
///   C = alpha A B + beta C
///
/// Technique    a thread computes 8 elements of one column of C. With k in the outer loop, one
///              value of B stays in a register for 8 multiply-adds: 9 words of shared memory for 8
///              multiply-adds where `shared_tile` reads 16. BK is 8, so that a thread still copies
///              one word of each tile
/// Before       shared_tile
/// Shapes       row-major, any extents and leading dimensions; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k / 32 elements
/// Launch       512 threads, 4 KiB of shared memory; two blocks on a multiprocessor
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/gemm_cuda.cuh"

namespace quadrille::kernels::gemm {
namespace {

inline constexpr int kBM = 64, kBN = 64;  // tile of C
inline constexpr int kBK = 8;
inline constexpr int kRows = 8;  // of one thread
inline constexpr int kThreads = kBM * kBN / kRows;

#ifdef QUAD_KERNELS
static_assert(kBM * kBK == kThreads && kBN * kBK == kThreads, "one element of A and B each");

__global__ void __launch_bounds__(kThreads, 2) gemm_thread_tile_1d_kernel(Operands<float> p) {
  QUAD_SHARED(float, tile_a, [kBM][kBK]);
  QUAD_SHARED(float, tile_b, [kBK][kBN]);
  int const thread = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) * kBM;
  int const col = static_cast<int>(blockIdx.x) * kBN;
  int const my_row = thread / kBN * kRows;
  int const my_col = thread % kBN;
  // The word of each tile that this thread copies.
  int const i = thread / kBK, q_a = thread % kBK;
  int const q_b = thread / kBN, j = thread % kBN;
  float const* a = p.a + (row + i) * p.lda + q_a;
  float const* b = p.b + q_b * p.ldb + col + j;
  float accumulators[kRows] = {};
  for (int first = 0; first < p.k; first += kBK) {
    tile_a[i][q_a] = row + i < p.m && first + q_a < p.k ? *a : 0.0F;
    tile_b[q_b][j] = first + q_b < p.k && col + j < p.n ? *b : 0.0F;
    a += kBK;
    b += kBK * p.ldb;
    __syncthreads();  // both tiles are complete
#pragma unroll
    for (int q = 0; q < kBK; ++q) {
      float const from_b = tile_b[q][my_col];
#pragma unroll
      for (int r = 0; r < kRows; ++r) accumulators[r] += tile_a[my_row + r][q] * from_b;
    }
    __syncthreads();  // all have read the tiles
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    int const c_row = row + my_row + r;
    int const c_col = col + my_col;
    if (c_row < p.m && c_col < p.n) update(p, c_row, c_col, accumulators[r]);
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
                                                                  .max_extent = kMaxCudaExtent,
                                                                  .max_rows = kMaxTileRows * kBM},
                                                        .source = "after Boehm 2022",
                                                        .summary = "thread tile 8 x 1"},
                                                       QUAD_KERNEL_LAUNCH(launch),
                                                       {.notes = {.tile = {kBM, kBN, kBK}}}};

}  // namespace quadrille::kernels::gemm
