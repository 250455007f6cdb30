// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/simt.cuh"
#include "gemm/gemm_operands.cuh"

/// The kernel of gemm_warp_tile_tuned.cu, which says what it does. NVRTC compiles it too, for tiles that
/// are asked for at run time.
namespace quadrille::kernels::gemm {

/// The tiles of one configuration.
struct WarpTiling {
  int bm, bn, bk;  ///< of a block
  int wm, wn;      ///< of a warp
  int parts_n;     ///< of a warp's tile along n, whose thread tiles are neighbours
  int rows, cols;  ///< of a thread in each part
  int buffers;     ///< pairs of tiles in shared memory, 1 or 2

  constexpr int threads() const { return bm / wm * (bn / wn) * 32; }
  constexpr int parts_m() const { return wm * wn / (32 * rows * cols * parts_n); }
  constexpr int shared_bytes() const { return buffers * (bm + bn) * bk * 4; }
  constexpr int accumulators() const { return wm * wn / 32; }
  /// Rows of the tiles that all threads fill in one pass.
  constexpr int rows_a() const { return 4 * threads() / bk; }
  constexpr int rows_b() const { return 4 * threads() / bn; }

  constexpr bool is_allowed() const {
    constexpr int kMax = 1024;  // so that products fit an int
    for (int const extent : {bm, bn, bk, wm, wn, parts_n, rows, cols}) {
      if (extent <= 0 || extent > kMax) return false;
    }
    bool const is_whole = bm % wm == 0 && bn % wn == 0 && rows % 4 == 0 && cols % 4 == 0 &&
                          bk % 4 == 0 && (buffers == 1 || buffers == 2) &&
                          wm * wn % (32 * rows * cols * parts_n) == 0;
    if (!is_whole || threads() > 1024) return false;
    // The lanes of a warp fill each part with whole thread tiles.
    bool const is_filled = wm % parts_m() == 0 && wn % parts_n == 0 && wm / parts_m() % rows == 0 &&
                           wn / parts_n % cols == 0;
    if (!is_filled) return false;
    // In each pass all threads copy whole vectors of whole rows.
    bool const is_copied = 4 * threads() % bk == 0 && 4 * threads() % bn == 0 &&
                           bm % rows_a() == 0 && bk % rows_b() == 0;
    return is_copied && shared_bytes() <= 48 * 1024;
  }
};

#ifdef QUAD_KERNELS

template <int... Values>
struct WarpTilingConstants {
  static constexpr WarpTiling kTiling{Values...};
  static_assert(kTiling.is_allowed());
  static constexpr int kPartsM = kTiling.parts_m();
  static constexpr int kPartM = kTiling.wm / kPartsM, kPartN = kTiling.wn / kTiling.parts_n;
  static constexpr int kRowsA = kTiling.rows_a(), kRowsB = kTiling.rows_b();
};

template <int BM, int BN, int BK, int WM, int WN, int PartsN, int Rows, int Cols, int Buffers>
__global__ void __launch_bounds__(
    (WarpTiling{BM, BN, BK, WM, WN, PartsN, Rows, Cols, Buffers}.threads()))
    gemm_warp_tile_tuned_kernel(Operands<float> p) {
  using C = WarpTilingConstants<BM, BN, BK, WM, WN, PartsN, Rows, Cols, Buffers>;
  constexpr int kPartsM = C::kPartsM, kPartM = C::kPartM, kPartN = C::kPartN;
  QUAD_SHARED(float, tiles_a, [Buffers][BK][BM]);  // transposed
  QUAD_SHARED(float, tiles_b, [Buffers][BK][BN]);
  int const thread = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) * BM;
  int const col = static_cast<int>(blockIdx.x) * BN;
  int const warp = thread / 32, lane = thread % 32;
  // In the first part of the warp's tile.
  int const my_row = warp / (BN / WN) * WM + lane / (kPartN / Cols) * Rows;
  int const my_col = warp % (BN / WN) * WN + lane % (kPartN / Cols) * Cols;
  // The first of four words of each tile that this thread copies in the first pass.
  int const i = thread / (BK / 4), q_a = thread % (BK / 4) * 4;
  int const q_b = thread / (BN / 4), j = thread % (BN / 4) * 4;
  float const* a = p.a + (row + i) * p.lda + q_a;
  float const* b = p.b + q_b * p.ldb + col + j;
  float accumulators[kPartsM * Rows][PartsN * Cols] = {};
  for (int first = 0, buffer = 0; first < p.k; first += BK, buffer = (buffer + 1) % Buffers) {
    float(&tile_a)[BK][BM] = tiles_a[buffer];
    float(&tile_b)[BK][BN] = tiles_b[buffer];
#pragma unroll
    for (int r = 0; r < BM; r += C::kRowsA) {
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
    for (int r = 0; r < BK; r += C::kRowsB) {
      float4 b4{};
      if (first + q_b + r < p.k && col + j < p.n) {
        b4 = *reinterpret_cast<float4 const*>(b + r * p.ldb);
      }
      *reinterpret_cast<float4*>(&tile_b[q_b + r][j]) = b4;
    }
    a += BK;
    b += BK * p.ldb;
    __syncthreads();  // both tiles are complete; of two pairs, all have read the other one
#pragma unroll
    for (int q = 0; q < BK; ++q) {
      float from_a[kPartsM * Rows], from_b[PartsN * Cols];
#pragma unroll
      for (int r = 0; r < kPartsM * Rows; r += 4) {
        *reinterpret_cast<float4*>(from_a + r) =
            *reinterpret_cast<float4 const*>(&tile_a[q][my_row + r / Rows * kPartM + r % Rows]);
      }
#pragma unroll
      for (int c = 0; c < PartsN * Cols; c += 4) {
        *reinterpret_cast<float4*>(from_b + c) =
            *reinterpret_cast<float4 const*>(&tile_b[q][my_col + c / Cols * kPartN + c % Cols]);
      }
#pragma unroll
      for (int r = 0; r < kPartsM * Rows; ++r) {
#pragma unroll
        for (int c = 0; c < PartsN * Cols; ++c) accumulators[r][c] += from_a[r] * from_b[c];
      }
    }
    if constexpr (Buffers == 1) __syncthreads();  // all have read the tiles
  }
#pragma unroll
  for (int r = 0; r < kPartsM * Rows; ++r) {
#pragma unroll
    for (int c = 0; c < PartsN * Cols; c += 4) {
      int const c_row = row + my_row + r / Rows * kPartM + r % Rows;
      int const c_col = col + my_col + c / Cols * kPartN + c % Cols;
      if (c_row < p.m && c_col < p.n) update_vector(p, c_row, c_col, accumulators[r] + c);
    }
  }
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm
