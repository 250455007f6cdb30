// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/attention.hpp"
#include "common/variant.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace quadrille::kernels::ring_attention {

/// Which keys of a block queries see: none before `first_query`, then a number of the first ones, which
/// stays or grows by one from query to query.
struct Seen {
  std::int64_t first_query = 0;
  std::int64_t keys = 0;  ///< of query 0, if it saw any; may be more than there are
  std::int64_t more = 0;  ///< 0, or 1: that the next query sees
  std::int64_t by(std::int64_t query, std::int64_t of) const {
    if (query < first_query) return 0;
    return std::clamp<std::int64_t>(keys + query * more, 0, of);
  }
};

/// What queries have come to after some blocks of keys. For each row of q the largest of its scores m, which
/// are not scaled; the sum of the weights exp(scale (s_j - m)); and head_size sums of weighted values.
struct State {
  float* largest = nullptr;
  float* total = nullptr;
  float* sums = nullptr;
};
/// Numbers of f32 in a state of so many rows.
inline std::int64_t state_size(std::int64_t rows, std::int64_t head_size) {
  return rows * (head_size + 2);
}
/// A state in memory for state_size() numbers, which is aligned as `memory` is.
inline State state_in(float* memory, std::int64_t rows, std::int64_t head_size) {
  float* const rest = memory + rows * head_size;
  return {rest, rest + rows, memory};
}

/// Takes a block of keys and values into the state of all queries: what remains of attention where keys come
/// in blocks, one after the other. The states of two sets of keys become that of both:
///
///   m = max(m_1, m_2), f_i = exp(scale (m_i - m)), total = f_1 total_1 + f_2 total_2, sums likewise
///
/// The first block begins the state, after the last one o = sums / total, and 0 for a query that saw no key.
/// What o may be off by: attention::ErrorBound with the number of blocks.
/// (Milakov, Gimelshein: Online normalizer calculation for softmax, 2018; Liu et al.: Ring attention, 2023.)
struct Problem {
  static constexpr std::string_view kOperation = "ring_attention";

  attention::Shape shape{};  ///< of these queries and these keys; `seen` is in place of its mask
  Seen seen{};
  device::MatrixView q;  ///< batch x heads x queries rows of head_size, without gaps
  device::MatrixView k;  ///< batch x kv_heads x keys rows, without gaps
  device::MatrixView v;  ///< like k
  device::MatrixView o;  ///< like q
  State state{};
  bool is_first =
      true;  ///< block; every query must see a key of it, or no earlier one than first_query = 0
  bool is_last = true;  ///< writes o; leaves the state undefined
  /// On a GPU: as much as the variant's scratch_bytes() says, aligned to 256 bytes.
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;
};

/// A problem whose tensors have no memory yet.
Problem unallocated(attention::Shape const& shape, Seen const& seen, core::DataType type);
/// The same as attention alone sees it.
attention::Problem attention_of(Problem const& problem);

/// Ends the job unless shape, extents and types fit together.
void require_consistent(Problem const& problem);

Variants<Problem> variants();
ProblemFacts facts_of(Problem const& problem);

/// For Specifics::unsupported of kernels.
std::string unsupported_on_gpu(Problem const& problem);

}  // namespace quadrille::kernels::ring_attention
