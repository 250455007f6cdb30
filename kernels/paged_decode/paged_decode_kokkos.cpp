// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// One step of decoding over a paged cache with Kokkos.
///
///   o = sum_t p_t v_t,  p_t = exp(s_t - m) / sum exp(s - m),  s_t = q . k_t / sqrt(d)
///
/// Technique    one loop over the rows of o, a head of a sequence each. A row takes 32 tokens at a
///              time, each found by way of the table (PagedAttention, Kwon et al. 2023): their
///              scores, the maximum of the scores so far, the weights; where the maximum grows,
///              what was summed before is scaled down (online softmax)
/// Shapes       any lengths, blocks, tables and groups of heads; a sequence without tokens has o = 0
/// Work         4 h d flop for each token; keys and values are read for each head of queries
/// Launch       the stream's execution space, an iteration for each row of o
/// Accuracy     error_bound() of f32, and one rounding to the type
#include "common/kokkos.hpp"
#include "paged_decode/paged_decode.hpp"

namespace quadrille::kernels::paged_decode {
namespace {

template <class T, class Space, int kHead>
struct Decoding {
  static constexpr int kTokens = 32;  // at a time
  static constexpr int kLanes = 16;   // partial sums of a score, which a host keeps in vectors

  Unmanaged<T const*, typename Space::memory_space> q, k, v;
  Unmanaged<T*, typename Space::memory_space> o;
  Unmanaged<std::int32_t const*, typename Space::memory_space> lengths, table;
  std::int64_t heads, kv_heads, block_size, table_width, between_queries;
  float scale;

  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    auto const at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    std::int64_t const sequence = row / heads;
    std::int64_t const kv_head = row % heads / (heads / kv_heads);
    std::int64_t const length = lengths(at(sequence));
    auto const first_of = [&](std::int64_t token) {
      std::int64_t const block = table(at(sequence * table_width + token / block_size));
      return ((block * kv_heads + kv_head) * block_size + token % block_size) * kHead;
    };
    float query[kHead], sum[kHead] = {};
    std::int64_t const first_query = sequence * between_queries + row % heads * kHead;
    for (int e = 0; e < kHead; ++e) query[e] = static_cast<float>(q(at(first_query + e))) * scale;
    float largest = -Kokkos::Experimental::infinity_v<float>;
    float total = 0;
    for (std::int64_t begin = 0; begin < length; begin += kTokens) {
      int const count = up_to(kTokens, length - begin);
      float weight[kTokens];
      float top = largest;
      for (int t = 0; t < count; ++t) {
        T const* const key = k.data() + first_of(begin + t);
        float part[kLanes] = {};
        for (int e = 0; e < kHead; e += kLanes) {
          for (int l = 0; l < kLanes; ++l) part[l] += query[e + l] * static_cast<float>(key[e + l]);
        }
        float score = 0;
        for (int l = 0; l < kLanes; ++l) score += part[l];
        weight[t] = score;
        top = Kokkos::fmax(top, score);
      }
      float const factor = Kokkos::exp(largest - top);  // 0 for the first tokens
      largest = top;
      total *= factor;
      for (int e = 0; e < kHead; ++e) sum[e] *= factor;
      for (int t = 0; t < count; ++t) {
        T const* const value = v.data() + first_of(begin + t);
        float const p = Kokkos::exp(weight[t] - top);
        total += p;
        for (int e = 0; e < kHead; ++e) sum[e] += p * static_cast<float>(value[e]);
      }
    }
    for (int e = 0; e < kHead; ++e) {
      o(at(row * kHead + e)) = static_cast<T>(length > 0 ? sum[e] / total : 0.0F);
    }
  }
};

template <class T, int kHead, class Space>
void decode(Space const& space, Problem const& p) {
  auto const size = [](device::MatrixView const& view) {
    return static_cast<std::size_t>(view.rows * view.cols);
  };
  Shape const& x = p.shape;
  std::int64_t const width = x.blocks_of(x.longest);
  Kokkos::parallel_for(
      "quadrille::paged_decode", RangeOf<Space>{space, 0, p.o.rows},
      Decoding<T, Space, kHead>{{static_cast<T const*>(p.q.data),
                                 static_cast<std::size_t>(x.sequences * p.between_queries())},
                                {static_cast<T const*>(p.k.data), size(p.k)},
                                {static_cast<T const*>(p.v.data), size(p.v)},
                                {static_cast<T*>(p.o.data), size(p.o)},
                                {p.lengths, static_cast<std::size_t>(x.sequences)},
                                {p.table, static_cast<std::size_t>(x.sequences * width)},
                                x.heads,
                                x.kv_heads,
                                x.block_size,
                                width,
                                p.between_queries(),
                                static_cast<float>(x.scale())});
}

void launch(Problem const& problem, device::StreamView stream) {
  device::run_kokkos(stream, [problem](auto const& space) {
    auto const with_type = [&]<class T>(T) {
      return problem.shape.head_size == 64 ? decode<T, 64>(space, problem)
                                           : decode<T, 128>(space, problem);
    };
    switch (problem.q.type) {
      case core::DataType::f32: return with_type(float{});
      case core::DataType::f16: return with_type(core::f16{});
      default: return with_type(core::bf16{});
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const kokkos{
    {.name = "kokkos",
     .where = Where::kokkos,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .needs = {.other = "no latent keys"},
     .preference = 10,
     .source = "own",
     .summary = "one source for host and GPU: a row of the result after the other, online softmax"},
    launch,
    {.unsupported = unsupported_latent}};

}  // namespace quadrille::kernels::paged_decode
