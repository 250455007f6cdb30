// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "paged_decode/paged_decode.hpp"

#include "common/like.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdint>

namespace quadrille::kernels::paged_decode {

// clang-format off
QUAD_TABLE(Variant<Problem> const, kTable,
  reference,
  host_simd,
  kokkos,
  gather_then_attend,
  paged,
  paged_split,
  paged_bulk,
  contiguous,
  vendor_cuda
);
// clang-format on

Variants<Problem> variants() { return kTable; }

Problem unallocated(Shape const& x, core::DataType type) {
  device::MatrixView const of_queries{nullptr, type, x.sequences * x.heads, x.head_size,
                                      x.head_size};
  device::MatrixView const of_keys{nullptr, type, x.blocks * x.kv_heads * x.block_size, x.head_size,
                                   x.head_size};
  return {.shape = x, .q = of_queries, .k = of_keys, .v = of_keys, .o = of_queries};
}

ProblemFacts facts_of(Problem const& p) {
  return {
      .types = p.q.type, .result = {"o", p.o}, .inputs = {{{"q", p.q}, {"k", p.k}, {"v", p.v}}}};
}

std::string shape_error(Shape const& x) {
  if (x.sequences < 0 || x.tokens < 0 || x.longest < 0 || x.blocks < 0 || x.heads < 1 ||
      x.kv_heads < 1) {
    return "heads and kv_heads must be positive, and nothing negative";
  }
  if (x.heads % x.kv_heads != 0) {
    return fmt::format("{} kv_heads do not divide {} heads; take a divisor", x.kv_heads, x.heads);
  }
  if (x.head_size != 64 && x.head_size != 128) {
    return fmt::format("head_size is {}; take 64 or 128", x.head_size);
  }
  bool const is_power = std::has_single_bit(static_cast<std::uint64_t>(x.block_size));
  if (x.block_size < 8 || x.block_size > 128 || !is_power) {
    return fmt::format("block_size is {}; take 8, 16, 32, 64 or 128", x.block_size);
  }
  return {};
}

void require_consistent(Problem const& problem) {
  std::string const error = shape_error(problem.shape);
  QUAD_REQUIRE(error.empty(), "paged_decode: " + error);
  Problem const like = unallocated(problem.shape, problem.q.type);
  QUAD_REQUIRE(is_like(problem.q, like.q),
               "paged_decode: q is not (sequences heads) x head_size without gaps");
  QUAD_REQUIRE(is_like(problem.k, like.k) && is_like(problem.v, like.v),
               "paged_decode: k or v is not (blocks kv_heads block_size) x head_size without gaps, "
               "or of another type than q");
  QUAD_REQUIRE(is_like(problem.o, like.o), "paged_decode: o is not like q");
}

double flop(Shape const& x) {
  return 4 * static_cast<double>(x.tokens) * static_cast<double>(x.heads * x.head_size);
}

double compulsory_bytes(Shape const& x, double element_bytes) {
  double const of_keys = static_cast<double>(x.tokens) * static_cast<double>(x.kv_heads);
  double const of_queries = static_cast<double>(x.sequences) * static_cast<double>(x.heads);
  auto const table = static_cast<double>(x.tokens) / static_cast<double>(x.block_size);
  return element_bytes * 2 * static_cast<double>(x.head_size) * (of_keys + of_queries) +
         sizeof(std::int32_t) * (table + static_cast<double>(x.sequences));
}

std::string unsupported_on_gpu(Problem const& p) {
  constexpr std::int64_t kMaxSequences = 65535, kMaxGroup = 16;
  constexpr std::int64_t kMaxTokens = std::int64_t{1} << 30;
  if (p.shape.group() > kMaxGroup) {
    return fmt::format("takes groups of up to {} heads, this has {}", kMaxGroup, p.shape.group());
  }
  if (p.shape.sequences > kMaxSequences || p.shape.longest > kMaxTokens) {
    return fmt::format("takes up to {} sequences of up to {} tokens", kMaxSequences, kMaxTokens);
  }
  return {};
}

}  // namespace quadrille::kernels::paged_decode
