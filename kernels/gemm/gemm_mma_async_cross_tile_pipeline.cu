// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices by `mma`, with fragments loaded ahead.
///
///   C = alpha A B + beta C
///
/// Technique    the first fragments of the next k-tile are loaded, too, while the last step of this
///              one multiplies: the barrier of a k-tile is before its last step. Registers let one
///              block run on a multiprocessor
/// Before       mma_async_double_buffer_fragments
/// Shapes       row-major, B as it is or transposed; outside the matrices, k-tiles are zero
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 128) bytes
/// Launch       256 threads, one block per multiprocessor; 2 k-tiles of 24 KiB in shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data, in eps of the
///              accumulators
#include "gemm/gemm_half_cross_tile_pipeline.cuh"

namespace quadrille::kernels::gemm {
namespace {

constexpr HalfConfig kConfig{.layout = SmemLayout::rotated,
                             .stages = 2,
                             .fragment_double_buffer = FragmentDoubleBuffer::across_k_tiles,
                             .epilogue = Epilogue::rotated};

#ifdef QUAD_KERNELS

void launch(Problem const& problem, device::StreamView stream) {
  with_tile<kConfig>(problem, [&]<class Tile>(auto const& p, dim3 grid) {
    QUAD_LAUNCH(gemm_half_cross_tile_pipeline_kernel<Tile>, grid, dim3(Tile::kThreads),
                Tile::kSharedBytes, stream, p);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const mma_async_cross_tile_pipeline{
    row("mma_async_cross_tile_pipeline",
        "mma_async_double_buffer with fragments loaded ahead, also across k-tiles", kConfig),
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::gemm
