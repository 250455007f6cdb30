// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/gemm_cuda.cuh"

/// A thread tile of 8 x 16, from which the faster products on CUDA cores are made: a thread reads 24
/// values for 128 multiply-adds. A warp has 64 x 64 elements of C, a block of 8 warps 128 x 256.
namespace quadrille::kernels::gemm::simt_tiles {

inline constexpr int kThreads = 256;
inline constexpr int kWarps = kThreads / 32;
inline constexpr int kWarpTile = 64;  // rows and columns of C of one warp
inline constexpr int kRows = 8;       // of one thread
inline constexpr int kCols = 16;

#ifdef QUAD_KERNELS

/// A thread's place: warps of WarpsN in a row of the tile, in a warp 8 groups of rows by 4 groups of
/// columns, of 4 each, so that four neighbouring lanes share values of A and every fourth lane those
/// of B.
struct Position {
  int row, col;  ///< of the first element, in the tile

  __device__ Position(int warp, int warps_n) {
    int const lane = static_cast<int>(threadIdx.x) % 32;
    row = warp / warps_n * kWarpTile + (lane >> 2) * 4;
    col = warp % warps_n * kWarpTile + (lane & 3) * 4;
  }
  __device__ static int row_of(int i) { return i / 4 * 32 + i % 4; }
  __device__ static int col_of(int j) { return j / 4 * 16 + j % 4; }
};

/// What one thread reads for one k-iteration.
struct Values {
  float a[kRows];
  float b[kCols];

  __device__ void read(float const* from_a, float const* from_b) {
#pragma unroll
    for (int i = 0; i < kRows; i += 4) {
      *reinterpret_cast<float4*>(a + i) = *reinterpret_cast<float4 const*>(from_a + i * 8);
    }
#pragma unroll
    for (int j = 0; j < kCols; j += 4) {
      *reinterpret_cast<float4*>(b + j) = *reinterpret_cast<float4 const*>(from_b + j * 4);
    }
  }
};

/// Row by row there and back: each multiply-add shares a value with the one before.
__device__ inline void add_products(float (&accumulators)[kRows][kCols], Values const& values) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int jj = 0; jj < kCols; ++jj) {
      int const j = i % 2 == 0 ? jj : kCols - 1 - jj;
      accumulators[i][j] += values.a[i] * values.b[j];
    }
  }
}

/// Updates C; `row` and `col` are those of the thread's first element. Vectors: rows of C consist of
/// whole 16 bytes.
template <bool kVectors>
__device__ __forceinline__ void write(Operands<float> const& p, int row, int col,
                                      float const (&accumulators)[kRows][kCols]) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    int const c_row = row + Position::row_of(i);
    if (c_row < p.m) {
#pragma unroll
      for (int j = 0; j < kCols; j += 4) {
        int const c_col = col + Position::col_of(j);
        if constexpr (kVectors) {
          if (c_col < p.n) update_vector(p, c_row, c_col, accumulators[i] + j);
        } else {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            if (c_col + e < p.n) update(p, c_row, c_col + e, accumulators[i][j + e]);
          }
        }
      }
    }
  }
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm::simt_tiles
