// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product as `vectorized` without some of its stores to shared memory, to show which conflict.
///
///   C = alpha A B + beta C, of tiles that are not there or not whole
///
/// Technique    none: `vectorized`, of whose bank conflicts a counter tells only the sum, less what it
///              copies of A, so that all that is left is stored 16 bytes at a time, by parts of a warp
///              that fill all banks once: without conflicts. Or less all but the first of the four words
///              of B that a thread copies: a quarter of the bytes, which lie in every fourth bank, in
///              4-way conflicts. What was not copied is multiplied all the same
/// Before       vectorized
/// Shapes       row-major; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic of one operand m n k / 128 elements, of both m n k / 64
/// Launch       256 threads, 8 KiB of shared memory; two blocks on a multiprocessor
/// Accuracy     none
#include "gemm/gemm_cuda.cuh"

namespace quadrille::kernels::gemm {
namespace {

inline constexpr int kBM = 128, kBN = 128;  // tile of C
inline constexpr int kBK = 8;
inline constexpr int kRows = 8, kCols = 8;  // of one thread
inline constexpr int kThreads = kBM * kBN / (kRows * kCols);

/// What is copied.
enum class Copied { b, a_and_one_word_of_b };

#ifdef QUAD_KERNELS

template <Copied kCopied>
__global__ void __launch_bounds__(kThreads, 2)
    gemm_vectorized_diagnostics_kernel(Operands<float> p) {
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
  // Never so: the compiler must not know that nothing is stored, or it would read nothing.
  if (p.k < 0) tile_a[q_a][i] = 0;
  float accumulators[kRows][kCols] = {};
  for (int first = 0; first < p.k; first += kBK) {
    bool const is_b_there = first + q_b < p.k && col + j < p.n;
    if constexpr (kCopied == Copied::b) {
      *reinterpret_cast<float4*>(&tile_b[q_b][j]) =
          is_b_there ? *reinterpret_cast<float4 const*>(b) : float4{};
    } else {
      float4 a4{};
      if (row + i < p.m && first + q_a < p.k) a4 = *reinterpret_cast<float4 const*>(a);
      tile_a[q_a][i] = a4.x;
      tile_a[q_a + 1][i] = a4.y;
      tile_a[q_a + 2][i] = a4.z;
      tile_a[q_a + 3][i] = a4.w;
      tile_b[q_b][j] = is_b_there ? *b : 0.0F;
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
#pragma unroll
    for (int c = 0; c < kCols; c += 4) {
      int const c_row = row + my_row + r;
      int const c_col = col + my_col + c;
      if (c_row < p.m && c_col < p.n) update_vector(p, c_row, c_col, accumulators[r] + c);
    }
  }
}

template <Copied kCopied>
void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_vectorized_diagnostics_kernel<kCopied>, grid_of(p, kBM, kBN), dim3(kThreads), 0,
              stream, p);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const vectorized_without_a{
    {.name = "vectorized_without_a",
     .role = Role::demonstration,
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.layouts = {Layout::nn},
               .row_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * kBM},
     .source = "after Boehm 2022",
     .summary = "vectorized, but A is not copied: wrong, to count conflicts"},
    QUAD_KERNEL_LAUNCH(launch<Copied::b>),
    {.notes = {.tile = {kBM, kBN, kBK}}}};

extern constinit Variant<Problem> const vectorized_one_word_of_b{
    {.name = "vectorized_one_word_of_b",
     .role = Role::demonstration,
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.layouts = {Layout::nn},
               .row_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * kBM},
     .source = "after Boehm 2022",
     .summary = "vectorized, but one word in four of B: wrong, to count conflicts"},
    QUAD_KERNEL_LAUNCH(launch<Copied::a_and_one_word_of_b>),
    {.notes = {.tile = {kBM, kBN, kBK}}}};

}  // namespace quadrille::kernels::gemm
