// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"

#include <string>
#include <string_view>

namespace quadrille::kernels::gemm {

/// C = alpha op(A) op(B) + beta C, row-major; op(A) is m x k, op(B) k x n, C m x n.
/// With beta == 0, C is written and never read. Any extent may be 0.
struct Problem {
  static constexpr std::string_view kOperation = "gemm";

  device::MatrixView a;
  device::MatrixView b;
  device::MatrixView c;
  double alpha = 1;
  double beta = 0;
  bool transpose_a = false;                          ///< a is stored k x m
  bool transpose_b = false;                          ///< b is stored n x k
  core::Compute compute = core::Compute::automatic;  ///< what products are multiplied and added in
  /// On a GPU: as much as the variant's scratch_bytes() says, aligned to 16 bytes, of which the
  /// first kScratchCounters words are 0 before and after. Some variants are slower without, some
  /// need it.
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;

  std::int64_t m() const { return c.rows; }
  std::int64_t n() const { return c.cols; }
  std::int64_t k() const { return transpose_a ? a.rows : a.cols; }
};
inline constexpr std::int64_t kScratchCounters = 1024;

/// Ends the job unless extents, types and leading dimensions fit together.
void require_consistent(Problem const& problem);

constexpr double flop(double m, double n, double k) { return 2 * m * n * k; }
constexpr double compulsory_bytes(double m, double n, double k, double beta, double element_bytes) {
  return element_bytes * (m * k + k * n + (beta == 0 ? 1 : 2) * m * n);
}

/// Allowed error of one element of C: eps (sqrt(k) + 2) times (|alpha| |A| |B| + |beta| |C0|)_ij.
double error_bound(core::DataType type, double k, double weight);

Variants<Problem> variants();
ProblemFacts facts_of(Problem const& problem);

/// For Specifics::unsupported of variants that take i32, whose alpha and beta are of that type too.
std::string whole_scalars(Problem const& problem);

/// What an integer of BLAS counts to.
inline constexpr std::int64_t kMostInt = (std::int64_t{1} << 31) - 1;

}  // namespace quadrille::kernels::gemm
