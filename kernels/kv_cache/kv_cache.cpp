// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kv_cache/kv_cache.hpp"

#include "common/like.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdint>

namespace quadrille::kernels::kv_cache {

// clang-format off
QUAD_TABLE(Variant<Problem> const, kTable,
  reference,
  host_simd,
  by_element,
  by_warp,
  by_copy_engine,
  vendor_cuda
);
// clang-format on

Variants<Problem> variants() { return kTable; }

Problem unallocated(Shape const& x, Action action, std::int64_t count, core::DataType type) {
  std::int64_t const width = x.kv_heads * x.head_size;
  device::MatrixView const of_tokens{nullptr, type, is_of_tokens(action) ? count : 0, width, width};
  device::MatrixView const of_pool{nullptr, type, x.blocks * x.rows_of_block(), x.head_size,
                                   x.head_size};
  return {.shape = x,
          .action = action,
          .count = count,
          .token_k = of_tokens,
          .token_v = of_tokens,
          .k = of_pool,
          .v = of_pool,
          .host_k = is_swap(action) ? of_pool : device::MatrixView{},
          .host_v = is_swap(action) ? of_pool : device::MatrixView{}};
}

Ends ends_of(Problem const& p) {
  switch (p.action) {
    case Action::write: return {p.token_k, p.token_v, p.k, p.v};
    case Action::read: return {p.k, p.v, p.token_k, p.token_v};
    case Action::copy: return {p.k, p.v, p.k, p.v};
    case Action::swap_out: return {p.k, p.v, p.host_k, p.host_v};
    case Action::swap_in: return {p.host_k, p.host_v, p.k, p.v};
  }
  return {};
}

ProblemFacts facts_of(Problem const& p) {
  if (p.action == Action::copy) {
    return {.types = p.k.type, .result = {"k", p.k}, .inputs = {{{"v", p.v}}}};
  }
  if (is_swap(p.action)) {
    return {.types = p.k.type,
            .result = {"k", p.k},
            .inputs = {{{"v", p.v}, {"host_k", p.host_k}, {"host_v", p.host_v}}}};
  }
  return {.types = p.k.type,
          .result = {"k", p.k},
          .inputs = {{{"v", p.v}, {"token_k", p.token_k}, {"token_v", p.token_v}}}};
}

std::string shape_error(Shape const& x) {
  if (x.kv_heads < 1 || x.blocks < 0) return "kv_heads must be positive, and nothing negative";
  if (x.head_size != 64 && x.head_size != 128 && x.head_size != 256) {
    return fmt::format("head_size is {}; take 64, 128 or 256", x.head_size);
  }
  bool const is_power = std::has_single_bit(static_cast<std::uint64_t>(x.block_size));
  if (x.block_size < 8 || x.block_size > 128 || !is_power) {
    return fmt::format("block_size is {}; take 8, 16, 32, 64 or 128", x.block_size);
  }
  return {};
}

void require_consistent(Problem const& p) {
  std::string const error = shape_error(p.shape);
  QUAD_REQUIRE(error.empty(), "kv_cache: " + error);
  QUAD_REQUIRE(p.count >= 0, "kv_cache: there are fewer than no tokens");
  Problem const like = unallocated(p.shape, p.action, p.count, p.k.type);
  QUAD_REQUIRE(is_like(p.k, like.k) && is_like(p.v, like.v),
               "kv_cache: k or v is not (blocks kv_heads block_size) x head_size without gaps");
  // The host's pool may have more blocks, or fewer.
  Problem const of_host = [&] {
    Problem other = like;
    other.host_k.rows = other.host_v.rows =
        p.host_k.rows / p.shape.rows_of_block() * p.shape.rows_of_block();
    return other;
  }();
  QUAD_REQUIRE(!is_swap(p.action) ||
                   (is_like(p.host_k, of_host.host_k) && is_like(p.host_v, of_host.host_v)),
               "kv_cache: host_k or host_v is not like k");
  QUAD_REQUIRE(!is_of_tokens(p.action) || (is_like(p.token_k, with_gaps(like.token_k, p.token_k)) &&
                                           is_like(p.token_v, with_gaps(like.token_v, p.token_v))),
               "kv_cache: token_k or token_v is not tokens x (kv_heads head_size)");
}

double bytes_moved(Problem const& p) {
  Shape const& x = p.shape;
  std::int64_t const rows = is_of_tokens(p.action) ? x.kv_heads : x.rows_of_block();
  auto const elements = static_cast<double>(p.count) * static_cast<double>(rows * x.head_size);
  double const places = static_cast<double>(p.count) * (is_of_tokens(p.action) ? 1 : 2);
  // k and v, read and written, or over the link.
  return (is_swap(p.action) ? 2 : 4) * elements * static_cast<double>(core::size_of(p.k.type)) +
         sizeof(std::int32_t) * places;
}

}  // namespace quadrille::kernels::kv_cache
