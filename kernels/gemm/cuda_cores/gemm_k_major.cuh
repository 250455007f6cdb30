// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/cuda_cores/gemm_aligned_rows.cuh"

/// Transposed copies of operands of f32 and i8, in which k is contiguous, in scratch memory. Of these,
/// wgmma reads no other operands from shared memory.
namespace quadrille::kernels::gemm {

/// The operands that are transposed. Others are copied where their rows are not aligned.
struct KMajorCopies {
  static constexpr std::size_t kCounterBytes = kScratchCounters * sizeof(float);

  bool a = false, b = false;

  /// All that are not K-major already; none of other types.
  static KMajorCopies all_of(Problem const& problem) {
    bool const is_16_bit = core::size_of(problem.a.type) == 2;
    return {!is_16_bit && problem.transpose_a, !is_16_bit && !problem.transpose_b};
  }

  /// Of scratch memory, of which `before` are used otherwise; 0 where nothing is copied.
  std::size_t bytes(Problem const& problem, std::size_t before = kCounterBytes) const {
    std::size_t const bytes = (a ? bytes_of(problem.a) : copied_bytes(problem.a)) +
                              (b ? bytes_of(problem.b) : copied_bytes(problem.b));
    return bytes > 0 ? before + bytes : 0;
  }

  /// Of a transposed copy, with rows aligned to 128 bytes.
  static std::int64_t ld_of(device::MatrixView const& x) {
    std::int64_t const line = 128 / static_cast<std::int64_t>(core::size_of(x.type));
    return (x.rows + line - 1) / line * line;
  }
  static std::size_t bytes_of(device::MatrixView const& x) {
    return static_cast<std::size_t>(x.cols * ld_of(x)) * core::size_of(x.type);
  }
};

/// The same problem with copies, which it enqueues, behind `before` bytes of scratch memory, a multiple
/// of 128. Ends the job where that is too small.
Problem copy_operands(Problem const& problem, KMajorCopies copies, device::StreamView stream,
                      std::size_t before = KMajorCopies::kCounterBytes);

}  // namespace quadrille::kernels::gemm
