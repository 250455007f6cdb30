// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "reduction/reduction.hpp"

#include "device/device.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace quadrille::kernels::reduction {

using core::DataType;
// clang-format off
QUAD_TABLE(Variant<Problem> const, kTable,
  reference,
  host_simd,
  kokkos,
  vendor_host,
  vendor_cuda,
  vendor_blas_cuda,
  naive,
  interleaved,
  sequential,
  two_loads,
  unrolled_last_warp,
  unrolled,
  unrolled_64,
  unrolled_128,
  unrolled_512,
  unrolled_1024,
  shuffle,
  vectorized,
  one_launch,
  cluster,
  bulk_async,
  binned
);
// clang-format on

Variants<Problem> variants() { return kTable; }

std::optional<Accesses> accesses_of(Variant<Problem> const& row, std::int64_t n) {
  auto const* const counted = find_accesses(Problem::kOperation, row, sizeof(float));
  if (counted == nullptr) return {};
  std::int64_t const each = row.specifics.notes.block_elements;
  return (n + each - 1) / each * counted->block;
}

ProblemFacts facts_of(Problem const& p) {
  auto const row = [&](void const* data) {
    return device::MatrixView{const_cast<void*>(data), p.type, 1, p.n, p.n};
  };
  core::Compute const sums = p.accumulator == DataType::f32   ? core::Compute::f32
                             : p.accumulator == DataType::i32 ? core::Compute::i32
                             : p.type == DataType::i32        ? core::Compute::i64
                                                              : core::Compute::f64;
  ProblemFacts facts{.types = {p.type, sums, DataType::f64},
                     .result = {"result", {p.result, DataType::f64, 1, 1, 1}},
                     .inputs = {{{"x", row(p.x)}}}};
  if (p.operation == Operation::dot) facts.inputs[1] = {"y", row(p.y)};
  return facts;
}

void reduce_any(Problem const& problem, device::StreamView stream) {
  bool const on_gpu = stream.device().kind() == device::Kind::cuda;
  (on_gpu ? one_launch : reference).launch(problem, stream);
}

std::string plain_only(Problem const& problem) {
  return problem.reproducible ? "gives no reproducible bits" : "";
}

std::string sum_only(Problem const& problem) {
  if (problem.operation == Operation::sum) return plain_only(problem);
  return "has sum only, not " + std::string{core::to_text(problem.operation)};
}

std::size_t scratch_bytes(std::int64_t n) {
  // A page for counters and bins, then a partial result of 8 bytes for each block of the variant
  // with the most blocks, or what CUB asks for.
  constexpr std::size_t kCounters = 4096;
  constexpr std::size_t kMin = 1 << 20;
  return kCounters +
         std::max(kMin, 8 * static_cast<std::size_t>((n + kMinOfBlock - 1) / kMinOfBlock));
}

void require_consistent(Problem const& p) {
  QUAD_REQUIRE(p.n >= 0, "reduction: n is negative");
  QUAD_REQUIRE(p.n == 0 || p.x != nullptr, "reduction: x is missing");
  QUAD_REQUIRE(p.n == 0 || p.operation != Operation::dot || p.y != nullptr,
               "reduction: dot needs y");
  bool const narrow = p.accumulator == DataType::f32 || p.accumulator == DataType::i32;
  QUAD_REQUIRE(p.accumulator == DataType::f64 || (narrow && p.accumulator == p.type),
               "reduction: the accumulator is f64, or f32 for f32 and i32 for i32 elements");
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

double error_bound(Problem const& problem, double chain, double norm_of_terms, double sum) {
  bool const exact = problem.operation == Operation::min || problem.operation == Operation::max ||
                     problem.type == DataType::i32;
  if (exact) return 0;
  return 3 * core::epsilon_of(problem.accumulator) * std::sqrt(std::max(1.0, chain)) *
         (norm_of_terms + std::abs(sum));
}

}  // namespace quadrille::kernels::reduction
