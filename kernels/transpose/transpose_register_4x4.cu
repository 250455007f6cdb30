// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transpose of thread tiles of 4 x 4 in registers.
///
///   out[j][i] = in[i][j]
///
/// Technique    a thread reads four rows of 16 bytes, transposes them in registers, which costs no
///              instruction, and writes four: a quarter of the requests, and every sector of 32
///              bytes used in full both ways. Four loads are in flight per thread
/// Shapes       row-major, not overlapping
/// Work         2 m n s bytes; sectors per request, read and written: 16 and 16
/// Launch       16 x 16 threads per block, a tile of 64 x 64
/// Accuracy     exact
#include "transpose/transpose_tiles.cuh"

namespace quadrille::kernels::transpose {
namespace {

constexpr int kThreads = kThreadsPerSide * kThreadsPerSide;
constexpr int kSide = kThreadsPerSide * kThreadTile;

#ifdef QUAD_KERNELS

__global__ void __launch_bounds__(kThreads)
    transpose_register_4x4_kernel(Operands<std::uint32_t> p, Tiling tiling) {
  Position const tile = tiling.tile(blockIdx.x);
  std::int64_t const i0 = std::int64_t{tile.row} * kSide;
  std::int64_t const j0 = std::int64_t{tile.col} * kSide;
  Position const first = thread_tile_read(static_cast<int>(threadIdx.x), 0);
  // Extents are multiples of the thread tile: it lies inside as a whole or not at all.
  if (i0 + first.row >= p.m || j0 + first.col >= p.n) return;

  // Load
  uint4 row[kThreadTile];
#pragma unroll
  for (int k = 0; k < kThreadTile; ++k) {
    Position const from = thread_tile_read(static_cast<int>(threadIdx.x), k);
    row[k] = *reinterpret_cast<uint4 const*>(p.in + (i0 + from.row) * p.in_ld + j0 + from.col);
  }
  // Transpose
  uint4 const col[kThreadTile]{make_uint4(row[0].x, row[1].x, row[2].x, row[3].x),
                               make_uint4(row[0].y, row[1].y, row[2].y, row[3].y),
                               make_uint4(row[0].z, row[1].z, row[2].z, row[3].z),
                               make_uint4(row[0].w, row[1].w, row[2].w, row[3].w)};
  // Store
#pragma unroll
  for (int k = 0; k < kThreadTile; ++k) {
    Position const to = thread_tile_written(static_cast<int>(threadIdx.x), k);
    *reinterpret_cast<uint4*>(p.out + (j0 + to.row) * p.out_ld + i0 + to.col) = col[k];
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  Tiling const tiling = tiles_of(problem.in, kSide, kSide);
  if (tiling.count() == 0) return;
  Operands<std::uint32_t> const operands{static_cast<std::uint32_t const*>(problem.in.data),
                                         problem.in.ld,
                                         static_cast<std::uint32_t*>(problem.out.data),
                                         problem.out.ld,
                                         problem.in.rows,
                                         problem.in.cols};
  QUAD_LAUNCH(transpose_register_4x4_kernel, dim3(tiling.count()), dim3(kThreads), 0, stream,
              operands, tiling);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const register_4x4{
    {.name = "register_4x4",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::i32},
     .needs = {.row_bytes = 16, .alignment = 16, .tile = {kSide, kSide}},
     .source = "note on Nsight Compute",
     .summary = "4 x 4 transposed in registers; f32 sectors per request 16 and 16"},
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::transpose
