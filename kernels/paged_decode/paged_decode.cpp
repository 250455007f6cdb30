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
  latent_wgmma,
  vendor_cuda
);
// clang-format on

Variants<Problem> variants() { return kTable; }

Problem unallocated(Shape const& x, core::DataType type) {
  device::MatrixView const of_queries{nullptr, type, x.sequences * x.heads, x.head_size,
                                      x.head_size};
  device::MatrixView const of_keys{nullptr, type, x.blocks * x.kv_heads * x.block_size, x.head_size,
                                   x.head_size};
  device::MatrixView of_values = of_keys, of_results = of_queries;
  of_values.cols = of_results.cols = of_results.ld = x.value_size();
  return {.shape = x, .q = of_queries, .k = of_keys, .v = of_values, .o = of_results};
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
  if (x.latent && (x.kv_heads != 1 || x.head_size != kLatentKey)) {
    return fmt::format("latent keys are of kv_heads = 1 and head_size = {}", kLatentKey);
  }
  if (!x.latent && x.head_size != 64 && x.head_size != 128) {
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
  std::int64_t const apart = problem.between_queries();
  bool const is_aligned =
      apart * static_cast<std::int64_t>(core::size_of(problem.q.type)) % 16 == 0;
  QUAD_REQUIRE(apart >= problem.shape.heads * problem.shape.head_size && is_aligned,
               "paged_decode: q_apart is less than the queries of a sequence have, or not whole 16 "
               "bytes");
  QUAD_REQUIRE(is_like(problem.k, like.k) && is_like(problem.v, like.v),
               "paged_decode: k or v is not (blocks kv_heads block_size) x head_size without gaps, "
               "v not columns of latent keys, or of another type than q");
  QUAD_REQUIRE(is_like(problem.o, like.o), "paged_decode: o is not like q");
}

double flop(Shape const& x) {
  return 2 * static_cast<double>(x.tokens) *
         static_cast<double>(x.heads * (x.head_size + x.value_size()));
}

double compulsory_bytes(Shape const& x, double element_bytes) {
  std::int64_t const of_token = x.kv_heads * (x.head_size + (x.latent ? 0 : x.value_size()));
  std::int64_t const of_sequence = x.heads * (x.head_size + x.value_size());
  auto const table = static_cast<double>(x.tokens) / static_cast<double>(x.block_size);
  return element_bytes * (static_cast<double>(x.tokens) * static_cast<double>(of_token) +
                          static_cast<double>(x.sequences) * static_cast<double>(of_sequence)) +
         sizeof(std::int32_t) * (table + static_cast<double>(x.sequences));
}

std::string unsupported_latent(Problem const& p) {
  return p.shape.latent ? "takes no latent keys" : "";
}

std::string unsupported_on_gpu(Problem const& p) {
  constexpr std::int64_t kMaxSequences = 65535, kMaxGroup = 16;
  constexpr std::int64_t kMaxTokens = std::int64_t{1} << 30;
  if (p.shape.latent) return unsupported_latent(p);
  if (p.shape.group() > kMaxGroup) {
    return fmt::format("takes groups of up to {} heads, this has {}", kMaxGroup, p.shape.group());
  }
  if (p.shape.sequences > kMaxSequences || p.shape.longest > kMaxTokens) {
    return fmt::format("takes up to {} sequences of up to {} tokens", kMaxSequences, kMaxTokens);
  }
  return {};
}

}  // namespace quadrille::kernels::paged_decode
