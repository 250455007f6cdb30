// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices on tensor cores, from padded k-tiles.
///
///   C = alpha A B + beta C
///
/// Technique    there are 16 bytes behind each row of a k-tile in shared memory, so that 8
///              neighbouring rows lie in different banks
/// Before       wmma_base
/// Shapes       row-major, B as it is or transposed; outside the matrices, k-tiles are zero
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 128) bytes
/// Launch       256 threads, two blocks per multiprocessor with f16 accumulators and one with f32;
///              a k-tile of 30 KiB, where then up to 36 KiB of accumulators are, in shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data, in eps of the
///              accumulators
#include "gemm/gemm_half_single_buffer.cuh"

namespace quadrille::kernels::gemm {
namespace {

constexpr HalfConfig kConfig{.is_wmma = true, .layout = SmemLayout::padded, .blocks = 2};

#ifdef QUAD_KERNELS

void launch(Problem const& problem, device::StreamView stream) {
  with_tile<kConfig>(problem, [&]<class Tile>(auto const& p, dim3 grid) {
    QUAD_LAUNCH(gemm_half_single_buffer_kernel<Tile>, grid, dim3(Tile::kThreads),
                Tile::kSharedBytes, stream, p);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const wmma_padding{
    row("wmma_padding", "wmma_base with padded rows in shared memory", kConfig),
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::gemm
