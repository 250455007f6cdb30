// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "attention/attention.hpp"

#include "common/like.hpp"

#include <fmt/format.h>

namespace quadrille::kernels::attention {

// clang-format off
QUAD_TABLE(Variant<Problem> const, kTable,
  reference,
  host_simd,
  kokkos,
  naive,
  flash_v1,
  flash_v2,
  flash_wgmma,
  vendor_cuda
);
// clang-format on

namespace {

double heads_of(Shape const& x) {
  return static_cast<double>(x.batch) * static_cast<double>(x.heads);
}

/// Of q, and of o.
double query_elements(Shape const& x) {
  return heads_of(x) * static_cast<double>(x.queries) * static_cast<double>(x.head_size);
}

}  // namespace

Variants<Problem> variants() { return kTable; }

double Shape::pairs() const {
  auto const q = static_cast<double>(queries), k = static_cast<double>(keys);
  if (mask == Mask::full) return q * k;
  // Query by query from the last one, which sees all keys, until one sees none.
  double const rows = std::min(q, k);
  return rows * k - rows * (rows - 1) / 2;
}

Problem unallocated(Shape const& x, core::DataType type, bool by_tokens) {
  auto const tensor = [&](std::int64_t heads, std::int64_t rows) {
    std::int64_t const cols = by_tokens ? heads * x.head_size : x.head_size;
    return device::MatrixView{nullptr, type, x.batch * (by_tokens ? rows : heads * rows), cols,
                              cols};
  };
  device::MatrixView const of_queries = tensor(x.heads, x.queries);
  device::MatrixView const of_keys = tensor(x.kv_heads, x.keys);
  device::MatrixView of_results = of_queries;
  of_results.type = result_type(type);
  return {.shape = x,
          .q = of_queries,
          .k = of_keys,
          .v = of_keys,
          .o = of_results,
          .by_tokens = by_tokens};
}

ProblemFacts facts_of(Problem const& p) {
  return {
      .types = p.q.type, .result = {"o", p.o}, .inputs = {{{"q", p.q}, {"k", p.k}, {"v", p.v}}}};
}

std::string shape_error(Shape const& x) {
  if (x.batch < 0 || x.queries < 0 || x.keys < 0 || x.heads < 1 || x.kv_heads < 1) {
    return "heads and kv_heads must be positive, and nothing negative";
  }
  if (x.heads % x.kv_heads != 0) {
    return fmt::format("{} kv_heads do not divide {} heads; take a divisor", x.kv_heads, x.heads);
  }
  if (x.head_size != 64 && x.head_size != 128 && x.head_size != 256) {
    return fmt::format("head_size is {}; take 64, 128 or 256", x.head_size);
  }
  return {};
}

void require_consistent(Problem const& problem) {
  std::string const error = shape_error(problem.shape);
  QUAD_REQUIRE(error.empty(), "attention: " + error);
  Problem like = unallocated(problem.shape, problem.q.type, problem.by_tokens);
  if (problem.by_tokens) {
    QUAD_REQUIRE(problem.shape.batch == 1, "attention: tokens of one sequence alone");
    like.q = with_gaps(like.q, problem.q);
    like.k = with_gaps(like.k, problem.k);
    like.v = with_gaps(like.v, problem.v);
    like.o = with_gaps(like.o, problem.o);
  }
  QUAD_REQUIRE(is_like(problem.q, like.q),
               "attention: q is not (batch heads queries) x head_size without gaps");
  QUAD_REQUIRE(is_like(problem.k, like.k) && is_like(problem.v, like.v),
               "attention: k or v is not (batch kv_heads keys) x head_size without gaps, or of "
               "another type than q");
  QUAD_REQUIRE(is_like(problem.o, like.o), "attention: o is not like q");
}

double flop(Shape const& x) {
  return 4 * heads_of(x) * x.pairs() * static_cast<double>(x.head_size);
}

double compulsory_bytes(Shape const& x, double element_bytes, double result_bytes) {
  double const of_keys = static_cast<double>(x.batch) * static_cast<double>(x.kv_heads) *
                         static_cast<double>(x.keys) * static_cast<double>(x.head_size);
  return element_bytes * (query_elements(x) + 2 * of_keys) + result_bytes * query_elements(x);
}

double stored_scores_bytes(Shape const& x, double element_bytes) {
  return compulsory_bytes(x, element_bytes, element_bytes) +
         4 * sizeof(float) * heads_of(x) * x.pairs();
}

double tiled_bytes(Shape const& x, double element_bytes, std::int64_t tile_queries) {
  double keys = 0;
  for (std::int64_t i = 0; i < x.queries; i += tile_queries) {
    keys += static_cast<double>(x.visible(std::min(i + tile_queries, x.queries) - 1));
  }
  return element_bytes * 2 *
         (query_elements(x) + heads_of(x) * keys * static_cast<double>(x.head_size));
}

ErrorBound::ErrorBound(core::DataType type, std::int64_t blocks)
    : weight_{core::size_of(type) <= 2 ? core::epsilon_of(type) / 2 : 0},
      least_weight_{core::size_of(type) <= 2 ? core::least_of(type) / 2 : 0},
      storing_{core::epsilon_of(result_type(type)) / 2},
      least_{core::least_of(result_type(type))},
      is_8_bit_{core::size_of(type) == 1},
      blocks_{blocks} {
  if (is_8_bit_) least_weight_ *= 0x1p-8;
}

double ErrorBound::operator()(Row const& row, double o, double deviation) const {
  if (row.n == 0) return 0;  // nothing is computed
  static double const kAdding = core::epsilon_of(core::DataType::f32);
  auto const n = static_cast<double>(row.n);
  double const size = std::hypot(deviation, o);
  double const merging =
      blocks_ > 1 ? 4 * row.score * deviation + 4 * static_cast<double>(blocks_) * size : 0;
  double const cut = is_8_bit_ ? 0x1p-9 * row.score + std::min(n, 128.0) * 0x1p-14 : 0;
  double const of_products = is_8_bit_ ? n * 0x1p-18 * row.weight * row.value : 0;
  return of_products +
         kAdding *
             ((4 * row.score + 8) * deviation + std::sqrt(n) * std::abs(o) + 4 * size + merging) +
         (weight_ + cut) * (std::abs(o) + 4 * std::sqrt(row.weight) * deviation) +
         least_weight_ * n * row.weight * row.value + storing_ * std::abs(o) + least_;
}

std::string unsupported_head(Problem const& p) {
  if (p.by_tokens) return "takes the rows of a head one after the other";
  if (p.shape.head_size <= 128) return {};
  return fmt::format("takes head sizes 64 and 128, this is {}", p.shape.head_size);
}

std::string unsupported_on_gpu(Problem const& p) {
  std::string const reason = unsupported_head(p);
  return reason.empty() ? unsupported_extent(p) : reason;
}

std::string unsupported_extent(Problem const& p) {
  std::int64_t const max_rows =
      (std::int64_t{1} << 31) / std::max<std::int64_t>(128, p.shape.head_size) - 1024;
  constexpr std::int64_t kMaxHeads = 65535;
  if (p.shape.batch * p.shape.heads > kMaxHeads) {
    return fmt::format("takes up to {} heads of all sequences, this has {}", kMaxHeads,
                       p.shape.batch * p.shape.heads);
  }
  if (std::max(p.shape.queries, p.shape.keys) > max_rows) {
    return fmt::format("takes up to {} queries and keys of a head", max_rows);
  }
  return {};
}

}  // namespace quadrille::kernels::attention
