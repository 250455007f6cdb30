// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Next tokens by sorting all of the vocabulary.
///
///   the likeliest, one drawn of the top_k likeliest that have top_p of the weight, or beams: sampler.hpp
///
/// Technique    weights in f64, tokens sorted from the likeliest on, sums from the front; not meant to be fast
/// Shapes       up to 2^24 tokens
/// Work         n log n comparisons of a row, one thread
/// Launch       serial, on the stream's own thread
/// Accuracy     tokens are those of exact weights, but where a random number lies within their rounding of a
///              boundary
#include "device/device.hpp"
#include "sampler/sampler_host.hpp"

namespace quadrille::kernels::sampler {
namespace {

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([problem] {
    core::visit_type(problem.logits.type, [&](auto zero) {
      for (std::int64_t i = 0; i < problem.requests_count(); ++i) {
        make_tokens<double, decltype(zero)>(
            problem, i, [](std::vector<Candidate>& all, std::int64_t) {
              std::ranges::sort(all, std::greater{}, &Candidate::key);
            });
      }
    });
  });
}

}  // namespace

extern constinit Variant<Problem> const reference{
    {.name = "reference",
     .role = Role::reference,
     .where = Where::host,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .batch_invariant = true,
     .source = "own",
     .summary = "sorts the vocabulary, one thread"},
    launch};

}  // namespace quadrille::kernels::sampler
