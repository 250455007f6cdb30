// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "reduction/reduction.hpp"

#include <cmath>
#include <limits>

namespace quadrille::kernels::reduction {
namespace {

using core::DataType;

std::vector<Variant<Problem>> const& table() {
  static std::vector<Variant<Problem>> const rows{
      {{"reference",
        Backend::reference,
        {DataType::f64, DataType::f32, DataType::i32},
        "none",
        "own",
        "one thread, blocked sums in extended precision"},
       launch_reference},
      {{"kokkos",
        Backend::kokkos,
        {DataType::f64, DataType::f32, DataType::i32},
        "none",
        "own",
        "parallel_reduce over chunks of 256 independent lanes"},
       launch_kokkos},
      {{"vendor",
        Backend::vendor,
        {DataType::f64, DataType::f32},
        "dot and norm2, not reproducible",
        "OpenBLAS",
        "cblas_ddot, sdot, dnrm2, snrm2"},
       launch_vendor},
  };
  return rows;
}

}  // namespace

std::span<Variant<Problem> const> variants() { return table(); }

bool supports(VariantInfo const& variant, Operation operation) {
  return variant.backend != Backend::vendor || operation == Operation::dot ||
         operation == Operation::norm2;
}

void require_consistent(Problem const& p) {
  QUAD_REQUIRE(p.type == DataType::f64 || p.type == DataType::f32 || p.type == DataType::i32,
               "reduction: takes f64, f32 and i32 only");
  QUAD_REQUIRE(p.n >= 0, "reduction: n is negative");
  QUAD_REQUIRE(p.n == 0 || p.x != nullptr, "reduction: x is missing");
  QUAD_REQUIRE(p.n == 0 || p.operation != Operation::dot || p.y != nullptr,
               "reduction: dot needs y");
  QUAD_REQUIRE(
      p.accumulator == DataType::f64 || (p.accumulator == DataType::f32 && p.type == DataType::f32),
      "reduction: the accumulator is f64, or f32 for f32 elements");
  if (!p.reproducible) {
    QUAD_REQUIRE(p.result != nullptr, "reduction: result is missing");
    return;
  }
  QUAD_REQUIRE(p.accumulator == DataType::f64,
               "reduction: reproducible sums accumulate in f64; set accumulator = \"f64\"");
  QUAD_REQUIRE(
      p.block_first >= 0 && p.block_count >= 0 && p.block_first + p.block_count <= kVirtualBlocks,
      "reduction: virtual blocks out of range");
  QUAD_REQUIRE(p.global_n >= 0 && p.n == block_begin(p.global_n, p.block_first + p.block_count) -
                                             block_begin(p.global_n, p.block_first),
               "reduction: n is not the number of elements of the virtual blocks");
  QUAD_REQUIRE(p.block_count == 0 || p.blocks != nullptr, "reduction: blocks is missing");
}

double identity(Operation operation) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (operation) {
    case Operation::min: return kInfinity;
    case Operation::max: return -kInfinity;
    default: return 0;
  }
}

double error_bound(Problem const& problem, double n, double sum_of_magnitudes) {
  bool const exact = problem.operation == Operation::min || problem.operation == Operation::max ||
                     problem.type == DataType::i32;
  if (exact) return 0;
  return 4 * core::epsilon_of(problem.accumulator) * std::sqrt(n) * sum_of_magnitudes;
}

std::string_view to_text(Operation operation) {
  switch (operation) {
    case Operation::sum: return "sum";
    case Operation::min: return "min";
    case Operation::max: return "max";
    case Operation::dot: return "dot";
    case Operation::norm2: return "norm2";
  }
  return "unknown";
}

}  // namespace quadrille::kernels::reduction
