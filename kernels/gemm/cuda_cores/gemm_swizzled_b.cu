// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product as `vectorized`, with B reordered in shared memory.
///
///   C = alpha A B + beta C
///
/// Technique    another order of B in shared memory. In `vectorized`, threads of a warp read B 8
///              words apart, so that every fourth thread accesses the same banks. Here each row of
///              the tile of B is stored as 8 x 16: the j-th values of the 16 threads side by side.
///              Reads are free of conflicts; stores are scalar and conflict two ways. Fewer
///              conflicts, more instructions
/// Before       vectorized
/// Shapes       row-major; outside the matrices, tiles are zero
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

__global__ void __launch_bounds__(kThreads, 2) gemm_swizzled_b_kernel(Operands<float> p) {
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
    float4 a4{}, b4{};
    if (row + i < p.m && first + q_a < p.k) a4 = *reinterpret_cast<float4 const*>(a);
    if (first + q_b < p.k && col + j < p.n) b4 = *reinterpret_cast<float4 const*>(b);
    tile_a[q_a][i] = a4.x;
    tile_a[q_a + 1][i] = a4.y;
    tile_a[q_a + 2][i] = a4.z;
    tile_a[q_a + 3][i] = a4.w;
    // changed: what a thread reads lies apart, what threads read at once side by side
    // Column c belongs to thread c / 8 of a row, as its value c % 8.
    float* const to = &tile_b[q_b][j % kCols * (kBN / kCols) + j / kCols];
    to[0 * (kBN / kCols)] = b4.x;
    to[1 * (kBN / kCols)] = b4.y;
    to[2 * (kBN / kCols)] = b4.z;
    to[3 * (kBN / kCols)] = b4.w;
    a += kBK;
    b += kBK * p.ldb;
    __syncthreads();  // both tiles are complete
#pragma unroll
    for (int q = 0; q < kBK; ++q) {
      float from_a[kRows], from_b[kCols];
#pragma unroll
      for (int r = 0; r < kRows; ++r) from_a[r] = tile_a[q][my_row + r];
#pragma unroll
      // changed: read as it was stored
      for (int c = 0; c < kCols; ++c) from_b[c] = tile_b[q][c * (kBN / kCols) + my_col / kCols];
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
#pragma unroll
    for (int c = 0; c < kCols; c += 4) {
      int const c_row = row + my_row + r;
      int const c_col = col + my_col + c;
      if (c_row < p.m && c_col < p.n) update_vector(p, c_row, c_col, accumulators[r] + c);
    }
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_swizzled_b_kernel, grid_of(p, kBM, kBN), dim3(kThreads), 0, stream, p);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const swizzled_b{
    {.name = "swizzled_b",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.layouts = {Layout::nn},
               .row_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * kBM},
     .source = "after Boehm 2022",
     .summary = "B reordered against bank conflicts"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.tile = {kBM, kBN, kBK}}}};

}  // namespace quadrille::kernels::gemm
