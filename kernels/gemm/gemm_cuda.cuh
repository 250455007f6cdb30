// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/simt.cuh"
#include "gemm/gemm.hpp"

/// What all CUDA kernels of gemm share: operands, the update of C, the grid.
namespace quadrille::kernels::gemm {

/// Extents are counted in 32 bits, with room for a tile beyond.
inline constexpr std::int64_t kMostCudaExtent = (std::int64_t{1} << 31) - 1 - 1024;
/// Most rows of tiles in a grid of grid_of().
inline constexpr std::int64_t kMostTileRows = 65535;

#ifdef QUAD_KERNELS

/// One product as kernels see it: element (i, j) of A is a[i * lda + j], and so on. Extents fit
/// 32 bits, offsets need not.
template <class T>
struct Operands {
  T const* a;
  T const* b;
  T* c;
  std::int64_t lda, ldb, ldc;
  int m, n, k;
  T alpha, beta;
};

/// C(row, col) = alpha accumulator + beta C(row, col). With beta == 0, C may contain anything and
/// is not read.
template <class T>
__device__ void update(Operands<T> const& p, int row, int col, T accumulator) {
  T& c = p.c[row * p.ldc + col];
  c = p.beta == T{} ? p.alpha * accumulator : p.alpha * accumulator + p.beta * c;
}

/// The same for four consecutive elements at a 16-byte boundary.
__device__ inline void update_vector(Operands<float> const& p, int row, int col,
                                     float const* accumulators) {
  auto* const c = reinterpret_cast<float4*>(p.c + row * p.ldc + col);
  float4 value{p.alpha * accumulators[0], p.alpha * accumulators[1], p.alpha * accumulators[2],
               p.alpha * accumulators[3]};
  if (p.beta != 0) {
    float4 const old = *c;
    value.x += p.beta * old.x;
    value.y += p.beta * old.y;
    value.z += p.beta * old.z;
    value.w += p.beta * old.w;
  }
  *c = value;
}

__host__ __device__ constexpr int divide_up(int n, int by) { return n / by + (n % by != 0); }

/// The operands of a problem that the variant takes.
template <class T>
Operands<T> operands(Problem const& problem) {
  auto const narrow = [](std::int64_t extent) { return static_cast<int>(extent); };
  return {static_cast<T const*>(problem.a.data),
          static_cast<T const*>(problem.b.data),
          static_cast<T*>(problem.c.data),
          problem.a.ld,
          problem.b.ld,
          problem.c.ld,
          narrow(problem.m()),
          narrow(problem.n()),
          narrow(problem.k()),
          static_cast<T>(problem.alpha),
          static_cast<T>(problem.beta)};
}

/// One block for each tile of C, x along its rows: neighbouring blocks share rows of A. At most
/// kMostTileRows tiles down.
template <class T>
dim3 grid_of(Operands<T> const& p, int tile_rows, int tile_cols) {
  return dim3(static_cast<unsigned>(divide_up(p.n, tile_cols)),
              static_cast<unsigned>(divide_up(p.m, tile_rows)));
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm
