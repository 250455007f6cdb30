// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "gemm/gemm.hpp"

#include <cmath>

namespace quadrille::kernels::gemm {
namespace {

using core::DataType;

std::vector<Variant<Problem>> const& table() {
  static std::vector<Variant<Problem>> const rows{
      {{"reference",
        Backend::reference,
        {DataType::f64, DataType::f32, DataType::i32},
        "none",
        "own",
        "three loops, one thread, sums in f64"},
       launch_reference},
      {{"kokkos",
        Backend::kokkos,
        {DataType::f64, DataType::f32, DataType::i32},
        "i32: whole alpha and beta",
        "own, after Goto and van de Geijn 2008",
        "packed panels and register tiles in vectors of the host's width"},
       launch_kokkos},
      {{"vendor",
        Backend::vendor,
        {DataType::f64, DataType::f32},
        "extents and leading dimensions below 2^31",
        "OpenBLAS",
        "cblas_dgemm, cblas_sgemm"},
       launch_vendor},
  };
  return rows;
}

void require_matrix(device::MatrixView const& x, char const* name) {
  QUAD_REQUIRE(x.rows >= 0 && x.cols >= 0, std::string{"gemm: "} + name + " has a negative extent");
  QUAD_REQUIRE(x.ld >= x.cols, std::string{"gemm: the leading dimension of "} + name +
                                   " is below its columns; rows would overlap");
}

}  // namespace

std::span<Variant<Problem> const> variants() { return table(); }

void require_consistent(Problem const& problem) {
  require_matrix(problem.a, "A");
  require_matrix(problem.b, "B");
  require_matrix(problem.c, "C");
  QUAD_REQUIRE(problem.a.type == problem.c.type && problem.b.type == problem.c.type,
               "gemm: A, B and C differ in type");
  std::int64_t const m = problem.transpose_a ? problem.a.cols : problem.a.rows;
  std::int64_t const n = problem.transpose_b ? problem.b.rows : problem.b.cols;
  std::int64_t const k = problem.transpose_b ? problem.b.cols : problem.b.rows;
  QUAD_REQUIRE(m == problem.m(), "gemm: op(A) and C differ in rows");
  QUAD_REQUIRE(n == problem.n(), "gemm: op(B) and C differ in columns");
  QUAD_REQUIRE(k == problem.k(), "gemm: columns of op(A) differ from rows of op(B)");
}

double error_bound(DataType type, double k, double weight) {
  return core::epsilon_of(type) * (std::sqrt(k) + 2) * weight;
}

}  // namespace quadrille::kernels::gemm
