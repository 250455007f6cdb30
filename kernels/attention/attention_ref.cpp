// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Attention as in the textbook: what every other variant is compared with.
///
///   o_i = sum_j p_j v_j,  p_j = exp(s_j - m) / sum_t exp(s_t - m),  s_j = q_i . k_j / sqrt(d)
///
/// Technique    a row of o at a time: all its scores, their maximum, the weights, the mean; not meant
///              to be fast
/// Shapes       any extents and groups of heads; j runs over the keys that the mask leaves
/// Work         4 b h q k d flop, half of it under a causal mask, one thread
/// Launch       serial, on the stream's own thread
/// Accuracy     one rounding of the f64 result
#include "attention/attention.hpp"
#include "device/device.hpp"

#include <limits>
#include <vector>

namespace quadrille::kernels::attention {
namespace {

template <class T, class Out = T>
void attend(Problem const& problem) {
  Shape const& x = problem.shape;
  std::int64_t const d = x.head_size;
  Steps const of_k = steps_of(problem, problem.k, x.keys),
              of_v = steps_of(problem, problem.v, x.keys),
              of_q = steps_of(problem, problem.q, x.queries),
              of_o = steps_of(problem, problem.o, x.queries);
  std::vector<double> weights(static_cast<std::size_t>(x.keys)), sums(static_cast<std::size_t>(d));
  for (std::int64_t head = 0; head < x.batch * x.heads; ++head) {
    T const* const k = problem.k.as<T>() + head / x.group() * of_k.head;
    T const* const v = problem.v.as<T>() + head / x.group() * of_v.head;
    for (std::int64_t i = 0; i < x.queries; ++i) {
      T const* const q = problem.q.as<T>() + head * of_q.head + i * of_q.row;
      Out* const o = problem.o.as<Out>() + head * of_o.head + i * of_o.row;
      auto const n = static_cast<std::size_t>(x.visible(i));
      double largest = -std::numeric_limits<double>::infinity();
      for (std::size_t j = 0; j < n; ++j) {
        double score = 0;
        for (std::int64_t e = 0; e < d; ++e) {
          score += static_cast<double>(q[e]) *
                   static_cast<double>(k[static_cast<std::int64_t>(j) * of_k.row + e]);
        }
        weights[j] = score * x.scale();
        largest = std::max(largest, weights[j]);
      }
      double total = 0;
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::size_t j = 0; j < n; ++j) {
        double const weight = std::exp(weights[j] - largest);
        total += weight;
        for (std::int64_t e = 0; e < d; ++e) {
          sums[static_cast<std::size_t>(e)] +=
              weight * static_cast<double>(v[static_cast<std::int64_t>(j) * of_v.row + e]);
        }
      }
      for (std::int64_t e = 0; e < d; ++e) {
        o[e] = static_cast<Out>(n == 0 ? 0 : sums[static_cast<std::size_t>(e)] / total);
      }
    }
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([problem] {
    switch (problem.q.type) {
      case core::DataType::f32: return attend<float>(problem);
      case core::DataType::f16: return attend<core::f16>(problem);
      case core::DataType::e4m3: return attend<core::e4m3, core::bf16>(problem);
      default: return attend<core::bf16>(problem);
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const reference{
    {.name = "reference",
     .role = Role::reference,
     .where = Where::host,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16,
               core::DataType::e4m3},
     .source = "own",
     .summary = "row by row, one thread, everything in f64"},
    launch};

}  // namespace quadrille::kernels::attention
