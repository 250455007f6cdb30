// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/gemm_half_rows.cuh"

/// The product from two k-tiles in shared memory: the next is copied while one is multiplied.
namespace quadrille::kernels::gemm {

#ifdef QUAD_KERNELS

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    gemm_half_double_buffer_kernel(HalfOperands<typename Tile::Type> p) {
  QUAD_DYNAMIC_SHARED(typename Tile::Type, shared);
  BlockCorner const corner = BlockCorner::of<Tile>(p);
  KTiles<Tile> k_tiles{p, corner};
  Warp<Tile> warp;
  auto* reading = shared;
  auto* filling = shared + Tile::kStageElements;
  k_tiles.start(reading);
  ptx::cp_async_commit();
  ptx::cp_async_wait<0>();
  __syncthreads();  // the first k-tile is complete
  for (int first = 0; first < p.k; first += Tile::kConfig.bk) {
    k_tiles.start(filling);
    ptx::cp_async_commit();
#pragma unroll
    for (int step = 0; step < Tile::kSteps; ++step) {
      typename Warp<Tile>::Fragments fragments;
      warp.load(fragments, reading, step);
      warp.multiply(fragments);
    }
    ptx::cp_async_wait<0>();
    __syncthreads();  // the next k-tile is complete, and all have read this one
    exchange(reading, filling);
  }
  write<Tile>(p, corner, warp, shared);
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm
