// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product as `vectorized`, for other tiles.
///
///   C = alpha A B + beta C
///
/// Technique    `vectorized`, but with other tiles, which threads may fill in several passes. Which
///              tile is best depends on registers, shared memory and the number of tiles that a
///              matrix cuts into, and is found by trying. The name of a variant has BM, BN and BK
///              of the block's tile, then rows and columns of the thread tile. In all legal tiles
///              every thread copies whole vectors; these are the dozen worth showing, others are
///              one line
/// Shapes       row-major; outside the matrices, tiles are zero
/// Types        f32, accumulators f32
/// Work         2 m n k flop; traffic m n k (1 / BM + 1 / BN) elements
/// Constraints  k, n and leading dimensions multiples of 4; A, B and C aligned to 16 bytes; A and B
///              not transposed; extents below 2^31 - 1024
/// Launch       a thread for each thread tile, with as many registers as it needs; one tile of A
///              and one of B in shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
/// Source       own, after S. Boehm, How to Optimize a CUDA Matmul Kernel for cuBLAS-like
///              Performance
#include "gemm/gemm_cuda.cuh"

namespace quadrille::kernels::gemm {
namespace {

template <int BM, int BN, int BK, int Rows, int Cols>
struct Config {
  static constexpr int kBM = BM, kBN = BN, kBK = BK;  // of a block
  static constexpr int kRows = Rows, kCols = Cols;    // of a thread
  static constexpr int kThreads = BM * BN / (Rows * Cols);
  static_assert(Rows % 4 == 0 && Cols % 4 == 0 && BK % 4 == 0);
  // Rows of the tiles that all threads fill in one pass.
  static constexpr int kRowsA = 4 * kThreads / BK;
  static constexpr int kRowsB = 4 * kThreads / BN;
  static_assert(4 * kThreads % BK == 0 && 4 * kThreads % BN == 0);
  static_assert(BM % kRowsA == 0 && BK % kRowsB == 0, "each thread copies whole vectors");
  static_assert(kThreads % 32 == 0 && kThreads <= 1024);
  static_assert((BM + BN) * BK * 4 <= 48 * 1024, "static shared memory");
};

#ifdef QUAD_KERNELS

template <class C>
__global__ void __launch_bounds__(C::kThreads) gemm_tuned_kernel(Operands<float> p) {
  QUAD_SHARED(float, tile_a, [C::kBK][C::kBM]);  // transposed
  QUAD_SHARED(float, tile_b, [C::kBK][C::kBN]);
  int const thread = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) * C::kBM;
  int const col = static_cast<int>(blockIdx.x) * C::kBN;
  int const my_row = thread / (C::kBN / C::kCols) * C::kRows;
  int const my_col = thread % (C::kBN / C::kCols) * C::kCols;
  // The first of four words of each tile that this thread copies in the first pass.
  int const i = thread / (C::kBK / 4), q_a = thread % (C::kBK / 4) * 4;
  int const q_b = thread / (C::kBN / 4), j = thread % (C::kBN / 4) * 4;
  float const* a = p.a + (row + i) * p.lda + q_a;
  float const* b = p.b + q_b * p.ldb + col + j;
  float accumulators[C::kRows][C::kCols] = {};
  for (int first = 0; first < p.k; first += C::kBK) {
#pragma unroll
    for (int r = 0; r < C::kBM; r += C::kRowsA) {
      float4 a4{};
      if (row + i + r < p.m && first + q_a < p.k) {
        a4 = *reinterpret_cast<float4 const*>(a + r * p.lda);
      }
      tile_a[q_a][i + r] = a4.x;
      tile_a[q_a + 1][i + r] = a4.y;
      tile_a[q_a + 2][i + r] = a4.z;
      tile_a[q_a + 3][i + r] = a4.w;
    }
#pragma unroll
    for (int r = 0; r < C::kBK; r += C::kRowsB) {
      float4 b4{};
      if (first + q_b + r < p.k && col + j < p.n) {
        b4 = *reinterpret_cast<float4 const*>(b + r * p.ldb);
      }
      *reinterpret_cast<float4*>(&tile_b[q_b + r][j]) = b4;
    }
    a += C::kBK;
    b += C::kBK * p.ldb;
    __syncthreads();  // both tiles are complete
#pragma unroll
    for (int q = 0; q < C::kBK; ++q) {
      float from_a[C::kRows], from_b[C::kCols];
#pragma unroll
      for (int r = 0; r < C::kRows; ++r) from_a[r] = tile_a[q][my_row + r];
#pragma unroll
      for (int c = 0; c < C::kCols; ++c) from_b[c] = tile_b[q][my_col + c];
#pragma unroll
      for (int r = 0; r < C::kRows; ++r) {
#pragma unroll
        for (int c = 0; c < C::kCols; ++c) accumulators[r][c] += from_a[r] * from_b[c];
      }
    }
    __syncthreads();  // all have read the tiles
  }
#pragma unroll
  for (int r = 0; r < C::kRows; ++r) {
#pragma unroll
    for (int c = 0; c < C::kCols; c += 4) {
      int const c_row = row + my_row + r;
      int const c_col = col + my_col + c;
      if (c_row < p.m && c_col < p.n) update_vector(p, c_row, c_col, accumulators[r] + c);
    }
  }
}

template <class C>
void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_tuned_kernel<C>, grid_of(p, C::kBM, C::kBN), dim3(C::kThreads), 0, stream, p);
}

#endif  // QUAD_KERNELS

/// The row of one tile.
template <class C>
constexpr Variant<Problem> row(std::string_view name, std::string_view summary) {
  return {{.name = name,
           .where = Where::cuda,
           .types = {core::DataType::f32},
           .needs = {.layouts = {Layout::nn},
                     .row_bytes = 16,
                     .alignment = 16,
                     .most_extent = kMostCudaExtent,
                     .most_rows = kMostTileRows * C::kBM},
           .source = "after Boehm 2022",
           .summary = summary},
          QUAD_KERNEL_LAUNCH(launch<C>)};
}

}  // namespace

extern constinit Variant<Problem> const tuned_32x64x16_4x4 =
    row<Config<32, 64, 16, 4, 4>>("tuned_32x64x16_4x4", "tile 32 x 64 x 16, thread tile 4 x 4");
extern constinit Variant<Problem> const tuned_64x64x8_8x8 =
    row<Config<64, 64, 8, 8, 8>>("tuned_64x64x8_8x8", "tile 64 x 64 x 8, thread tile 8 x 8");
extern constinit Variant<Problem> const tuned_64x64x16_4x4 =
    row<Config<64, 64, 16, 4, 4>>("tuned_64x64x16_4x4", "tile 64 x 64 x 16, thread tile 4 x 4");
extern constinit Variant<Problem> const tuned_64x64x16_8x4 =
    row<Config<64, 64, 16, 8, 4>>("tuned_64x64x16_8x4", "tile 64 x 64 x 16, thread tile 8 x 4");
extern constinit Variant<Problem> const tuned_64x128x16_8x8 =
    row<Config<64, 128, 16, 8, 8>>("tuned_64x128x16_8x8", "tile 64 x 128 x 16, thread tile 8 x 8");
extern constinit Variant<Problem> const tuned_128x64x16_8x8 =
    row<Config<128, 64, 16, 8, 8>>("tuned_128x64x16_8x8", "tile 128 x 64 x 16, thread tile 8 x 8");
extern constinit Variant<Problem> const tuned_128x128x8_16x8 = row<Config<128, 128, 8, 16, 8>>(
    "tuned_128x128x8_16x8", "tile 128 x 128 x 8, thread tile 16 x 8");
extern constinit Variant<Problem> const tuned_128x128x16_8x8 = row<Config<128, 128, 16, 8, 8>>(
    "tuned_128x128x16_8x8", "tile 128 x 128 x 16, thread tile 8 x 8");
extern constinit Variant<Problem> const tuned_128x128x32_8x8 = row<Config<128, 128, 32, 8, 8>>(
    "tuned_128x128x32_8x8", "tile 128 x 128 x 32, thread tile 8 x 8");
extern constinit Variant<Problem> const tuned_128x256x16_8x8 = row<Config<128, 256, 16, 8, 8>>(
    "tuned_128x256x16_8x8", "tile 128 x 256 x 16, thread tile 8 x 8");
extern constinit Variant<Problem> const tuned_128x256x16_8x16 = row<Config<128, 256, 16, 8, 16>>(
    "tuned_128x256x16_8x16", "tile 128 x 256 x 16, thread tile 8 x 16");
extern constinit Variant<Problem> const tuned_256x128x16_16x8 = row<Config<256, 128, 16, 16, 8>>(
    "tuned_256x128x16_16x8", "tile 256 x 128 x 16, thread tile 16 x 8");

}  // namespace quadrille::kernels::gemm
