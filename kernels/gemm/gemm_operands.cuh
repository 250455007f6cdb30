// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/simt.cuh"

#include <cstdint>

/// What all CUDA kernels of gemm share on the device: operands and the update of C.
namespace quadrille::kernels::gemm {

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

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm
