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

Problem unallocated(std::int64_t requests, std::int64_t vocabulary, core::DataType type,
                    std::int64_t beams) {
  std::int64_t const rows = requests * std::max<std::int64_t>(1, beams);
  auto const of_rows = [&](core::DataType of, bool is_there) {
    return device::MatrixView{nullptr, of, is_there ? 1 : 0, rows, rows};
  };
  Problem p;
  p.logits = {nullptr, type, rows, vocabulary, vocabulary};
  p.beams = beams;
  p.tokens = of_rows(core::DataType::i32, true);
  p.probabilities = of_rows(core::DataType::f32, beams == 0);
  p.parents = of_rows(core::DataType::i32, beams > 0);
  p.new_scores = of_rows(core::DataType::f32, beams > 0);
  return p;
}

std::string error_of(Problem const& p) {
  if (p.logits.cols < 1 || p.logits.cols > kMaxVocabulary) {
    return fmt::format("a vocabulary has 1 to {} tokens, not {}", kMaxVocabulary, p.logits.cols);
  }
  if (!(p.temperature >= 0 && p.temperature < 1e30)) {
    return fmt::format("temperature = {}: take 0, for the likeliest, or up to 1e30", p.temperature);
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
  if (p.beams == 0) return {};
  if (p.beams < 0 || p.beams > kMaxBeams) {
    return fmt::format("beams = {}: take 1 to {}, or 0 to draw tokens", p.beams, kMaxBeams);
  }
  if (p.beams > p.logits.cols) {
    return fmt::format("{} beams are more than a vocabulary of {} has tokens for; take fewer",
                       p.beams, p.logits.cols);
  }
  if (p.is_greedy() || p.top_k > 0 || p.top_p < 1) {
    return "beams take the likeliest of all tokens; take top_k and top_p out, and a temperature of "
           "more than 0";
  }
  return {};
}

void require_consistent(Problem const& p) {
  std::string const error = error_of(p);
  QUAD_REQUIRE(error.empty(), "sampler: " + error);
  std::int64_t const rows_of_request = std::max<std::int64_t>(1, p.beams);
  Problem const like =
      unallocated(p.logits.rows / rows_of_request, p.logits.cols, p.logits.type, p.beams);
  QUAD_REQUIRE(is_like(p.logits, like.logits) && is_like(p.tokens, like.tokens) &&
                   is_like(p.probabilities, like.probabilities) &&
                   is_like(p.parents, like.parents) && is_like(p.new_scores, like.new_scores),
               "sampler: logits, or what is written, have other extents, or gaps");
}

ProblemFacts facts_of(Problem const& p) {
  return {.types = p.logits.type,
          .result = {"logits", p.logits},
          .inputs = {{{"tokens", p.tokens},
                      {"probabilities", p.probabilities},
                      {"parents", p.parents},
                      {"scores", p.new_scores}}}};
}

double bytes_moved(Problem const& p) {
  auto const rows = static_cast<double>(p.logits.rows);
  // Request, position, token and probability; or score, token, parent and new score.
  return rows *
         (static_cast<double>(p.logits.cols) * static_cast<double>(core::size_of(p.logits.type)) +
          4 * sizeof(std::int32_t));
}

}  // namespace quadrille::kernels::sampler
