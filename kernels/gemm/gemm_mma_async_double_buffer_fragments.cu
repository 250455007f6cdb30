// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices by `mma`, with fragments loaded ahead in a k-tile.
///
///   C = alpha A B + beta C
///
/// Technique    fragments of the next step are loaded to other registers while this one multiplies;
///              the first ones of a k-tile are waited for
/// Before       mma_async_double_buffer
/// Shapes       row-major, B as it is or transposed; outside the matrices, k-tiles are zero
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 128) bytes
/// Launch       256 threads, two blocks per multiprocessor with f16 accumulators and one with f32;
///              2 k-tiles of 24 KiB in shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data, in eps of the
///              accumulators
#include "gemm/gemm_half_double_buffer_fragments.cuh"

namespace quadrille::kernels::gemm {
namespace {

constexpr HalfConfig kConfig{.layout = SmemLayout::rotated,
                             .stages = 2,
                             .fragment_double_buffer = FragmentDoubleBuffer::in_k_tile,
                             .epilogue = Epilogue::rotated,
                             .blocks = 2};

#ifdef QUAD_KERNELS

void launch(Problem const& problem, device::StreamView stream) {
  with_tile<kConfig>(problem, [&]<class Tile>(auto const& p, dim3 grid) {
    QUAD_LAUNCH(gemm_half_double_buffer_fragments_kernel<Tile>, grid, dim3(Tile::kThreads),
                Tile::kSharedBytes, stream, p);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const mma_async_double_buffer_fragments{
    row("mma_async_double_buffer_fragments",
        "mma_async_double_buffer, with fragments loaded ahead in a k-tile", kConfig),
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::gemm
