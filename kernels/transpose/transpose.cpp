// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "transpose/transpose.hpp"

namespace quadrille::kernels::transpose {
namespace {

using core::DataType;

std::vector<Variant<Problem>> const& table() {
  static std::vector<DataType> const every{DataType::f64,  DataType::f32, DataType::f16,
                                           DataType::bf16, DataType::i64, DataType::i32,
                                           DataType::i8};
  static std::vector<Variant<Problem>> const rows{
      {{"reference", Backend::reference, every, "none", "own", "two loops, one thread"},
       launch_reference},
      {{"kokkos", Backend::kokkos, every, "none", "own",
        "small squares turned in registers, whole lines written past the caches"},
       launch_kokkos},
      {{"vendor",
        Backend::vendor,
        {DataType::f64, DataType::f32},
        "none",
        "OpenBLAS",
        "cblas_domatcopy, cblas_somatcopy"},
       launch_vendor},
  };
  return rows;
}

}  // namespace

std::span<Variant<Problem> const> variants() { return table(); }

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
