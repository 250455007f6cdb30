// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace quadrille::core {
namespace {

TEST(Stats, HandComputedSample) {
  Summary const s = summarize(std::vector<double>{4, 1, 3, 2});
  EXPECT_EQ(s.n, 4);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.median, 2.5);
  EXPECT_EQ(s.p95, 4);
  EXPECT_EQ(s.max, 4);
  EXPECT_EQ(s.mean, 2.5);
  EXPECT_DOUBLE_EQ(s.cv, std::sqrt(5.0 / 3) / 2.5);
}

TEST(Stats, OddSampleHasItsMiddleValue) {
  EXPECT_EQ(summarize(std::vector<double>{9, 1, 5}).median, 5);
}

TEST(Stats, P95IsTheNearestRank) {
  std::vector<double> sample(100);
  std::iota(sample.begin(), sample.end(), 1.0);
  EXPECT_EQ(summarize(sample).p95, 95);
  sample.resize(20);
  EXPECT_EQ(summarize(sample).p95, 19);
  sample.push_back(21);
  EXPECT_EQ(summarize(sample).p95, 20);
}

TEST(Stats, OneValueIsItsOwnSummary) {
  Summary const s = summarize(std::vector<double>{7});
  EXPECT_EQ(s.n, 1);
  for (double const x : {s.min, s.median, s.p95, s.max, s.mean}) EXPECT_EQ(x, 7);
  EXPECT_EQ(s.cv, 0);
}

TEST(Stats, EmptySampleCountsZero) { EXPECT_EQ(summarize({}).n, 0); }

TEST(Stats, NanReachesEveryNumber) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  for (std::vector<double> const& sample :
       {std::vector<double>{nan, 1, 2}, {1, nan, 2}, {1, 2, nan}, {nan}}) {
    Summary const s = summarize(sample);
    for (double const x :
         {s.min, s.median, s.p95, s.max, s.mean, s.cv, s.median_low, s.median_high}) {
      EXPECT_TRUE(std::isnan(x));
    }
  }
}

// One-based ranks r and n - r + 1 as in tables of the sign test (for example Conover, table A3).
TEST(Stats, MedianIntervalMatchesTheTable) {
  struct Row {
    std::int64_t n, low, high;
  };
  for (Row const& row : {Row{6, 1, 6},
                         {7, 1, 7},
                         {8, 1, 8},
                         {9, 2, 8},
                         {10, 2, 9},
                         {11, 2, 10},
                         {12, 3, 10},
                         {15, 4, 12},
                         {20, 6, 15},
                         {25, 8, 18},
                         {30, 10, 21},
                         {50, 18, 33},
                         {100, 40, 61}}) {
    auto const interval = median_interval(row.n);
    ASSERT_TRUE(interval) << row.n;
    EXPECT_EQ(interval->low + 1, row.low) << row.n;
    EXPECT_EQ(interval->high + 1, row.high) << row.n;
  }
}

TEST(Stats, MedianIntervalIsTheNarrowestOfAtLeast95Percent) {
  for (int n = 6; n <= 300; ++n) {
    // P(B <= low) for B ~ Binomial(n, 1/2), by the sum itself.
    OrderInterval const interval = median_interval(n).value();
    long double term = std::exp2(-static_cast<long double>(n));
    long double below = 0;
    for (int i = 0; i <= interval.low; ++i) {
      below += term;
      term *= static_cast<long double>(n - i) / static_cast<long double>(i + 1);
    }
    EXPECT_EQ(interval.low + interval.high, n - 1);
    EXPECT_GE(1 - 2 * below, 0.95L) << n;
    EXPECT_LT(1 - 2 * (below + term), 0.95L) << n;
  }
}

// The range of n values covers 1 - 2^(1 - n): 93.75 % for five.
TEST(Stats, FewValuesHaveNoIntervalOf95Percent) {
  for (int n = 0; n <= 5; ++n) EXPECT_FALSE(median_interval(n)) << n;
  Summary const five = summarize(std::vector<double>{1, 2, 3, 4, 5});
  EXPECT_TRUE(std::isnan(five.median_low) && std::isnan(five.median_high));
  Summary const six = summarize(std::vector<double>{6, 5, 4, 3, 2, 1});
  EXPECT_EQ(six.median_low, 1);
  EXPECT_EQ(six.median_high, 6);
}

TEST(Stats, MedianIntervalOfManyValuesFollowsTheNormalLaw) {
  std::int64_t const n = 10'000'000;
  OrderInterval const interval = median_interval(n).value();
  auto const half = static_cast<double>(interval.high - interval.low) / 2;
  EXPECT_NEAR(half, 1.959964 * std::sqrt(static_cast<double>(n)) / 2, 2);
}

}  // namespace
}  // namespace quadrille::core
