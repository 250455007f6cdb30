// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices by `mma`, with fragments loaded ahead.
///
///   C = alpha A B + beta C
///
/// Technique    `mma_async_two_slots_two_registers`, but the first fragments of the next chunk are
///              loaded, too, while the last step of this one multiplies: the barrier of a chunk is
///              before its last step. Registers let one block run on a multiprocessor
/// Shapes       row-major, B as it is or transposed; outside the matrices, chunks are zero
/// Types        f16, accumulators f16 or f32; C in the type of A and B or, with f32 accumulators,
///              in f32
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 128) bytes
/// Constraints  n, k and leading dimensions multiples of 8; A, B and C aligned to 16 bytes; A not
///              transposed; extents below 2^31 - 1024
/// Launch       256 threads, one block per multiprocessor; 2 chunks of 24 KiB in shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data, in eps of the
///              accumulators
/// Source       after Bruce-Lee-LY, cuda_hgemm
#include "gemm/gemm_half_rows.cuh"

namespace quadrille::kernels::gemm {
namespace {

constexpr HalfConfig kConfig{.conflicts = Conflicts::rotate,
                             .slots = 2,
                             .two_registers = TwoRegisters::across_chunks,
                             .epilogue = Epilogue::rotated};

#ifdef QUAD_KERNELS

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    gemm_mma_async_stage2_kernel(HalfOperands<typename Tile::Type> p) {
  QUAD_DYNAMIC_SHARED(typename Tile::Type, shared);
  BlockCorner const corner = BlockCorner::of<Tile>(p);
  Chunks<Tile> chunks{p, corner};
  MmaWarp<Tile> warp;
  typename MmaWarp<Tile>::Fragments fragments[2];
  auto* reading = shared;
  auto* filling = shared + Tile::kSlot;
  chunks.start(reading);
  ptx::cp_async_commit();
  ptx::cp_async_wait<0>();
  __syncthreads();  // the first chunk is complete
  warp.load(fragments[0], reading, 0);
#pragma unroll 1
  for (int first = 0; first < p.k; first += kConfig.bk) {
    chunks.start(filling);
    ptx::cp_async_commit();
#pragma unroll
    for (int step = 0; step < Tile::kSteps; ++step) {
      if (step + 1 < Tile::kSteps) {
        warp.load(fragments[(step + 1) % 2], reading, step + 1);
      } else {
        ptx::cp_async_wait<0>();
        __syncthreads();  // the next chunk is complete, and all have read this one
        warp.load(fragments[0], filling, 0);
      }
      warp.multiply(fragments[step % 2]);
    }
    exchange(reading, filling);
  }
  write<Tile>(p, corner, warp, shared);
}

void launch(Problem const& problem, device::StreamView stream) {
  with_tile<kConfig>(problem, [&]<class Tile>(auto const& p, dim3 grid) {
    QUAD_LAUNCH(gemm_mma_async_stage2_kernel<Tile>, grid, dim3(Tile::kThreads), Tile::kSharedBytes,
                stream, p);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const mma_async_stage2{
    row("mma_async_stage2", "and across chunks", kConfig), QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::gemm
