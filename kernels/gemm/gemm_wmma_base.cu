// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices on tensor cores, with three levels of tiles.
///
///   C = alpha A B + beta C
///
/// Technique    A block computes 256 x 128 elements of C, each of its 8 warps 64 x 64 of them, as 4
///              x 4 tiles of `wmma` 16 x 16 x 16. k advances in k-tiles of 32, which all threads
///              copy to shared memory in pieces of 16 bytes, through registers, and of which a warp
///              loads fragments in two steps of 16. A warp multiplies its tiles there and back, so
///              that each shares a fragment with the one before, and stores accumulators through
///              shared memory, 16 rows at a time, from which 8 lanes store 128 bytes of a row of C.
///              Blocks run in slabs of 16 columns of blocks, every other slab upwards, so that
///              those that run together share A and B in L2. Rows of a k-tile of A lie 64 bytes
///              apart, so that 8 of them meet in banks 4 by 4
/// Shapes       row-major, B as it is or transposed; outside the matrices, k-tiles are zero
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 128) bytes
/// Launch       256 threads, two blocks per multiprocessor with f16 accumulators and one with f32;
///              a k-tile of 24 KiB, where then up to 36 KiB of accumulators are, in shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data, in eps of the
///              accumulators
#include "gemm/gemm_half_single_buffer.cuh"

namespace quadrille::kernels::gemm {
namespace {

constexpr HalfConfig kConfig{.is_wmma = true, .blocks = 2};

#ifdef QUAD_KERNELS

void launch(Problem const& problem, device::StreamView stream) {
  with_tile<kConfig>(problem, [&]<class Tile>(auto const& p, dim3 grid) {
    QUAD_LAUNCH(gemm_half_single_buffer_kernel<Tile>, grid, dim3(Tile::kThreads),
                Tile::kSharedBytes, stream, p);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const wmma_base{
    row("wmma_base", "wmma; block 256 x 128 x 32, warp 64 x 64", kConfig),
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::gemm
