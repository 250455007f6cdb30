// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "sampler/sampler.hpp"

#include "common/like.hpp"

#include <fmt/format.h>

namespace quadrille::kernels::sampler {

// clang-format off
QUAD_TABLE(Variant<Problem> const, kTable,
  reference,
  host_simd,
  radix
);
// clang-format on

Variants<Problem> variants() { return kTable; }

Problem unallocated(std::int64_t requests, std::int64_t vocabulary, core::DataType type) {
  auto const of_requests = [&](core::DataType of) {
    return device::MatrixView{nullptr, of, 1, requests, requests};
  };
  Problem p;
  p.logits = {nullptr, type, requests, vocabulary, vocabulary};
  p.tokens = of_requests(core::DataType::i32);
  p.probabilities = of_requests(core::DataType::f32);
  return p;
}

std::string error_of(Problem const& p) {
  if (p.logits.cols < 1 || p.logits.cols > kMaxVocabulary) {
    return fmt::format("a vocabulary has 1 to {} tokens, not {}", kMaxVocabulary, p.logits.cols);
  }
  if (!(p.temperature >= 0 && p.temperature < 1e30)) {
    return fmt::format("temperature = {}: take 0, for the likeliest, or more", p.temperature);
  }
  if (!(p.top_p > 0 && p.top_p <= 1)) {
    return fmt::format("top_p = {}: take more than 0 and at most 1, which is all", p.top_p);
  }
  if (p.top_k < 0 || p.top_k > p.logits.cols) {
    return fmt::format("top_k = {} is beyond a vocabulary of {}; take 0 for all", p.top_k,
                       p.logits.cols);
  }
  if (p.is_greedy() && (p.top_k > 0 || p.top_p < 1)) {
    return "temperature = 0 takes the likeliest of all; take top_k and top_p out";
  }
  return {};
}

void require_consistent(Problem const& p) {
  std::string const error = error_of(p);
  QUAD_REQUIRE(error.empty(), "sampler: " + error);
  Problem const like = unallocated(p.logits.rows, p.logits.cols, p.logits.type);
  QUAD_REQUIRE(is_like(p.logits, like.logits) && is_like(p.tokens, like.tokens) &&
                   is_like(p.probabilities, like.probabilities),
               "sampler: logits, tokens or probabilities have other extents, or gaps");
}

ProblemFacts facts_of(Problem const& p) {
  return {.types = p.logits.type,
          .result = {"logits", p.logits},
          .inputs = {{{"tokens", p.tokens}, {"probabilities", p.probabilities}}}};
}

double bytes_moved(Problem const& p) {
  auto const rows = static_cast<double>(p.logits.rows);
  return rows *
         (static_cast<double>(p.logits.cols) * static_cast<double>(core::size_of(p.logits.type)) +
          2 * sizeof(std::int32_t) + sizeof(std::int32_t) + sizeof(float));
}

}  // namespace quadrille::kernels::sampler
