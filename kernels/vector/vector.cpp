// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "vector/vector.hpp"

#include <cmath>

namespace quadrille::kernels::vector {
// clang-format off
QUAD_TABLE(Variant<Problem> const, kTable,
  reference,
  host_simd,
  kokkos,
  host_threads,
  one_thread,
  one_block,
  one_element,
  grid_stride,
  vectorized,
  misaligned
);
// clang-format on

Variants<Problem> variants() { return kTable; }

ProblemFacts facts_of(Problem const& p) {
  auto const row = [&](void const* data) {
    return device::MatrixView{const_cast<void*>(data), p.type, 1, p.n, p.n};
  };
  ProblemFacts facts{.types = p.type, .result = {"out", row(p.out)}, .inputs = {{{"x", row(p.x)}}}};
  if (p.operation == Operation::add) facts.inputs[1] = {"y", row(p.y)};
  return facts;
}

void require_consistent(Problem const& p) {
  QUAD_REQUIRE(p.n >= 0, "vector: n is negative");
  if (p.n == 0) return;
  QUAD_REQUIRE(p.x != nullptr && p.out != nullptr, "vector: x or out is missing");
  QUAD_REQUIRE(p.operation != Operation::add || p.y != nullptr, "vector: add needs y");
  auto const size = static_cast<std::size_t>(p.n) * core::size_of(p.type);
  auto const* out = static_cast<char const*>(p.out);
  for (void const* input : {p.x, p.operation == Operation::add ? p.y : p.x}) {
    auto const* in = static_cast<char const*>(input);
    QUAD_REQUIRE(out + size <= in || in + size <= out, "vector: out overlaps an input");
  }
}

double error_bound(Problem const& p, double x) {
  if (p.operation == Operation::add) return 0;
  double const magnitude = std::abs(p.a) * x * x + std::abs(p.b * x) + std::abs(p.c);
  return 4 * core::epsilon_of(p.type) * magnitude;
}

}  // namespace quadrille::kernels::vector
