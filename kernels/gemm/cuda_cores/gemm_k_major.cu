// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transposed copies of operands, for products that read them along k alone.
///
///   to[j][i] = from[i][j]
///
/// Technique    tiles through shared memory, so that rows are read and written whole; a column of
///              padding spreads the columns of a tile over all banks
/// Shapes       row-major f32, extents below 2^31 - 1024, any leading dimensions; copies in scratch
///              memory
/// Work         8 m n bytes
/// Launch       256 threads per tile of 32 x 32 elements, which they copy in four turns
/// Accuracy     exact
#include "gemm/cuda_cores/gemm_k_major.cuh"

#include <algorithm>
#include <string>

namespace quadrille::kernels::gemm {

#ifdef QUAD_KERNELS

namespace {

constexpr int kSide = 32;
constexpr int kRowsAtOnce = 8;

/// Blocks in x have columns of `from`, in y rows in turn.
__global__ void __launch_bounds__(kSide* kRowsAtOnce)
    gemm_k_major_kernel(float const* from, std::int64_t ld, float* to, std::int64_t to_ld, int rows,
                        int cols) {
  QUAD_SHARED(float, tile, [kSide][kSide + 1]);
  auto const x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  int const col = static_cast<int>(blockIdx.x) * kSide;
#pragma unroll 1
  for (int row = static_cast<int>(blockIdx.y) * kSide; row < rows;
       row += static_cast<int>(gridDim.y) * kSide) {
    float values[kSide / kRowsAtOnce];
#pragma unroll
    for (int i = 0; i < kSide; i += kRowsAtOnce) {
      bool const is_inside = row + y + i < rows && col + x < cols;
      values[i / kRowsAtOnce] = is_inside ? from[(row + y + i) * ld + col + x] : 0;
    }
#pragma unroll
    for (int i = 0; i < kSide; i += kRowsAtOnce) tile[y + i][x] = values[i / kRowsAtOnce];
    __syncthreads();  // the tile is here
#pragma unroll
    for (int i = 0; i < kSide; i += kRowsAtOnce) {
      if (col + y + i < cols && row + x < rows)
        to[(col + y + i) * to_ld + row + x] = tile[x][y + i];
    }
    __syncthreads();  // all have read it
  }
}

/// The copy of x that begins at byte `at` of scratch memory, which moves on.
device::MatrixView transposed(device::MatrixView const& x, void* scratch, std::size_t& at,
                              device::StreamView stream) {
  device::MatrixView const copy{static_cast<std::byte*>(scratch) + at, x.type, x.cols, x.rows,
                                KMajorCopies::ld_of(x)};
  at += KMajorCopies::bytes_of(x);
  if (x.rows == 0 || x.cols == 0) return copy;
  dim3 const grid(
      static_cast<unsigned>(divide_up(static_cast<int>(x.cols), kSide)),
      static_cast<unsigned>(std::min<std::int64_t>((x.rows + kSide - 1) / kSide, kMaxTileRows)));
  QUAD_LAUNCH(gemm_k_major_kernel, grid, dim3(kSide, kRowsAtOnce), 0, stream,
              static_cast<float const*>(x.data), x.ld, static_cast<float*>(copy.data), copy.ld,
              static_cast<int>(x.rows), static_cast<int>(x.cols));
  return copy;
}

}  // namespace

Problem copy_operands(Problem const& problem, KMajorCopies copies, device::StreamView stream,
                      std::size_t before) {
  std::size_t const bytes = copies.bytes(problem, before);
  QUAD_REQUIRE(problem.scratch_bytes >= bytes,
               "gemm: needs " + std::to_string(bytes) +
                   " bytes of scratch memory where rows are not aligned to 16 bytes, or k is not "
                   "contiguous in f32");
  Problem changed = problem;
  std::size_t at = before;
  if (copies.a) {
    changed.a = transposed(problem.a, problem.scratch, at, stream);
    changed.transpose_a = !problem.transpose_a;
  }
  if (copies.b) {
    changed.b = transposed(problem.b, problem.scratch, at, stream);
    changed.transpose_b = !problem.transpose_b;
  }
  return problem.a.type == core::DataType::f32
             ? with_aligned_rows<std::uint32_t>(changed, at, stream)
             : with_aligned_rows<std::uint16_t>(changed, at, stream);
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm
