// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "peak/peak.hpp"

#include <fmt/format.h>

namespace quadrille::kernels::peak {
// clang-format off
QUAD_TABLE(Variant<Problem> const, kTable,
  reference,
  host_simd,
  fma_loop,
  mma_loop,
  wgmma_loop
);
// clang-format on

Variants<Problem> variants() { return kTable; }

ProblemFacts facts_of(Problem const& p) {
  Types const types{p.type, core::compute_for(p.type, p.compute)};
  return {.types = types,
          .result = {"the results", {p.result, core::DataType::i64, 1, p.workers, p.workers}}};
}

std::string count_unsupported(Problem const& problem) {
  // Sums of so many ones by one worker are exact in f32.
  constexpr std::int64_t kMax = std::int64_t{1} << 36;
  std::int64_t const n = problem.multiply_adds;
  if (n <= 0 || n % kQuantum != 0) {
    return fmt::format("does whole 2Mi of multiply-adds, not {}; take a multiple of 2Mi", n);
  }
  if (problem.workers == 0 || n / problem.workers <= kMax) return {};
  return fmt::format("does up to 64Gi of multiply-adds on each of {} workers; take a smaller size",
                     problem.workers);
}

void require_consistent(Problem const& p) {
  QUAD_REQUIRE(p.start != nullptr && p.result != nullptr, "peak: start or result is missing");
  QUAD_REQUIRE(p.workers > 0, "peak: workers must be positive");
}

}  // namespace quadrille::kernels::peak
