// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "ring_attention/ring_attention.hpp"

#include <cstdint>

namespace quadrille::kernels::ring_attention {

// clang-format off
QUAD_TABLE(Variant<Problem> const, kTable,
  reference,
  host_simd,
  flash_merge
);
// clang-format on

Variants<Problem> variants() { return kTable; }

Problem unallocated(attention::Shape const& shape, Seen const& seen, core::DataType type) {
  attention::Problem const whole = attention::unallocated(shape, type);
  return {.shape = shape, .seen = seen, .q = whole.q, .k = whole.k, .v = whole.v, .o = whole.o};
}

attention::Problem attention_of(Problem const& p) {
  return {.shape = p.shape, .q = p.q, .k = p.k, .v = p.v, .o = p.o};
}

ProblemFacts facts_of(Problem const& p) {
  std::int64_t const columns = p.q.cols;
  device::MatrixView const sums{p.state.sums, core::DataType::f32, p.q.rows, columns, columns};
  return {.types = p.q.type,
          .result = {"o", p.o},
          .inputs = {{{"q", p.q}, {"k", p.k}, {"v", p.v}, {"the state", sums}}}};
}

void require_consistent(Problem const& p) {
  attention::require_consistent(attention_of(p));
  QUAD_REQUIRE(p.seen.more == 0 || p.seen.more == 1,
               "ring_attention: the next query sees as many keys, or one more");
  QUAD_REQUIRE(p.seen.first_query >= 0 && p.seen.first_query <= p.shape.queries,
               "ring_attention: first_query is no query");
  QUAD_REQUIRE(
      !p.is_first || p.seen.first_query == 0,
      "ring_attention: the first block begins the state of every query; take first_query = 0");
}

std::string unsupported_on_gpu(Problem const& p) {
  return attention::unsupported_on_gpu(attention_of(p));
}

}  // namespace quadrille::kernels::ring_attention
