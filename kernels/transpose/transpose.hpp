// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/asked_bytes.hpp"
#include "common/variant.hpp"

#include <optional>
#include <string_view>

namespace quadrille::kernels::transpose {

/// out = in^T: in is m x n, out n x m, both row-major, not overlapping; for variant "in_place" one
/// and the same. Exact.
struct Problem {
  static constexpr std::string_view kOperation = "transpose";
  device::MatrixView in;
  device::MatrixView out;
};

/// Ends the job unless extents, types and leading dimensions fit together.
void require_consistent(Problem const& problem);

/// Each element read once and written once.
constexpr double bytes(double m, double n, double element_bytes) {
  return 2 * m * n * element_bytes;
}

/// The side of the matrices whose accesses are counted.
inline constexpr std::int64_t kCountedSide = 256;
/// By such matrices. Nothing where the row is not counted, the problem is smaller than one, or rows of the matrices do
/// not start with a sector.
std::optional<CountedParts> accesses_of(Variant<Problem> const& row, Problem const& problem);

Variants<Problem> variants();
ProblemFacts facts_of(Problem const& problem);

/// What an integer of BLAS counts to.
inline constexpr std::int64_t kMaxInt = (std::int64_t{1} << 31) - 1;

}  // namespace quadrille::kernels::transpose
