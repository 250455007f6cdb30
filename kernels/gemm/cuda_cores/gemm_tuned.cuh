// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/simt.cuh"
#include "gemm/gemm_operands.cuh"

/// The kernel of gemm_tuned.cu, which says what it does. NVRTC compiles it too, for tiles that are
/// asked for at run time.
namespace quadrille::kernels::gemm {

/// The tiles of one configuration.
struct TunedTile {
  int bm, bn, bk;  ///< of a block
  int rows, cols;  ///< of a thread

  constexpr int threads() const { return bm * bn / (rows * cols); }
  constexpr int shared_bytes() const { return (bm + bn) * bk * 4; }
  /// Rows of the tiles that all threads fill in one pass.
  constexpr int rows_a() const { return 4 * threads() / bk; }
  constexpr int rows_b() const { return 4 * threads() / bn; }

  constexpr bool is_allowed() const {
    constexpr int kMax = 1024;  // so that products fit an int
    bool const is_whole = bm > 0 && bm <= kMax && bn > 0 && bn <= kMax && bk > 0 && bk <= kMax &&
                          rows > 0 && cols > 0 && bm % rows == 0 && bn % cols == 0 &&
                          rows % 4 == 0 && cols % 4 == 0 && bk % 4 == 0;
    if (!is_whole || threads() % 32 != 0 || threads() > 1024) return false;
    // In each pass all threads copy whole vectors of whole rows.
    bool const is_copied = 4 * threads() % bk == 0 && 4 * threads() % bn == 0 &&
                           bm % rows_a() == 0 && bk % rows_b() == 0;
    return is_copied && shared_bytes() <= 48 * 1024;
  }
};

#ifdef QUAD_KERNELS

template <int BM, int BN, int BK, int Rows, int Cols>
struct TunedConstants {
  static constexpr TunedTile kTile{BM, BN, BK, Rows, Cols};
  static_assert(kTile.is_allowed());
  static constexpr int kBM = BM, kBN = BN, kBK = BK;
  static constexpr int kRows = Rows, kCols = Cols;
  static constexpr int kRowsA = kTile.rows_a(), kRowsB = kTile.rows_b();
};

template <int BM, int BN, int BK, int Rows, int Cols>
__global__ void __launch_bounds__((TunedTile{BM, BN, BK, Rows, Cols}.threads()))
    gemm_tuned_kernel(Operands<float> p) {
  using C = TunedConstants<BM, BN, BK, Rows, Cols>;
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

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm
