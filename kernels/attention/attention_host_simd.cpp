// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Attention with vectors of the host's width.
///
///   o_i = sum_j p_j v_j,  p_j = exp(s_j - m) / sum_t exp(s_t - m),  s_j = q_i . k_j / sqrt(d)
///
/// Technique    tiles of 96 queries, of all heads that share one of keys, against tiles of 128
///              keys: the scores of a tile stay in the second-level cache. Both products are
///              register tiles of vectors. The maximum of a row is that of the keys so far (online
///              softmax, Milakov and Gimelshein 2018): where it grows, what was summed before is
///              scaled down. Exponentials are a polynomial, a vector at a time. f16, bf16 and
///              e4m3 are widened in the tiles
/// Shapes       any extents and groups of heads; tiles of keys that nobody of a tile sees are left out
/// Work         4 b h q k d flop, half of it under a causal mask; b h q k exponentials
/// Launch       tiles of queries, the longest first, in one parallel loop of the stream; 5 buffers of a
///              thread, 272 KiB at most
/// Accuracy     error_bound() of f32, and one rounding to the type
#include "attention/attention_host_tiles.hpp"

namespace quadrille::kernels::attention {
namespace {

template <class T, class Out = T>
void attend(Problem const& problem, device::StreamView stream) {
  std::int64_t const d = problem.shape.head_size;
  auto const visible = [&](std::int64_t query) { return problem.shape.visible(query); };
  std::int64_t const queries = problem.shape.queries;
  Steps const of_o = steps_of(problem, problem.o, queries);
  auto const store = [&](std::int64_t row, float, float total, float const* sums) {
    Out* const o = problem.o.as<Out>() + row / queries * of_o.head + row % queries * of_o.row;
    float const factor = total > 0 ? 1 / total : 0;
    for (std::int64_t e = 0; e < d; ++e) o[e] = static_cast<Out>(sums[e] * factor);
  };
  TiledAttention<T, decltype(visible)>{problem, visible}.run(stream, store);
}

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([problem, stream] {
    switch (problem.q.type) {
      case core::DataType::f32: return attend<float>(problem, stream);
      case core::DataType::f16: return attend<core::f16>(problem, stream);
      case core::DataType::e4m3: return attend<core::e4m3, core::bf16>(problem, stream);
      default: return attend<core::bf16>(problem, stream);
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const host_simd{
    {.name = "host_simd",
     .where = Where::host,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16,
               core::DataType::e4m3},
     .preference = 20,
     .source = "own",
     .summary = "scores of a tile in cache, online softmax, register tiles in vectors"},
    launch};

}  // namespace quadrille::kernels::attention
