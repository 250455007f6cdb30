// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/pair_schedule.hpp"

#include <algorithm>
#include <map>

namespace quadrille::measure {
namespace {

/// The circle method of round-robin tournaments: one player stays, the others go round. With an odd
/// number of ranks the one that meets the missing player pauses.
std::vector<std::vector<Pair>> tournament(int ranks) {
  if (ranks < 2) return {};
  int const players = ranks + ranks % 2;
  std::vector<std::vector<Pair>> rounds;
  for (int round = 0; round + 1 < players; ++round) {
    std::vector<Pair>& pairs = rounds.emplace_back();
    for (int i = 0; i < players / 2; ++i) {
      int const a = i == 0 ? players - 1 : (round + i) % (players - 1);
      int const b = (round + players - 1 - i) % (players - 1);
      if (std::max(a, b) < ranks) pairs.push_back({std::min(a, b), std::max(a, b)});
    }
  }
  return rounds;
}

}  // namespace

std::vector<std::vector<Pair>> pair_rounds(int ranks, AtOnce at_once, bool both_ways) {
  std::vector<std::vector<Pair>> rounds;
  for (std::vector<Pair> const& met : tournament(ranks)) {
    std::vector<Pair> back;
    for (Pair const& pair : met) back.push_back({pair.to, pair.from});
    rounds.push_back(met);
    if (!both_ways) rounds.push_back(std::move(back));
  }
  if (at_once == AtOnce::disjoint) return rounds;
  std::vector<std::vector<Pair>> alone;
  for (std::vector<Pair> const& pairs : rounds) {
    for (Pair const& pair : pairs) alone.push_back({pair});
  }
  return alone;
}

std::vector<PairTimes> pair_times(PairSchedule const& schedule,
                                  std::vector<std::vector<double>> const& seconds,
                                  std::vector<device::Link> const& links, int ranks) {
  std::map<std::pair<int, int>, PairTimes> found;
  auto const times_of = [&](int from, int to) -> PairTimes& {
    PairTimes& times = found[{from, to}];
    times.from = from;
    times.to = to;
    times.bytes = schedule.large_bytes;
    times.link = core::to_text(links[static_cast<std::size_t>(from * ranks + to)]);
    return times;
  };
  std::size_t place = 0;
  for (std::int64_t step = 0; step < schedule.steps(); ++step) {
    bool const is_large = PairSchedule::is_large(step);
    double const messages = is_large ? 1 : static_cast<double>(schedule.small_messages);
    for (Pair const& pair : schedule.pairs(step)) {
      std::vector<double> one;
      for (std::vector<double> const& repetition : seconds)
        one.push_back(repetition[place] / messages);
      ++place;
      if (schedule.both_ways) {
        PairTimes& back = times_of(pair.to, pair.from);
        (is_large ? back.transfer_s : back.latency_s) = one;
      }
      PairTimes& times = times_of(pair.from, pair.to);
      (is_large ? times.transfer_s : times.latency_s) = std::move(one);
    }
  }
  std::vector<PairTimes> sorted;
  for (auto& [ranks_of, times] : found) sorted.push_back(std::move(times));
  return sorted;
}

}  // namespace quadrille::measure
