// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/tensor_cores/gemm_half.cuh"

/// The kernel of gemm_mma_tuned.cu: the loop of gemm_half_multistage.cu, for two stages and more and
/// for each place where fragments are loaded ahead. NVRTC compiles it at run time.
namespace quadrille::kernels::gemm {

#ifdef QUAD_KERNELS

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    gemm_mma_tuned_kernel(HalfOperands<typename Tile::Type> p) {
  using T = typename Tile::Type;
  constexpr HalfConfig kConfig = Tile::kConfig;
  constexpr int kStages = kConfig.stages;
  constexpr bool kAcross = kConfig.fragment_double_buffer == FragmentDoubleBuffer::across_k_tiles;
  constexpr bool kTwo = kConfig.fragment_double_buffer != FragmentDoubleBuffer::none;
  static_assert(kStages > 1);
  QUAD_DYNAMIC_SHARED(T, shared);
  BlockCorner const corner = BlockCorner::of<Tile>(p);
  KTiles<Tile> k_tiles{p, corner};
  Warp<Tile> warp;
  typename Warp<Tile>::Fragments fragments[2];
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {
    k_tiles.start(shared + s * Tile::kStageElements);
    ptx::cp_async_commit();  // also an empty group, so that a wait counts k-tiles
  }
  T* reading = shared;
  T* filling = shared + (kStages - 1) * Tile::kStageElements;
  auto const next = [&](T* stage) {
    return stage == shared + (kStages - 1) * Tile::kStageElements ? shared
                                                                  : stage + Tile::kStageElements;
  };
  ptx::cp_async_wait<kStages - 2>();
  __syncthreads();  // the first k-tile is complete
  if constexpr (kAcross) warp.load(fragments[0], reading, 0);
#pragma unroll 1
  for (int first = 0; first < p.k; first += kConfig.bk) {
    auto const start_copies = [&] {
      k_tiles.start(filling);
      ptx::cp_async_commit();
      filling = reading;
    };
    if constexpr (!kAcross) start_copies();
    if constexpr (kTwo && !kAcross) warp.load(fragments[0], reading, 0);
#pragma unroll
    for (int step = 0; step < Tile::kSteps; ++step) {
      bool const is_last = step == Tile::kSteps - 1;
      if (is_last && kAcross) {
        start_copies();
        ptx::cp_async_wait<kStages - 2>();
        __syncthreads();  // the next k-tile is complete, and all have read this one
        reading = next(reading);
        warp.load(fragments[0], reading, 0);
      } else if (!is_last && kTwo) {
        warp.load(fragments[(step + 1) % 2], reading, step + 1);
      } else if (!kTwo) {
        warp.load(fragments[step % 2], reading, step);
      }
      warp.multiply(fragments[step % 2]);
    }
    if constexpr (!kAcross) {
      ptx::cp_async_wait<kStages - 2>();
      __syncthreads();  // the next k-tile is complete, and all have read this one
      reading = next(reading);
    }
  }
  write<Tile>(p, corner, warp, shared);
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm
