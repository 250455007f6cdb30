// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "transpose/transpose.hpp"

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
