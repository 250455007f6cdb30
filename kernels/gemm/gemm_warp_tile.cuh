// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/gemm_cuda.cuh"

/// The warp-tiled product that several techniques start from: a block computes 128 x 128 elements
/// of C, a warp 32 x 64 of them, a thread four patches of 4 x 4 that are 16 rows and 32 columns
/// apart. The techniques differ in how and when tiles reach shared memory.
namespace quadrille::kernels::gemm::warp_tiles {

inline constexpr int kM = 128, kN = 128;  // of a block
inline constexpr int kDepth = 16;
inline constexpr int kWarpM = 32, kWarpN = 64;
inline constexpr int kSubM = 16, kSubN = 32;  // of all first patches of a warp
inline constexpr int kPatch = 4;
inline constexpr int kRows = kWarpM / kSubM * kPatch, kCols = kWarpN / kSubN * kPatch;
inline constexpr int kThreads = kM / kWarpM * (kN / kWarpN) * 32;

#ifdef QUAD_KERNELS

/// One step of the ring: A transposed, B as it is.
struct Tiles {
  float a[kDepth][kM];
  float b[kDepth][kN];
};

/// Rows and columns of C of one thread, counted from the block's first.
struct Place {
  int row, col;

  __device__ Place() {
    int const warp = static_cast<int>(threadIdx.x) / 32;
    int const lane = static_cast<int>(threadIdx.x) % 32;
    row = warp / (kN / kWarpN) * kWarpM + lane / (kSubN / kPatch) * kPatch;
    col = warp % (kN / kWarpN) * kWarpN + lane % (kSubN / kPatch) * kPatch;
  }
  __device__ int row_of(int i) const { return row + i / kPatch * kSubM + i % kPatch; }
  __device__ int col_of(int j) const { return col + j / kPatch * kSubN + j % kPatch; }
};

/// Words of A and B on their way through registers of `Threads` threads.
template <int Threads = kThreads>
struct Words {
  static constexpr int kLoadsA = kM * kDepth / (4 * Threads);
  static constexpr int kLoadsB = kDepth * kN / (4 * Threads);
  float4 a[kLoadsA], b[kLoadsB];

  /// `thread` of Threads; steps from `first` on. Outside the matrices, words are zero.
  __device__ void load(Operands<float> const& p, int row, int col, int first, int thread) {
#pragma unroll
    for (int h = 0; h < kLoadsA; ++h) {
      int const i = row + row_a(thread, h);
      int const q = first + step_a(thread);
      a[h] = i < p.m && q < p.k ? *reinterpret_cast<float4 const*>(p.a + i * p.lda + q) : float4{};
    }
#pragma unroll
    for (int h = 0; h < kLoadsB; ++h) {
      int const q = first + step_b(thread, h);
      int const j = col + col_b(thread);
      b[h] = q < p.k && j < p.n ? *reinterpret_cast<float4 const*>(p.b + q * p.ldb + j) : float4{};
    }
  }

  __device__ void store(Tiles& tiles, int thread) const {
#pragma unroll
    for (int h = 0; h < kLoadsA; ++h) {
      int const i = row_a(thread, h);
      int const q = step_a(thread);
      tiles.a[q][i] = a[h].x;
      tiles.a[q + 1][i] = a[h].y;
      tiles.a[q + 2][i] = a[h].z;
      tiles.a[q + 3][i] = a[h].w;
    }
#pragma unroll
    for (int h = 0; h < kLoadsB; ++h) {
      *reinterpret_cast<float4*>(&tiles.b[step_b(thread, h)][col_b(thread)]) = b[h];
    }
  }

 private:
  __device__ static int row_a(int thread, int h) { return (thread + h * Threads) / (kDepth / 4); }
  __device__ static int step_a(int thread) { return thread % (kDepth / 4) * 4; }
  __device__ static int step_b(int thread, int h) { return (thread + h * Threads) / (kN / 4); }
  __device__ static int col_b(int thread) { return thread % (kN / 4) * 4; }
};

/// A thread's values for one step.
struct Fragment {
  float a[kRows], b[kCols];

  __device__ void read(Tiles const& tiles, Place const& place, int q) {
#pragma unroll
    for (int i = 0; i < kRows; i += kPatch) {
      *reinterpret_cast<float4*>(a + i) =
          *reinterpret_cast<float4 const*>(&tiles.a[q][place.row_of(i)]);
    }
#pragma unroll
    for (int j = 0; j < kCols; j += kPatch) {
      *reinterpret_cast<float4*>(b + j) =
          *reinterpret_cast<float4 const*>(&tiles.b[q][place.col_of(j)]);
    }
  }
};

__device__ inline void add_products(float (&sum)[kRows][kCols], Fragment const& values) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kCols; ++j) sum[i][j] += values.a[i] * values.b[j];
  }
}

/// All steps of one pair of tiles.
__device__ inline void multiply(Tiles const& tiles, Place const& place,
                                float (&sum)[kRows][kCols]) {
#pragma unroll
  for (int q = 0; q < kDepth; ++q) {
    Fragment values;
    values.read(tiles, place, q);
    add_products(sum, values);
  }
}

__device__ inline void write(Operands<float> const& p, Place const& place, int row, int col,
                             float const (&sum)[kRows][kCols]) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kCols; j += kPatch) {
      int const c_row = row + place.row_of(i);
      int const c_col = col + place.col_of(j);
      if (c_row < p.m && c_col < p.n) update_vector(p, c_row, c_col, sum[i] + j);
    }
  }
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm::warp_tiles
