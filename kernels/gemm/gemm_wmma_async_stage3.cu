// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices on tensor cores, with a ring of three k-tiles.
///
///   C = alpha A B + beta C
///
/// Technique    a third stage: the copies of a k-tile have the time of two k-tiles. The loop is in
///              gemm_half_multistage.cuh
/// Before       wmma_async_cross_tile_pipeline
/// Shapes       row-major, B as it is or transposed; outside the matrices, k-tiles are zero
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 128) bytes
/// Launch       256 threads, one block per multiprocessor; 3 k-tiles of 30 KiB in shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data, in eps of the
///              accumulators
#include "gemm/gemm_half_multistage.cuh"
#include "gemm/gemm_half_rows.cuh"

namespace quadrille::kernels::gemm {
namespace {

constexpr HalfConfig kConfig{.is_wmma = true,
                             .layout = SmemLayout::padded,
                             .stages = 3,
                             .fragment_double_buffer = FragmentDoubleBuffer::across_k_tiles};

#ifdef QUAD_KERNELS

void launch(Problem const& problem, device::StreamView stream) {
  with_tile<kConfig, true>(problem, [&]<class Tile>(auto const& p, dim3 grid) {
    QUAD_LAUNCH(gemm_half_multistage_kernel<Tile>, grid, dim3(Tile::kThreads), Tile::kSharedBytes,
                stream, p);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const wmma_async_stage3{
    row("wmma_async_stage3", "wmma_async_cross_tile_pipeline with three stages", kConfig,
        kHalfAndBf16Types),
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::gemm
