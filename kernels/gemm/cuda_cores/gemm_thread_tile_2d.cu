// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with a thread tile of 8 x 8.
///
///   C = alpha A B + beta C
///
/// Technique    a thread computes an 8 x 8 tile of C. In each k-iteration it reads 8 + 8 words of
///              shared memory into registers and does 64 multiply-adds with them: a square thread
///              tile reuses more than a column. There are fewer threads than words of a tile now,
///              so they fill it in several passes
/// Before       thread_tile_1d
/// Shapes       row-major, any extents and leading dimensions; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k / 64 elements (`_64x64`: m n k / 32)
/// Launch       256 threads; 8 KiB (f32) or 16 KiB (f64) of shared memory; two blocks of f32 on a
///              multiprocessor. `_64x64`: 64 threads, half of the shared memory, eight blocks
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/gemm_cuda.cuh"

namespace quadrille::kernels::gemm {
namespace {

inline constexpr int kBK = 8;
inline constexpr int kRows = 8, kCols = 8;  // of one thread

/// The tile of C.
template <int BM, int BN>
struct Shape {
  static constexpr int kBM = BM, kBN = BN;
  static constexpr int kThreads = BM * BN / (kRows * kCols);
  // Rows of the tiles that all threads fill in one pass.
  static constexpr int kRowsA = kThreads / kBK;
  static constexpr int kRowsB = kThreads / BN;
  static constexpr TileExtents kExtents{BM, BN, kBK};
};
using Large = Shape<128, 128>;
using Small = Shape<64, 64>;

#ifdef QUAD_KERNELS
// So many threads share a multiprocessor: in f64 the accumulators of one take half of its registers.
template <class T>
inline constexpr int kResident = sizeof(T) == 4 ? 512 : 256;

template <class T, class Shape>
__global__ void __launch_bounds__(Shape::kThreads, kResident<T> / Shape::kThreads)
    gemm_thread_tile_2d_kernel(Operands<T> p) {
  constexpr int kBM = Shape::kBM, kBN = Shape::kBN;
  constexpr int kRowsA = Shape::kRowsA, kRowsB = Shape::kRowsB;
  QUAD_SHARED(T, tile_a, [kBM][kBK]);
  QUAD_SHARED(T, tile_b, [kBK][kBN]);
  int const thread = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) * kBM;
  int const col = static_cast<int>(blockIdx.x) * kBN;
  int const my_row = thread / (kBN / kCols) * kRows;
  int const my_col = thread % (kBN / kCols) * kCols;
  // The first word of each tile that this thread copies.
  int const i = thread / kBK, q_a = thread % kBK;
  int const q_b = thread / kBN, j = thread % kBN;
  T const* a = p.a + (row + i) * p.lda + q_a;
  T const* b = p.b + q_b * p.ldb + col + j;
  T accumulators[kRows][kCols] = {};
  for (int first = 0; first < p.k; first += kBK) {
#pragma unroll
    for (int r = 0; r < kBM; r += kRowsA) {
      bool const inside = row + i + r < p.m && first + q_a < p.k;
      tile_a[i + r][q_a] = inside ? a[r * p.lda] : T{};
    }
#pragma unroll
    for (int r = 0; r < kBK; r += kRowsB) {
      bool const inside = first + q_b + r < p.k && col + j < p.n;
      tile_b[q_b + r][j] = inside ? b[r * p.ldb] : T{};
    }
    a += kBK;
    b += kBK * p.ldb;
    __syncthreads();  // both tiles are complete
#pragma unroll
    for (int q = 0; q < kBK; ++q) {
      T from_a[kRows], from_b[kCols];
#pragma unroll
      for (int r = 0; r < kRows; ++r) from_a[r] = tile_a[my_row + r][q];
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
    for (int c = 0; c < kCols; ++c) {
      int const c_row = row + my_row + r;
      int const c_col = col + my_col + c;
      if (c_row < p.m && c_col < p.n) update(p, c_row, c_col, accumulators[r][c]);
    }
  }
}

template <class T, class Shape>
void enqueue(Problem const& problem, device::StreamView stream) {
  auto const p = operands<T>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH((gemm_thread_tile_2d_kernel<T, Shape>), grid_of(p, Shape::kBM, Shape::kBN),
              dim3(Shape::kThreads), 0, stream, p);
}

template <class Shape>
void launch(Problem const& problem, device::StreamView stream) {
  problem.c.type == core::DataType::f64 ? enqueue<double, Shape>(problem, stream)
                                        : enqueue<float, Shape>(problem, stream);
}

#endif  // QUAD_KERNELS

constexpr VariantInfo row(std::string_view name, int tile_rows, std::string_view summary,
                          int preference) {
  return {.name = name,
          .where = Where::cuda,
          .types = {core::DataType::f32, core::DataType::f64},
          .needs = {.layouts = {Layout::nn},
                    .max_extent = kMaxCudaExtent,
                    .max_rows = kMaxTileRows * tile_rows},
          .preference = preference,
          .source = "after Boehm 2022",
          .summary = summary};
}

}  // namespace

extern constinit Variant<Problem> const thread_tile_2d{
    row("thread_tile_2d", Large::kBM, "thread tile 8 x 8", 20),
    QUAD_KERNEL_LAUNCH(launch<Large>),
    {.notes = {.tile = Large::kExtents}}};

extern constinit Variant<Problem> const thread_tile_2d_64x64{
    row("thread_tile_2d_64x64", Small::kBM, "the same with a tile of 64 x 64 for a block", 0),
    QUAD_KERNEL_LAUNCH(launch<Small>),
    {.notes = {.tile = Small::kExtents}}};

}  // namespace quadrille::kernels::gemm
