// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/gemm_cuda.cuh"

/// The warp-tiled product that several techniques start from: a block computes 128 x 128 elements
/// of C, a warp 32 x 64 of them, a thread four thread tiles of 4 x 4 that are 16 rows and 32
/// columns apart. The techniques differ in how and when tiles reach shared memory.
namespace quadrille::kernels::gemm::warp_tiles {

inline constexpr int kBM = 128, kBN = 128;  // of a block
inline constexpr int kBK = 16;
inline constexpr int kWarpM = 32, kWarpN = 64;
inline constexpr int kSubM = 16, kSubN = 32;  // of all first thread tiles of a warp
inline constexpr int kThreadTile = 4;
inline constexpr int kRows = kWarpM / kSubM * kThreadTile, kCols = kWarpN / kSubN * kThreadTile;
inline constexpr int kThreads = kBM / kWarpM * (kBN / kWarpN) * 32;

inline constexpr TileExtents kTile{kBM, kBN, kBK};

#ifdef QUAD_KERNELS

/// A pair of tiles: A transposed, B as it is.
template <int BN>
struct TilesOf {
  float a[kBK][kBM];
  float b[kBK][BN];
};
using Tiles = TilesOf<kBN>;

/// Rows and columns of C of one thread, relative to the block's first.
struct Position {
  int row, col;

  __device__ Position() {
    int const warp = static_cast<int>(threadIdx.x) / 32;
    int const lane = static_cast<int>(threadIdx.x) % 32;
    row = warp / (kBN / kWarpN) * kWarpM + lane / (kSubN / kThreadTile) * kThreadTile;
    col = warp % (kBN / kWarpN) * kWarpN + lane % (kSubN / kThreadTile) * kThreadTile;
  }
  __device__ int row_of(int i) const { return row + i / kThreadTile * kSubM + i % kThreadTile; }
  __device__ int col_of(int j) const { return col + j / kThreadTile * kSubN + j % kThreadTile; }
};

/// Words of A and B on their way through registers of `Threads` threads.
template <int Threads = kThreads, int BN = kBN>
struct Words {
  static constexpr int kLoadsA = kBM * kBK / (4 * Threads);
  static constexpr int kLoadsB = kBK * BN / (4 * Threads);
  float4 a[kLoadsA], b[kLoadsB];

  /// `thread` of Threads; k starts at `first`. Outside the matrices, words are zero.
  __device__ void load(Operands<float> const& p, int row, int col, int first, int thread) {
#pragma unroll
    for (int h = 0; h < kLoadsA; ++h) {
      int const i = row + row_a(thread, h);
      int const q = first + q_a(thread);
      a[h] = i < p.m && q < p.k ? *reinterpret_cast<float4 const*>(p.a + i * p.lda + q) : float4{};
    }
#pragma unroll
    for (int h = 0; h < kLoadsB; ++h) {
      int const q = first + q_b(thread, h);
      int const j = col + col_b(thread);
      b[h] = q < p.k && j < p.n ? *reinterpret_cast<float4 const*>(p.b + q * p.ldb + j) : float4{};
    }
  }

  __device__ void store(TilesOf<BN>& tiles, int thread) const {
#pragma unroll
    for (int h = 0; h < kLoadsA; ++h) {
      int const i = row_a(thread, h);
      int const q = q_a(thread);
      tiles.a[q][i] = a[h].x;
      tiles.a[q + 1][i] = a[h].y;
      tiles.a[q + 2][i] = a[h].z;
      tiles.a[q + 3][i] = a[h].w;
    }
#pragma unroll
    for (int h = 0; h < kLoadsB; ++h) {
      *reinterpret_cast<float4*>(&tiles.b[q_b(thread, h)][col_b(thread)]) = b[h];
    }
  }

 private:
  __device__ static int row_a(int thread, int h) { return (thread + h * Threads) / (kBK / 4); }
  __device__ static int q_a(int thread) { return thread % (kBK / 4) * 4; }
  __device__ static int q_b(int thread, int h) { return (thread + h * Threads) / (BN / 4); }
  __device__ static int col_b(int thread) { return thread % (BN / 4) * 4; }
};

/// A thread's values of A and B for one k-iteration.
struct Fragment {
  float a[kRows], b[kCols];

  __device__ void read(Tiles const& tiles, Position const& position, int q) {
#pragma unroll
    for (int i = 0; i < kRows; i += kThreadTile) {
      *reinterpret_cast<float4*>(a + i) =
          *reinterpret_cast<float4 const*>(&tiles.a[q][position.row_of(i)]);
    }
#pragma unroll
    for (int j = 0; j < kCols; j += kThreadTile) {
      *reinterpret_cast<float4*>(b + j) =
          *reinterpret_cast<float4 const*>(&tiles.b[q][position.col_of(j)]);
    }
  }
};

__device__ inline void add_products(float (&accumulators)[kRows][kCols], Fragment const& values) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kCols; ++j) accumulators[i][j] += values.a[i] * values.b[j];
  }
}

/// All k-iterations of one pair of tiles.
__device__ inline void multiply(Tiles const& tiles, Position const& position,
                                float (&accumulators)[kRows][kCols]) {
#pragma unroll
  for (int q = 0; q < kBK; ++q) {
    Fragment values;
    values.read(tiles, position, q);
    add_products(accumulators, values);
  }
}

__device__ inline void write(Operands<float> const& p, Position const& position, int row, int col,
                             float const (&accumulators)[kRows][kCols]) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kCols; j += kThreadTile) {
      int const c_row = row + position.row_of(i);
      int const c_col = col + position.col_of(j);
      if (c_row < p.m && c_col < p.n) update_vector(p, c_row, c_col, accumulators[i] + j);
    }
  }
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm::warp_tiles
