// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transposed copies of operands, for products that read them along k alone.
///
///   to[j][i] = from[i][j]
///
/// Technique    tiles through shared memory, so that rows are read and written whole; a column of
///              padding spreads the columns of a tile over all banks
/// Shapes       row-major f32 or i8, extents below 2^31 - 1024, any leading dimensions; copies in scratch
///              memory
/// Work         8 m n bytes, of i8 2 m n
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
template <class T>
__global__ void __launch_bounds__(kSide* kRowsAtOnce)
    gemm_k_major_kernel(T const* from, std::int64_t ld, T* to, std::int64_t to_ld, int rows,
                        int cols) {
  QUAD_SHARED(T, tile, [kSide][kSide + 1]);
  auto const x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  int const col = static_cast<int>(blockIdx.x) * kSide;
#pragma unroll 1
  for (int row = static_cast<int>(blockIdx.y) * kSide; row < rows;
       row += static_cast<int>(gridDim.y) * kSide) {
    T values[kSide / kRowsAtOnce];
#pragma unroll
    for (int i = 0; i < kSide; i += kRowsAtOnce) {
      bool const is_inside = row + y + i < rows && col + x < cols;
      values[i / kRowsAtOnce] = is_inside ? from[(row + y + i) * ld + col + x] : T{};
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
  auto const copy_as = [&]<class T>(T) {
    QUAD_LAUNCH(gemm_k_major_kernel<T>, grid, dim3(kSide, kRowsAtOnce), 0, stream,
                static_cast<T const*>(x.data), x.ld, static_cast<T*>(copy.data), copy.ld,
                static_cast<int>(x.rows), static_cast<int>(x.cols));
  };
  if (core::size_of(x.type) == 4) {
    copy_as(float{});
  } else {
    copy_as(std::uint8_t{});
  }
  return copy;
}

}  // namespace

Problem copy_operands(Problem const& problem, KMajorCopies copies, device::StreamView stream,
                      std::size_t before) {
  std::size_t const bytes = copies.bytes(problem, before);
  QUAD_REQUIRE(problem.scratch_bytes >= bytes,
               "gemm: needs " + std::to_string(bytes) +
                   " bytes of scratch memory where rows are not aligned to 16 bytes, or k is not "
                   "contiguous in f32 or i8");
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
  switch (core::size_of(problem.a.type)) {
    case 1: return with_aligned_rows<std::uint8_t>(changed, at, stream);
    case 2: return with_aligned_rows<std::uint16_t>(changed, at, stream);
    default: return with_aligned_rows<std::uint32_t>(changed, at, stream);
  }
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm
