// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// One step of decoding over a paged cache as in the textbook.
///
///   o = sum_t p_t v_t,  p_t = exp(s_t - m) / sum exp(s - m),  s_t = q . k_t / sqrt(d)
///
/// Technique    head by head all scores, their maximum, the weights, the mean; not meant to be fast
/// Shapes       any lengths, blocks, tables and groups of heads; a sequence without tokens has o = 0
/// Work         2 h (d + d of values) flop for each token, one thread
/// Launch       serial, on the stream's own thread
/// Accuracy     one rounding of the f64 result
#include "device/device.hpp"
#include "paged_decode/paged_decode.hpp"

#include <limits>
#include <vector>

namespace quadrille::kernels::paged_decode {
namespace {

template <class T>
void decode(Problem const& problem) {
  Shape const& x = problem.shape;
  std::int64_t const d = x.head_size, of_value = x.value_size();
  for (std::int64_t row = 0; row < problem.o.rows; ++row) {
    std::int64_t const s = row / x.heads, kv_head = row % x.heads / x.group();
    std::int32_t const* const table = problem.table + s * x.blocks_of(x.longest);
    T const* const q = problem.q.as<T>() + s * problem.between_queries() + row % x.heads * d;
    auto const place = [&](std::int64_t t) {
      std::int64_t const block = table[t / x.block_size];
      return (block * x.kv_heads + kv_head) * x.block_size + t % x.block_size;
    };
    std::vector<double> scores, sums(static_cast<std::size_t>(of_value));
    double largest = -std::numeric_limits<double>::infinity(), total = 0;
    for (std::int64_t t = 0; t < problem.lengths[s]; ++t) {
      T const* const k = problem.k.as<T>() + place(t) * problem.k.ld;
      double score = 0;
      for (std::int64_t e = 0; e < d; ++e) {
        score += static_cast<double>(q[e]) * static_cast<double>(k[e]);
      }
      scores.push_back(score * x.scale());
      largest = std::max(largest, scores.back());
    }
    for (std::int64_t t = 0; t < problem.lengths[s]; ++t) {
      T const* const v = problem.v.as<T>() + place(t) * problem.v.ld;
      double const weight = std::exp(scores[static_cast<std::size_t>(t)] - largest);
      total += weight;
      for (std::int64_t e = 0; e < of_value; ++e) {
        sums[static_cast<std::size_t>(e)] += weight * static_cast<double>(v[e]);
      }
    }
    for (std::int64_t e = 0; e < of_value; ++e) {
      double const mean = total > 0 ? sums[static_cast<std::size_t>(e)] / total : 0;
      problem.o.as<T>()[row * of_value + e] = static_cast<T>(mean);
    }
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([problem] {
    switch (problem.q.type) {
      case core::DataType::f32: return decode<float>(problem);
      case core::DataType::f16: return decode<core::f16>(problem);
      default: return decode<core::bf16>(problem);
    }
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
     .summary = "head by head, one thread, everything in f64"},
    launch};

}  // namespace quadrille::kernels::paged_decode
