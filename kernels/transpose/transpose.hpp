// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"
#include "transpose/transpose_access.hpp"

#include <optional>
#include <string_view>

namespace quadrille::kernels::transpose {

/// out = in^T: in is m x n, out n x m, both row-major, not overlapping; for variant "in_place" one
/// and the same. Exact.
struct Problem {
  static constexpr std::string_view kOperation = "transpose";
  /// Of a variant: its memory accesses by the model of transpose_access.hpp, for elements of so many
  /// bytes; nothing where threads do not access memory, or not aligned as it needs.
  struct Notes {
    std::optional<Sectors> (*sectors)(std::size_t element_bytes, std::int64_t in_ld,
                                      std::int64_t out_ld) = nullptr;
  };

  device::MatrixView in;
  device::MatrixView out;
};

/// Ends the job unless extents, types and leading dimensions fit together.
void require_consistent(Problem const& problem);

/// Each element read once and written once.
constexpr double bytes(double m, double n, double element_bytes) {
  return 2 * m * n * element_bytes;
}

Variants<Problem> variants();
ProblemFacts facts_of(Problem const& problem);

/// What an integer of BLAS counts to.
inline constexpr std::int64_t kMaxInt = (std::int64_t{1} << 31) - 1;

}  // namespace quadrille::kernels::transpose
