// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/simt.cuh"
#include "gemm/gemm.hpp"

#include <limits>
#include <string>

/// What every CUDA kernel of gemm needs and none is about: operands, checks, the update of C.
namespace quadrille::kernels::gemm {

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

/// C(row, col) = alpha sum + beta C(row, col). With beta == 0, C may hold anything and is not read.
template <class T>
__device__ void update(Operands<T> const& p, int row, int col, T sum) {
  T& c = p.c[row * p.ldc + col];
  c = p.beta == T{} ? p.alpha * sum : p.alpha * sum + p.beta * c;
}

/// The same for four consecutive elements at a 16-byte boundary.
__device__ inline void update_vector(Operands<float> const& p, int row, int col, float const* sum) {
  auto* const c = reinterpret_cast<float4*>(p.c + row * p.ldc + col);
  float4 value{p.alpha * sum[0], p.alpha * sum[1], p.alpha * sum[2], p.alpha * sum[3]};
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

/// Checks what all these kernels ask for: T, 32-bit extents, and operands that are not transposed.
template <class T>
Operands<T> operands(Problem const& problem, char const* variant) {
  std::string const name = std::string{"gemm/"} + variant;
  require_consistent(problem);
  QUAD_REQUIRE(problem.c.type == core::type_of<T>(),
               name + ": takes " + std::string{core::to_text(core::type_of<T>())} +
                   " only; use variant 'vendor'");
  QUAD_REQUIRE(!problem.transpose_a && !problem.transpose_b,
               name + ": A and B must not be transposed; use variant 'vendor'");
  for (std::int64_t const extent : {problem.m(), problem.n(), problem.k()}) {
    QUAD_REQUIRE(extent <= std::numeric_limits<int>::max() - 1024,
                 name + ": extents must be below 2^31 - 1024; cut the product into blocks");
  }
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

/// Checks further that rows can be read and written four elements at a time.
inline void require_vectors(Operands<float> const& p, char const* variant, char const* way_out) {
  std::string const name = std::string{"gemm/"} + variant;
  QUAD_REQUIRE(p.n % 4 == 0 && p.k % 4 == 0 && p.lda % 4 == 0 && p.ldb % 4 == 0 && p.ldc % 4 == 0,
               name + ": n, k and the leading dimensions must be multiples of 4; use variant '" +
                   way_out + "'");
  for (void const* data : {static_cast<void const*>(p.a), static_cast<void const*>(p.b),
                           static_cast<void const*>(p.c)}) {
    QUAD_REQUIRE(reinterpret_cast<std::uintptr_t>(data) % 16 == 0,
                 name + ": A, B and C must be aligned to 16 bytes; use variant '" + way_out + "'");
  }
}

/// One block for each tile of C, x along its rows: neighbouring blocks share rows of A.
template <class T>
dim3 grid_of(Operands<T> const& p, int tile_rows, int tile_cols, char const* variant) {
  constexpr int kMaxGridY = 65535;
  int const rows = divide_up(p.m, tile_rows);
  QUAD_REQUIRE(rows <= kMaxGridY, std::string{"gemm/"} + variant + ": more than 65535 rows of " +
                                      "tiles; use variant 'simt_async'");
  return dim3(static_cast<unsigned>(divide_up(p.n, tile_cols)), static_cast<unsigned>(rows));
}

}  // namespace quadrille::kernels::gemm
