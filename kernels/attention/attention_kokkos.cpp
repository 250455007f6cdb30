// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Attention with Kokkos.
///
///   o_i = sum_j p_j v_j,  p_j = exp(s_j - m) / sum_t exp(s_t - m),  s_j = q_i . k_j / sqrt(d)
///
/// Technique    one loop over the rows of o. A row takes 32 keys at a time: their scores, the maximum of
///              the scores so far, the weights; where the maximum grows, what was summed before is scaled
///              down (online softmax), so that no scores lie in memory. On a GPU neighbouring threads
///              have neighbouring queries, which read the same keys
/// Shapes       any extents and groups of heads; keys that the mask hides are left out
/// Work         4 b h q k d flop, half of it under a causal mask; keys and values are read for each query
/// Launch       the stream's execution space, an iteration for each row of o
/// Accuracy     error_bound() of f32, and one rounding to the type
#include "attention/attention.hpp"
#include "common/kokkos.hpp"

namespace quadrille::kernels::attention {
namespace {

template <class T, class Space, int kHead>
struct Attention {
  static constexpr int kKeys = 32;   // at a time
  static constexpr int kLanes = 16;  // partial sums of a score, which a host keeps in vectors

  Unmanaged<T const*, typename Space::memory_space> q, k, v;
  Unmanaged<T*, typename Space::memory_space> o;
  std::int64_t queries, keys, group;
  bool is_causal;
  float scale;

  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    auto const at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    std::int64_t const head = row / queries;
    std::int64_t const first = head / group * keys * kHead;  // of its keys
    std::int64_t seen = keys;
    if (is_causal) {
      seen = keys - queries + 1 + row % queries;
      if (seen < 0) seen = 0;
    }
    float query[kHead], sum[kHead] = {};
    for (int e = 0; e < kHead; ++e) query[e] = static_cast<float>(q(at(row * kHead + e))) * scale;
    float largest = -Kokkos::Experimental::infinity_v<float>;
    float total = 0;
    for (std::int64_t begin = 0; begin < seen; begin += kKeys) {
      int const count = up_to(kKeys, seen - begin);
      float weight[kKeys];
      float top = largest;
      for (int j = 0; j < count; ++j) {
        T const* const key = k.data() + first + (begin + j) * kHead;
        float part[kLanes] = {};
        for (int e = 0; e < kHead; e += kLanes) {
          for (int l = 0; l < kLanes; ++l) part[l] += query[e + l] * static_cast<float>(key[e + l]);
        }
        float score = 0;
        for (int l = 0; l < kLanes; ++l) score += part[l];
        weight[j] = score;
        top = Kokkos::fmax(top, score);
      }
      float const factor = Kokkos::exp(largest - top);  // 0 for the first keys
      largest = top;
      total *= factor;
      for (int e = 0; e < kHead; ++e) sum[e] *= factor;
      for (int j = 0; j < count; ++j) {
        T const* const value = v.data() + first + (begin + j) * kHead;
        float const p = Kokkos::exp(weight[j] - top);
        total += p;
        for (int e = 0; e < kHead; ++e) sum[e] += p * static_cast<float>(value[e]);
      }
    }
    for (int e = 0; e < kHead; ++e) {
      o(at(row * kHead + e)) = static_cast<T>(seen > 0 ? sum[e] / total : 0.0F);
    }
  }
};

template <class T, int kHead, class Space>
void attend(Space const& space, Problem const& p) {
  auto const size = [](device::MatrixView const& view) {
    return static_cast<std::size_t>(view.rows * view.cols);
  };
  Kokkos::parallel_for("quadrille::attention", RangeOf<Space>{space, 0, p.o.rows},
                       Attention<T, Space, kHead>{{static_cast<T const*>(p.q.data), size(p.q)},
                                                  {static_cast<T const*>(p.k.data), size(p.k)},
                                                  {static_cast<T const*>(p.v.data), size(p.v)},
                                                  {static_cast<T*>(p.o.data), size(p.o)},
                                                  p.shape.queries,
                                                  p.shape.keys,
                                                  p.shape.group(),
                                                  p.shape.mask == Mask::causal,
                                                  static_cast<float>(p.shape.scale())});
}

void launch(Problem const& problem, device::StreamView stream) {
  device::run_kokkos(stream, [problem](auto const& space) {
    auto const with_type = [&]<class T>(T) {
      return problem.shape.head_size == 64 ? attend<T, 64>(space, problem)
                                           : attend<T, 128>(space, problem);
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
     .needs = {.other = "a head size of 64 or 128"},
     .preference = 10,
     .source = "own",
     .summary = "one source for host and GPU: a row of the result after the other, online softmax"},
    launch,
    {.unsupported = unsupported_head}};

}  // namespace quadrille::kernels::attention
