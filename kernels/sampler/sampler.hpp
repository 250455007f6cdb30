// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"
#include "core/generator.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace quadrille::kernels::sampler {

/// The next token of each request, by its logits z_0 ... z_(n - 1), of which the larger is the likelier, and
/// of equals the first.
///
///   temperature 0    the likeliest
///   else             weights w_i = floor(2^40 exp((z_i - max z) / temperature)) of the top_k likeliest, of
///                    these of the fewest that have top_p of the weight of all, and of those the first i with
///                    which the sum of weights, by index, exceeds the share of all that a random number is
///
/// Weights are whole numbers, whose sums do not depend on their order, and the random number is a function of
/// seed, request and position: so a token depends neither on the batch that it is drawn in, nor on threads.
struct Problem {
  static constexpr std::string_view kOperation = "sampler";

  device::MatrixView logits;  ///< requests x vocabulary, without gaps
  double temperature = 1;
  std::int64_t top_k = 0;  ///< 0: all
  double top_p = 1;
  std::uint64_t seed = 1;
  std::int32_t const *requests = nullptr, *positions = nullptr;  ///< of the rows
  device::MatrixView tokens;                                     ///< i32, 1 x requests
  device::MatrixView
      probabilities;  ///< f32, 1 x requests: of the token among those that it is drawn of

  bool is_greedy() const { return temperature == 0; }
  bool has_top_k() const { return top_k > 0 && top_k < logits.cols; }
};

inline constexpr double kWeightOfLargest = 0x1p40;
inline constexpr int kIndexBits = 24;
inline constexpr std::int64_t kMaxVocabulary = std::int64_t{1} << kIndexBits;

/// A share of [0, 1), in units of 2^-53.
inline constexpr int kShareBits = 53;
QUAD_HD constexpr std::uint64_t random_share(std::uint64_t seed, std::int64_t request,
                                             std::int64_t position) {
  constexpr std::uint64_t kTag = 0x73616d;
  return core::element_hash(core::row_key(seed, kTag, request), position) >> (64 - kShareBits);
}
/// floor(share total).
QUAD_HD constexpr std::uint64_t share_of(std::uint64_t share, std::uint64_t total) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(share) * total >> kShareBits);
}
/// The weight that the fewest have at least: of a top_p that is less than 1.
inline std::uint64_t share_of_top_p(double top_p) {
  return static_cast<std::uint64_t>(top_p * 0x1p53);
}
QUAD_HD constexpr std::uint64_t needed_of(std::uint64_t top_p_share, std::uint64_t total) {
  std::uint64_t const needed = share_of(top_p_share, total);
  return needed > 0 ? needed : 1;
}

/// Unsigned numbers in the order of floats.
QUAD_HD constexpr std::uint32_t ordered(float value) {
  auto const bits = __builtin_bit_cast(std::uint32_t, value + 0.0F);  // -0 is 0
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}
/// The larger the likelier; no two of a row are equal.
QUAD_HD constexpr std::uint64_t key_of(float logit, std::int64_t index) {
  return std::uint64_t{ordered(logit)} << kIndexBits |
         static_cast<std::uint64_t>(kMaxVocabulary - 1 - index);
}

/// A problem whose tensors have no memory yet.
Problem unallocated(std::int64_t requests, std::int64_t vocabulary, core::DataType type);
/// Why there is none, with the way out; empty where there is one.
std::string error_of(Problem const& problem);
/// Ends the job unless extents and types fit together.
void require_consistent(Problem const& problem);
/// Each logit once, and what is written.
double bytes_moved(Problem const& problem);

Variants<Problem> variants();
ProblemFacts facts_of(Problem const& problem);

}  // namespace quadrille::kernels::sampler
