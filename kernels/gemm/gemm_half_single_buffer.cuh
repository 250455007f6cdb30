// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/gemm_half_rows.cuh"

/// The product from one k-tile in shared memory, which is copied through registers: by `wmma` or by
/// `mma`, as the configuration says.
namespace quadrille::kernels::gemm {

#ifdef QUAD_KERNELS

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    gemm_half_single_buffer_kernel(HalfOperands<typename Tile::Type> p) {
  QUAD_DYNAMIC_SHARED(typename Tile::Type, stage);
  BlockCorner const corner = BlockCorner::of<Tile>(p);
  KTiles<Tile> k_tiles{p, corner};
  Warp<Tile> warp;
  for (int first = 0; first < p.k; first += Tile::kConfig.bk) {
    k_tiles.copy(stage);
    __syncthreads();  // the k-tile is complete
#pragma unroll
    for (int step = 0; step < Tile::kSteps; ++step) {
      typename Warp<Tile>::Fragments fragments;
      warp.load(fragments, stage, step);
      warp.multiply(fragments);
    }
    __syncthreads();  // all have read it
  }
  write<Tile>(p, corner, warp, stage);
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm
