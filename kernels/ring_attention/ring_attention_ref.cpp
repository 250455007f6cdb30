// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// A block of keys of ring attention as in the textbook: what every other variant is compared with.
///
///   m' = max(m, s_1, ..., s_n),  l' = l exp(m - m') + sum_j exp(s_j - m'),  a' likewise with v_j;  o = a' / l'
///
/// Technique    a row of q at a time: all its scores with the block, one maximum of them and of the state, the
///              weights, the sums; not meant to be fast
/// Shapes       any extents and groups of heads; j runs over the keys of the block that are seen
/// Work         4 head_size flop for each pair of a query and a key that it sees, one thread
/// Launch       serial, on the stream's own thread
/// Accuracy     one rounding to f32 of the f64 sums for each block
#include "device/device.hpp"
#include "ring_attention/ring_attention.hpp"

#include <limits>
#include <vector>

namespace quadrille::kernels::ring_attention {
namespace {

template <class T>
void attend(Problem const& p) {
  attention::Shape const& x = p.shape;
  std::int64_t const d = x.head_size;
  std::vector<double> scores(static_cast<std::size_t>(x.keys)), sums(static_cast<std::size_t>(d));
  for (std::int64_t row = 0; row < p.q.rows; ++row) {
    std::int64_t const kv_head = row / x.queries / x.group();
    T const* const q = p.q.as<T>() + row * d;
    T const* const k = p.k.as<T>() + kv_head * x.keys * d;
    T const* const v = p.v.as<T>() + kv_head * x.keys * d;
    auto const n = static_cast<std::size_t>(p.seen.by(row % x.queries, x.keys));
    double const before =
        p.is_first ? -std::numeric_limits<double>::infinity() : double{p.state.largest[row]};
    double largest = before;
    for (std::size_t j = 0; j < n; ++j) {
      scores[j] = 0;
      for (std::int64_t e = 0; e < d; ++e) {
        scores[j] += static_cast<double>(q[e]) *
                     static_cast<double>(k[static_cast<std::int64_t>(j) * d + e]);
      }
      largest = std::max(largest, scores[j]);
    }
    bool const had_keys = before > -std::numeric_limits<double>::infinity();
    double const factor = had_keys ? std::exp(x.scale() * (before - largest)) : 0;
    double total = had_keys ? p.state.total[row] * factor : 0;
    for (std::int64_t e = 0; e < d; ++e) {
      sums[static_cast<std::size_t>(e)] = had_keys ? p.state.sums[row * d + e] * factor : 0;
    }
    for (std::size_t j = 0; j < n; ++j) {
      double const weight = std::exp(x.scale() * (scores[j] - largest));
      total += weight;
      for (std::int64_t e = 0; e < d; ++e) {
        sums[static_cast<std::size_t>(e)] +=
            weight * static_cast<double>(v[static_cast<std::int64_t>(j) * d + e]);
      }
    }
    p.state.largest[row] = static_cast<float>(largest);
    p.state.total[row] = static_cast<float>(total);
    for (std::int64_t e = 0; e < d; ++e) {
      double const sum = sums[static_cast<std::size_t>(e)];
      p.state.sums[row * d + e] = static_cast<float>(sum);
      if (p.is_last) p.o.as<T>()[row * d + e] = static_cast<T>(total > 0 ? sum / total : 0);
    }
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([problem] {
    switch (problem.q.type) {
      case core::DataType::f32: return attend<float>(problem);
      case core::DataType::f16: return attend<core::f16>(problem);
      default: return attend<core::bf16>(problem);
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const reference{
    {.name = "reference",
     .role = Role::reference,
     .where = Where::host,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .source = "own",
     .summary = "row by row, one thread, a block of keys in f64"},
    launch};

}  // namespace quadrille::kernels::ring_attention
