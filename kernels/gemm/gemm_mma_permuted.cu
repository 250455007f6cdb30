// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices by `mma`, from permuted k-tiles.
///
///   C = alpha A B + beta C
///
/// Technique    the pieces of 16 bytes in a row of a k-tile are rotated, by another number of
///              pieces in every 128 bytes, so that copies and ldmatrix meet 8 pieces in different
///              banks, without padding
/// Before       mma_base
/// Shapes       row-major, B as it is or transposed; outside the matrices, k-tiles are zero
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 128) bytes
/// Launch       256 threads, two blocks per multiprocessor with f16 accumulators and one with f32;
///              a k-tile of 24 KiB, where then up to 36 KiB of accumulators are, in shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data, in eps of the
///              accumulators
#include "gemm/gemm_half_single_buffer.cuh"

namespace quadrille::kernels::gemm {
namespace {

constexpr HalfConfig kConfig{
    .layout = SmemLayout::rotated, .epilogue = Epilogue::rotated, .blocks = 2};

#ifdef QUAD_KERNELS

void launch(Problem const& problem, device::StreamView stream) {
  with_tile<kConfig>(problem, [&]<class Tile>(auto const& p, dim3 grid) {
    QUAD_LAUNCH(gemm_half_single_buffer_kernel<Tile>, grid, dim3(Tile::kThreads),
                Tile::kSharedBytes, stream, p);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const mma_permuted{
    row("mma_permuted", "mma_base with rotated rows in shared memory", kConfig),
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::gemm
