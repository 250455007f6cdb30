// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "transpose/transpose.hpp"

#include <algorithm>
#include <utility>

namespace quadrille::kernels::transpose {
// clang-format off
QUAD_TABLE(Variant<Problem> const, kTable,
  reference,
  host_simd,
  kokkos,
  vendor_host,
  vendor_cuda,
  naive_32x8,
  naive_16x16,
  naive_8x32,
  naive_4x64,
  register_4x4,
  shared_tile,
  shared_padded,
  shared_swizzled,
  wide_tile_diagonal,
  register_strip,
  bulk_tensor,
  in_place
);
// clang-format on

Variants<Problem> variants() { return kTable; }

std::optional<CountedParts> accesses_of(Variant<Problem> const& row, Problem const& problem) {
  auto const starts_with_sectors = [](device::MatrixView const& x) {
    return x.ld * static_cast<std::int64_t>(core::size_of(x.type)) % kSectorBytes == 0;
  };
  bool const is_like_counted = std::min(problem.in.rows, problem.in.cols) >= kCountedSide &&
                               starts_with_sectors(problem.in) && starts_with_sectors(problem.out);
  auto const* const counted =
      find_accesses(Problem::kOperation, row, core::size_of(problem.in.type));
  if (counted == nullptr || !is_like_counted) return {};
  auto const& [rows, cols] = std::pair{problem.in.rows, problem.in.cols};
  bool const is_whole = rows % kCountedSide == 0 && cols % kCountedSide == 0;
  return CountedParts{counted, is_whole ? rows / kCountedSide * (cols / kCountedSide) : 0};
}

ProblemFacts facts_of(Problem const& p) {
  return {.types = p.in.type, .result = {"out", p.out}, .inputs = {{{"in", p.in}}}};
}

void require_consistent(Problem const& problem) {
  device::MatrixView const& in = problem.in;
  device::MatrixView const& out = problem.out;
  QUAD_REQUIRE(in.rows >= 0 && in.cols >= 0, "transpose: an extent is negative");
  QUAD_REQUIRE(in.type == out.type, "transpose: input and output differ in type");
  QUAD_REQUIRE(in.rows == out.cols && in.cols == out.rows,
               "transpose: the output of an m x n input must be n x m");
  QUAD_REQUIRE(in.ld >= in.cols && out.ld >= out.cols,
               "transpose: a leading dimension is below the columns; rows would overlap");
}

}  // namespace quadrille::kernels::transpose
