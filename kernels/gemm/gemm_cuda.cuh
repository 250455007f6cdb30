// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/simt.cuh"
#include "gemm/gemm.hpp"
#include "gemm/gemm_operands.cuh"

/// What all CUDA kernels of gemm share on the host: operands of a problem, the grid.
namespace quadrille::kernels::gemm {

/// Extents are counted in 32 bits, with room for a tile beyond.
inline constexpr std::int64_t kMaxCudaExtent = (std::int64_t{1} << 31) - 1 - 1024;
/// Most rows of tiles in a grid of grid_of().
inline constexpr std::int64_t kMaxTileRows = 65535;

#ifdef QUAD_KERNELS

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
/// kMaxTileRows tiles down.
template <class T>
dim3 grid_of(Operands<T> const& p, int tile_rows, int tile_cols) {
  return dim3(static_cast<unsigned>(divide_up(p.n, tile_cols)),
              static_cast<unsigned>(divide_up(p.m, tile_rows)));
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm
