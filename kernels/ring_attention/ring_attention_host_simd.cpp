// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// A block of keys of ring attention with vectors of the host's width.
///
///   m' = max(m, m_b),  l' = l exp(m - m') + l_b exp(m_b - m'),  a' likewise;  o = a' / l'
///
/// Technique    attention of the block as `host_simd` of attention has it, scores of a tile in
///              cache (online softmax, Milakov and Gimelshein 2018; f16 and bf16 are widened in the
///              tiles); a row of sums is merged with the state while it is in cache, in the order
///              of the blocks
/// Shapes       any extents and groups of heads; tiles of keys that nobody of a tile sees are left out
/// Work         4 head_size flop for each pair of a query and a key that it sees; 8 (d + 2) bytes a row of
///              state
/// Launch       tiles of queries in one parallel loop of the stream
/// Accuracy     error_bound() of f32, and one rounding to the type
#include "attention/attention_host_tiles.hpp"
#include "ring_attention/ring_attention.hpp"

#include <cmath>

namespace quadrille::kernels::ring_attention {
namespace {

/// What sums under one maximum are multiplied by under another; 0 where nothing was summed.
float factor_of(float largest, float top, float scale) {
  return largest == attention::kLowest ? 0 : std::exp2((largest - top) * scale);
}

template <class T>
void attend(Problem const& p, device::StreamView stream) {
  std::int64_t const d = p.shape.head_size;
  auto const scale = static_cast<float>(p.shape.scale() * attention::kPowers);
  auto const visible = [&](std::int64_t query) { return p.seen.by(query, p.shape.keys); };
  auto const merge = [&](std::int64_t row, float largest, float total, float* sums) {
    float* const before = p.state.sums + row * d;
    if (!p.is_first) {
      float const top = std::max(p.state.largest[row], largest);
      float const old = factor_of(p.state.largest[row], top, scale);
      float const added = factor_of(largest, top, scale);
      largest = top;
      total = p.state.total[row] * old + total * added;
      for (std::int64_t e = 0; e < d; ++e) sums[e] = before[e] * old + sums[e] * added;
    }
    if (p.is_last) {
      T* const o = p.o.as<T>() + row * d;
      float const factor = total > 0 ? 1 / total : 0;
      for (std::int64_t e = 0; e < d; ++e) o[e] = static_cast<T>(sums[e] * factor);
      return;
    }
    p.state.largest[row] = largest;
    p.state.total[row] = total;
    std::copy_n(sums, d, before);
  };
  attention::Problem const block = attention_of(p);
  attention::TiledAttention<T, decltype(visible)>{block, visible}.run(stream, merge);
}

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([problem, stream] {
    switch (problem.q.type) {
      case core::DataType::f32: return attend<float>(problem, stream);
      case core::DataType::f16: return attend<core::f16>(problem, stream);
      default: return attend<core::bf16>(problem, stream);
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const host_simd{
    {.name = "host_simd",
     .where = Where::host,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .preference = 20,
     .source = "own",
     .summary = "scores of a tile in cache, rows merged with the state while they are there"},
    launch};

}  // namespace quadrille::kernels::ring_attention
