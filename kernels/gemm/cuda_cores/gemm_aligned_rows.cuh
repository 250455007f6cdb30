// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/gemm_cuda.cuh"

#include <algorithm>
#include <cstddef>
#include <string>

/// Operands whose rows are not aligned to 16 bytes, as tensor copies require, are copied to scratch
/// memory, where they are.
namespace quadrille::kernels::gemm {

inline bool is_aligned(device::MatrixView const& x) {
  return x.ld * static_cast<std::int64_t>(core::size_of(x.type)) % 16 == 0 &&
         reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
}

/// Of a copy with rows aligned to 128 bytes.
inline std::int64_t copied_ld(device::MatrixView const& x) {
  std::int64_t const line = 128 / static_cast<std::int64_t>(core::size_of(x.type));
  return (x.cols + line - 1) / line * line;
}
inline std::size_t copied_bytes(device::MatrixView const& x) {
  return is_aligned(x) ? 0
                       : static_cast<std::size_t>(x.rows * copied_ld(x)) * core::size_of(x.type);
}

/// Fails where A or B must be copied and there is less than `bytes` of scratch memory.
inline void require_scratch_for_copies(Problem const& problem, std::size_t bytes,
                                       std::string_view variant) {
  bool const copies = copied_bytes(problem.a) + copied_bytes(problem.b) > 0;
  QUAD_REQUIRE(!copies || problem.scratch_bytes >= bytes,
               "gemm/" + std::string{variant} + ": needs " + std::to_string(bytes) +
                   " bytes of scratch memory where rows are not aligned to 16 bytes");
}

#ifdef QUAD_KERNELS

inline constexpr int kAlignThreads = 256;
/// Columns of a thread, so that 32 bytes of it are on their way.
template <class T>
inline constexpr int kAlignColumns = 32 / static_cast<int>(sizeof(T));

/// Blocks in x have columns, in y rows in turn. Elements of `To` are rounded to nearest.
template <class T, class To>
__global__ void __launch_bounds__(kAlignThreads)
    gemm_align_kernel(T const* from, std::int64_t ld, To* to, std::int64_t to_ld, int rows,
                      int cols) {
  constexpr int kColumns = kAlignColumns<T>;
  int const first = static_cast<int>(blockIdx.x * kColumns * kAlignThreads + threadIdx.x);
#pragma unroll 1
  for (int row = static_cast<int>(blockIdx.y); row < rows; row += static_cast<int>(gridDim.y)) {
    T values[kColumns];
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      if (first + i * kAlignThreads < cols) values[i] = from[row * ld + first + i * kAlignThreads];
    }
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      if (first + i * kAlignThreads < cols) {
        to[row * to_ld + first + i * kAlignThreads] = static_cast<To>(values[i]);
      }
    }
  }
}

/// Enqueues the copy of x, which has elements, to a matrix of the same extents.
template <class T, class To>
void align(device::MatrixView const& x, device::MatrixView const& copy, device::StreamView stream) {
  dim3 const grid(
      static_cast<unsigned>(divide_up(static_cast<int>(x.cols), kAlignColumns<T> * kAlignThreads)),
      static_cast<unsigned>(std::min(x.rows, kMaxTileRows)));
  QUAD_LAUNCH((gemm_align_kernel<T, To>), grid, dim3(kAlignThreads), 0, stream,
              static_cast<T const*>(x.data), x.ld, static_cast<To*>(copy.data), copy.ld,
              static_cast<int>(x.rows), static_cast<int>(x.cols));
}

/// The problem with A and B whose rows are aligned, which are copies in scratch memory from byte `at`
/// on where they must be. T: of the size of their elements.
template <class T>
Problem with_aligned_rows(Problem const& problem, std::size_t at, device::StreamView stream) {
  auto const aligned = [&](device::MatrixView const& x) {
    if (is_aligned(x) || x.rows == 0 || x.cols == 0) return x;
    device::MatrixView copy = x;
    copy.data = static_cast<std::byte*>(problem.scratch) + at;
    copy.ld = copied_ld(x);
    at += copied_bytes(x);
    align<T, T>(x, copy, stream);
    return copy;
  };
  Problem result = problem;
  result.a = aligned(problem.a);
  result.b = aligned(problem.b);
  return result;
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm
