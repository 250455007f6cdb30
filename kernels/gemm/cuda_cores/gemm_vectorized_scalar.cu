// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product as `vectorized`, with four scalar copies in place of each float4.
///
///   C = alpha A B + beta C
///
/// Technique    none: `vectorized` without it, the control experiment. The same thread copies the
///              same four words, one by one. The compiler does not merge them, because it does not
///              know that the address is a multiple of 16
/// Before       vectorized
/// Shapes       row-major, any extents and leading dimensions; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k / 64 elements
/// Launch       256 threads, 8 KiB of shared memory; two blocks on a multiprocessor
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/gemm_cuda.cuh"

namespace quadrille::kernels::gemm {
namespace {

inline constexpr int kBM = 128, kBN = 128;  // tile of C
inline constexpr int kBK = 8;
inline constexpr int kRows = 8, kCols = 8;  // of one thread
inline constexpr int kThreads = kBM * kBN / (kRows * kCols);

#ifdef QUAD_KERNELS

__global__ void __launch_bounds__(kThreads, 2) gemm_vectorized_scalar_kernel(Operands<float> p) {
  QUAD_SHARED(float, tile_a, [kBK][kBM]);  // transposed
  QUAD_SHARED(float, tile_b, [kBK][kBN]);
  int const thread = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) * kBM;
  int const col = static_cast<int>(blockIdx.x) * kBN;
  int const my_row = thread / (kBN / kCols) * kRows;
  int const my_col = thread % (kBN / kCols) * kCols;
  // The first of four words of each tile that this thread copies.
  int const i = thread / (kBK / 4), q_a = thread % (kBK / 4) * 4;
  int const q_b = thread / (kBN / 4), j = thread % (kBN / 4) * 4;
  float const* a = p.a + (row + i) * p.lda + q_a;
  float const* b = p.b + q_b * p.ldb + col + j;
  float accumulators[kRows][kCols] = {};
  for (int first = 0; first < p.k; first += kBK) {
    // changed: the same four words one at a time
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      tile_a[q_a + e][i] = row + i < p.m && first + q_a + e < p.k ? a[e] : 0.0F;
      tile_b[q_b][j + e] = first + q_b < p.k && col + j + e < p.n ? b[e] : 0.0F;
    }
    a += kBK;
    b += kBK * p.ldb;
    __syncthreads();  // both tiles are complete
#pragma unroll
    for (int q = 0; q < kBK; ++q) {
      float from_a[kRows], from_b[kCols];
#pragma unroll
      for (int r = 0; r < kRows; ++r) from_a[r] = tile_a[q][my_row + r];
#pragma unroll
      for (int c = 0; c < kCols; ++c) from_b[c] = tile_b[q][my_col + c];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int c = 0; c < kCols; ++c) accumulators[r][c] += from_a[r] * from_b[c];
      }
    }
    __syncthreads();  // all have read the tiles
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    // changed: C, too
#pragma unroll
    for (int c = 0; c < kCols; ++c) {
      int const c_row = row + my_row + r;
      int const c_col = col + my_col + c;
      if (c_row < p.m && c_col < p.n) update(p, c_row, c_col, accumulators[r][c]);
    }
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_vectorized_scalar_kernel, grid_of(p, kBM, kBN), dim3(kThreads), 0, stream, p);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const vectorized_scalar{
    {.name = "vectorized_scalar",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.layouts = {Layout::nn},
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * kBM},
     .source = "after Boehm 2022",
     .summary = "four scalar copies for each 16-byte access"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.tile = {kBM, kBN, kBK}}}};

}  // namespace quadrille::kernels::gemm
