// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/pair_schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <set>

namespace quadrille::measure {
namespace {

TEST(PairRounds, HaveEveryPairOnceAndNoRankTwice) {
  for (int ranks : {1, 2, 3, 4, 7, 16}) {
    for (AtOnce const at_once : {AtOnce::one, AtOnce::disjoint}) {
      for (bool const both_ways : {false, true}) {
        std::multiset<std::pair<int, int>> met;
        auto const rounds = pair_rounds(ranks, at_once, both_ways);
        for (std::vector<Pair> const& round : rounds) {
          std::multiset<int> busy;
          for (Pair const& pair : round) {
            met.insert({pair.from, pair.to});
            busy.insert({pair.from, pair.to});
          }
          for (int const rank : busy) EXPECT_EQ(busy.count(rank), 1U) << ranks;
          EXPECT_TRUE(at_once == AtOnce::disjoint || round.size() == 1);
        }
        for (int from = 0; from < ranks; ++from) {
          for (int to = 0; to < ranks; ++to) {
            std::size_t const wanted = from != to && (!both_ways || from < to) ? 1 : 0;
            EXPECT_EQ(met.count({from, to}), wanted) << from << " to " << to << " of " << ranks;
          }
        }
      }
    }
  }
}

TEST(PairRounds, GrowWithTheRanksWherePairsAreDisjoint) {
  EXPECT_EQ(pair_rounds(64, AtOnce::disjoint, false).size(), 126U);
  EXPECT_EQ(pair_rounds(64, AtOnce::disjoint, true).size(), 63U);
  EXPECT_EQ(pair_rounds(5, AtOnce::disjoint, true).size(), 5U) << "each rank pauses once";
  EXPECT_EQ(pair_rounds(64, AtOnce::one, false).size(), 64U * 63U);
}

std::vector<device::Link> links(int ranks) {
  return std::vector(static_cast<std::size_t>(ranks * ranks), device::Link::memory);
}

TEST(PairTimesOf, ARepetitionAreThoseOfItsSteps) {
  PairSchedule const schedule{
      .small_messages = 4, .large_bytes = 12, .rounds = {{{1, 0}}, {{0, 1}}}};

  auto const pairs = pair_times(schedule, {{8, 6, 4, 3}, {80, 60, 40, 30}}, links(2), 2);

  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].from, 0);
  EXPECT_EQ(pairs[0].to, 1);
  EXPECT_EQ(pairs[0].link, "memory");
  EXPECT_EQ(pairs[0].latency_s, (std::vector<double>{1, 10})) << "of each of four messages";
  EXPECT_EQ(pairs[0].transfer_s, (std::vector<double>{3, 30}));
  EXPECT_EQ(pairs[1].latency_s, (std::vector<double>{2, 20}));
  EXPECT_EQ(rate_of(pairs[1]), 12 / 33.0) << "by the median";
}

TEST(PairTimesOf, ExchangesStandForBothDirections) {
  PairSchedule const schedule{.both_ways = true, .large_bytes = 12, .rounds = {{{0, 1}}}};

  auto const pairs = pair_times(schedule, {{1, 3}}, links(2), 2);

  ASSERT_EQ(pairs.size(), 2U);
  for (PairTimes const& pair : pairs) {
    EXPECT_EQ(latency_of(pair), 1);
    EXPECT_EQ(rate_of(pair), 4) << "of its own direction";
  }
  EXPECT_EQ(pairs[1].from, 1);
}

TEST(PairTimesOf, NothingThatWasTimedHasNoNumbers) {
  PairSchedule const schedule{.rounds = {{{0, 1}}}};
  auto const pairs = pair_times(schedule, {}, links(2), 2);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_TRUE(std::isnan(latency_of(pairs[0])) && std::isnan(rate_of(pairs[0])));
}

}  // namespace
}  // namespace quadrille::measure
