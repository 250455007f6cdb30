// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Next tokens on the threads of a host.
///
///   the likeliest, one drawn of the top_k likeliest that have top_p of the weight, or beams: sampler.hpp
///
/// Technique    requests on all threads; exponentials in f32; the top_k likeliest come to the front by
///              partition, and they alone are sorted
/// Shapes       up to 2^24 tokens
/// Work         n comparisons of a row, and k log k, or n log n for top_p of all
/// Launch       one parallel loop of the stream over requests
/// Accuracy     as reference, with weights that are right to 2^-22
#include "device/host/parallel.hpp"
#include "sampler/sampler_host.hpp"

namespace quadrille::kernels::sampler {
namespace {

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([problem, stream] {
    core::visit_type(problem.logits.type, [&](auto zero) {
      device::parallel_for(
          stream, problem.requests_count(),
          [&](std::int64_t i) {
            make_tokens<float, decltype(zero)>(
                problem, i, [](std::vector<Candidate>& all, std::int64_t count) {
                  auto const front = all.begin() + count;
                  std::ranges::nth_element(all, front - 1, std::greater{}, &Candidate::key);
                  std::ranges::sort(all.begin(), front, std::greater{}, &Candidate::key);
                });
          },
          device::Schedule::dynamic);
    });
  });
}

}  // namespace

extern constinit Variant<Problem> const host_simd{
    {.name = "host_simd",
     .where = Where::host,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .preference = 10,
     .batch_invariant = true,
     .source = "own",
     .summary = "requests on all threads, the likeliest by partition"},
    launch};

}  // namespace quadrille::kernels::sampler
