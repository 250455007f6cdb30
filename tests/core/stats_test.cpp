// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.hpp"

#include "core/generator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <utility>
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

TEST(Stats, OneMoreValueWidensTheIntervalNoFurther) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(half_width_with_one_more(std::vector{1.0, nan, 1.0})));
  EXPECT_EQ(half_width_with_one_more({}), 0);
  EXPECT_DOUBLE_EQ(half_width_with_one_more(std::vector{3.0, 4.0, 5.0}), 1.0 / 3);
  EXPECT_DOUBLE_EQ(half_width_with_one_more(std::vector<double>{10, 11, 12, 13, 14, 15, 16, 17}),
                   7 / 2.0 / 13)
      << "of nine the ends may be out";
  int tight = 0;
  for (std::uint64_t n = 8; n < 200; ++n) {
    std::vector<double> sample;
    for (std::uint64_t i = 0; i < n; ++i)
      sample.push_back(100 + static_cast<double>(mix(n * 1000 + i) % 40));
    double const most = half_width_with_one_more(sample);
    double widest = 0;
    for (double more = 90; more < 150; ++more) {
      std::vector<double> longer = sample;
      longer.push_back(more);
      widest = std::max(widest, summarize(longer).half_width());
    }
    EXPECT_LE(widest, most * (1 + 1e-12)) << n;
    tight += widest > 0.8 * most;
  }
  EXPECT_GT(tight, 100);
}

using Runs = std::vector<std::vector<double>>;

/// Seven values, of whose median the interval are the ends.
std::vector<double> around(double median, double below, double above) {
  return {median / below, median, median, median, median, median, median * above};
}

TEST(MedianRatio, CombinesDistancesToTheLimitsAsSquares) {
  Runs const base{around(2, std::exp(0.3), std::exp(0.4))};

  auto const ratio = median_ratio(base, around(6, std::exp(0.3), std::exp(1.2)));

  ASSERT_TRUE(ratio);
  EXPECT_DOUBLE_EQ(ratio->base, 2);
  EXPECT_DOUBLE_EQ(ratio->value, 3);
  EXPECT_NEAR(std::log(ratio->value / ratio->low), 0.5, 1e-12);  // 0.3 down, 0.4 up of the base
  EXPECT_NEAR(std::log(ratio->high / ratio->value), std::hypot(1.2, 0.3), 1e-12);
}

TEST(MedianRatio, SpreadBetweenRunsWidensByStudentsT) {
  std::vector<double> const exact(6, 3.0);
  // Logarithms -0.1, 0, 0.1: their deviation is 0.1, and t of two degrees 4.3027.
  Runs const base{std::vector<double>(6, std::exp(-0.1)), std::vector<double>(6, 1.0),
                  std::vector<double>(6, std::exp(0.1))};

  auto const ratio = median_ratio(base, exact);

  ASSERT_TRUE(ratio);
  EXPECT_NEAR(ratio->value, 3, 1e-12);
  EXPECT_NEAR(std::log(ratio->high / 3), 4.3027 * 0.1 * std::sqrt(4.0 / 3), 1e-6);
  EXPECT_NEAR(std::log(3 / ratio->low), 4.3027 * 0.1 * std::sqrt(4.0 / 3), 1e-6);
}

TEST(MedianRatio, StudentsTIsThatOfTheTables) {
  std::vector<double> const exact(6, 3.0);
  for (auto const& [degrees, t] : std::map<int, double>{{1, 12.7062},
                                                        {2, 4.3027},
                                                        {3, 3.1824},
                                                        {4, 2.7764},
                                                        {5, 2.5706},
                                                        {6, 2.4469},
                                                        {7, 2.3646},
                                                        {8, 2.3060},
                                                        {9, 2.2622},
                                                        {10, 2.2281},
                                                        {20, 2.0860},
                                                        {60, 2.0003}}) {
    int const runs = degrees + 1, high = runs / 2;
    Runs base;
    for (int i = 0; i < runs; ++i) {
      base.push_back(std::vector<double>(6, std::exp(i < high ? 1.0 : 0.0)));
    }
    double const deviation = std::sqrt(static_cast<double>(high * (runs - high)) / runs / degrees);
    auto const ratio = median_ratio(base, exact).value();
    EXPECT_NEAR(std::log(ratio.high / ratio.value) / deviation / std::sqrt(1 + 1.0 / runs), t, 1e-3)
        << degrees;
  }
}

TEST(MedianRatio, RunsThatDifferNoMoreThanTheirSamplesDoNotWidenIt) {
  std::vector<double> const run = around(1, 1.1, 1.1);
  auto const equal = median_ratio(Runs{run, run, run}, run);
  auto const close =
      median_ratio(Runs{around(1 / 1.03, 1.1, 1.1), run, around(1.03, 1.1, 1.1)}, run);
  EXPECT_NEAR(close->high, equal->high, 1e-12);
}

TEST(MedianRatio, RunsThatAgreeNarrowTheInterval) {
  std::vector<double> const run = around(1, 1.1, 1.1);
  auto const one = median_ratio(Runs{run}, run);
  auto const four = median_ratio(Runs{run, run, run, run}, run);
  EXPECT_LT(four->high, one->high);
  EXPECT_NEAR(std::log(four->high), std::log(1.1) * std::sqrt(1.25), 1e-12);
}

TEST(MedianRatio, OfFewerThanSixHasNoInterval) {
  std::vector<double> const six(6, 1.0), few{1.0, 2.0, 3.0};
  EXPECT_TRUE(median_ratio(Runs{six}, six)->has_interval());
  for (auto const& ratio : {median_ratio(Runs{six}, few), median_ratio(Runs{six, six}, few)}) {
    ASSERT_TRUE(ratio);
    EXPECT_DOUBLE_EQ(ratio->value, 2);
    EXPECT_FALSE(ratio->has_interval());
  }
  auto const ratio = median_ratio(Runs{few, six}, six);
  ASSERT_TRUE(ratio);
  EXPECT_DOUBLE_EQ(ratio->base, std::sqrt(2.0));
  EXPECT_FALSE(ratio->has_interval());
}

TEST(MedianRatio, NeedsPositiveFiniteTimesOfEach) {
  std::vector<double> const good(6, 1.0);
  double const inf = std::numeric_limits<double>::infinity();
  double const nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(median_ratio(Runs{good}, good));
  EXPECT_FALSE(median_ratio({}, good));
  EXPECT_FALSE(median_ratio(Runs{good}, {}));
  for (double const wrong : {0.0, -1.0, inf, nan}) {
    std::vector<double> bad = good;
    bad[2] = wrong;
    EXPECT_FALSE(median_ratio(Runs{good}, bad)) << wrong;
    EXPECT_FALSE(median_ratio(Runs{bad}, good)) << wrong;
  }
}

/// The true ratio is 1: the share of intervals that hold it.
template <class Distribution>
double coverage(Distribution distribution, int base_n, int n) {
  std::mt19937 random{1};
  auto const sample = [&](int size) {
    std::vector<double> times;
    for (int i = 0; i < size; ++i) times.push_back(distribution(random));
    return times;
  };
  int held = 0;
  constexpr int kPairs = 1000;
  for (int i = 0; i < kPairs; ++i) {
    auto const ratio = median_ratio(Runs{sample(base_n)}, sample(n));
    if (ratio->low <= 1 && ratio->high >= 1) ++held;
  }
  return static_cast<double>(held) / kPairs;
}

TEST(MedianRatio, HoldsTheTrueRatioAsOftenAsItSays) {
  for (auto const& [base_n, n] : {std::pair{6, 6}, {10, 20}, {20, 20}, {6, 100}, {100, 100}}) {
    double const normal = coverage(std::lognormal_distribution{0.0, 0.01}, base_n, n);
    double const skewed = coverage(std::exponential_distribution{1.0}, base_n, n);
    EXPECT_GE(normal, 0.95) << base_n << ' ' << n;
    EXPECT_GE(skewed, 0.95) << base_n << ' ' << n;
    // Nothing is gained by intervals that hold everything.
    EXPECT_LE(normal, n == 100 ? 0.985 : 1) << base_n << ' ' << n;
  }
}

}  // namespace
}  // namespace quadrille::core
