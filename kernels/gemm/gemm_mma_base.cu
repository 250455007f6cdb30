// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices by `mma`, with three levels of tiles.
///
///   C = alpha A B + beta C
///
/// Technique    a warp multiplies 4 x 8 tiles by `mma` m16n8k16. Where elements lie in its
///              registers is known: ldmatrix loads four matrices of 8 x 8 at once, transposed for a
///              B that is not, and accumulators reach shared memory in rows that are rotated by 16
///              bytes each
/// Before       wmma_base
/// Shapes       row-major, B as it is or transposed; outside the matrices, k-tiles are zero
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 128) bytes
/// Launch       256 threads, two blocks per multiprocessor with f16 accumulators and one with f32;
///              a k-tile of 24 KiB, where then up to 36 KiB of accumulators are, in shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data, in eps of the
///              accumulators
#include "gemm/gemm_half_single_buffer.cuh"

namespace quadrille::kernels::gemm {
namespace {

constexpr HalfConfig kConfig{.epilogue = Epilogue::rotated, .blocks = 2};

#ifdef QUAD_KERNELS

void launch(Problem const& problem, device::StreamView stream) {
  with_tile<kConfig>(problem, [&]<class Tile>(auto const& p, dim3 grid) {
    QUAD_LAUNCH(gemm_half_single_buffer_kernel<Tile>, grid, dim3(Tile::kThreads),
                Tile::kSharedBytes, stream, p);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const mma_base{
    row("mma_base", "mma; block 256 x 128 x 32, warp 64 x 64", kConfig),
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::gemm
