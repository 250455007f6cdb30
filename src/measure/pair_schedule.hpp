// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/link.hpp"
#include "measure/record.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace quadrille::measure {

/// Two ranks between which messages travel.
struct Pair {
  int from = 0, to = 0;
  bool has(int rank) const { return from == rank || to == rank; }
};

/// A repetition that is timed step by step: every round of pairs once with small messages, which
/// gives their latency, and once with large ones, which gives their rate. All ranks meet at a
/// barrier before each step, and those that are in no pair of it wait at the next.
struct PairSchedule {
  bool both_ways = false;           ///< at once; else `to` answers small messages alone
  std::int64_t small_messages = 1;  ///< one after the other in a step: the latency is their mean
  std::int64_t small_bytes = 8;
  double large_bytes = 0;                 ///< of one message each way
  std::vector<std::vector<Pair>> rounds;  ///< no rank is twice in one

  std::int64_t steps() const { return 2 * static_cast<std::int64_t>(rounds.size()); }
  static bool is_large(std::int64_t step) { return step % 2 == 1; }
  std::vector<Pair> const& pairs(std::int64_t step) const {
    return rounds[static_cast<std::size_t>(step / 2)];
  }
};

/// How many pairs exchange at a time.
enum class AtOnce { one, disjoint };

/// All ordered pairs of so many ranks, or with `both_ways` all unordered ones, from < to: one a
/// round, or in as few rounds as there can be of pairs that have no rank in common.
std::vector<std::vector<Pair>> pair_rounds(int ranks, AtOnce at_once, bool both_ways);

/// Of each ordered pair, sorted: `seconds` is [repetition][pair of a step], `links` [from * ranks + to].
std::vector<PairTimes> pair_times(PairSchedule const& schedule,
                                  std::vector<std::vector<double>> const& seconds,
                                  std::vector<device::Link> const& links, int ranks);

}  // namespace quadrille::measure
