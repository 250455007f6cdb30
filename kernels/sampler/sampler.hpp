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
///
/// Or a step of a beam search: rows are the beams of a request, one request behind the other. Each token i of a
/// row makes a beam of
///
///   score + log(w_i / sum w) = score + (z_i - max z) / temperature - log(sum w / 2^40)
///
/// of which the request goes on with as many as it had, the largest first: of equals those of the first row, and of
/// a row the likeliest.
struct Problem {
  static constexpr std::string_view kOperation = "sampler";
  static constexpr bool kNeedsScratch = true;

  device::MatrixView logits;  ///< rows x vocabulary, without gaps: a row for each request, or beam
  double temperature = 1;
  std::int64_t top_k = 0;  ///< 0: all
  double top_p = 1;
  std::uint64_t seed = 1;
  std::int32_t const *requests = nullptr, *positions = nullptr;  ///< of the rows
  device::MatrixView tokens;                                     ///< i32, 1 x rows
  device::MatrixView
      probabilities;  ///< f32, 1 x rows: of the token among those that it is drawn of

  std::int64_t beams = 0;  ///< of a request; 0: tokens are drawn
  float const* scores =
      nullptr;  ///< of the rows' beams; -infinity: there is no such beam yet, but for the first
  device::MatrixView
      parents;  ///< i32, 1 x rows: which beam of its request each new one goes on from
  device::MatrixView new_scores;  ///< f32, 1 x rows
  /// On a GPU: as much as the variant's scratch_bytes() says.
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;

  std::int64_t requests_count() const { return logits.rows / std::max<std::int64_t>(1, beams); }
  bool is_greedy() const { return temperature == 0; }
  bool has_top_k() const { return top_k > 0 && top_k < logits.cols; }
};

inline constexpr double kWeightOfLargest = 0x1p40;
inline constexpr int kIndexBits = 24;
inline constexpr std::int64_t kMaxVocabulary = std::int64_t{1} << kIndexBits;
inline constexpr std::int64_t kMaxBeams = 32;

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
Problem unallocated(std::int64_t requests, std::int64_t vocabulary, core::DataType type,
                    std::int64_t beams = 0);
/// Why there is none, with the way out; empty where there is one.
std::string error_of(Problem const& problem);
/// Ends the job unless extents and types fit together.
void require_consistent(Problem const& problem);
/// Each logit once, and what is written.
double bytes_moved(Problem const& problem);

Variants<Problem> variants();
ProblemFacts facts_of(Problem const& problem);

}  // namespace quadrille::kernels::sampler
