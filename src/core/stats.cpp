// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

namespace quadrille::core {

std::optional<OrderInterval> median_interval(std::int64_t n) {
  if (n < 2) return std::nullopt;
  // The median lies between the order statistics `low` and n - 1 - low with the probability that
  // low < B < n - low for B ~ Binomial(n, 1/2). Widen from the middle until that reaches 95 %.
  auto const size = static_cast<double>(n);
  std::int64_t b = n / 2;
  auto const middle = static_cast<double>(b);
  // P(B = b), kept by its recurrence on the way down; the logarithm because 2^-n underflows.
  double mass = std::exp(std::lgamma(size + 1) - std::lgamma(middle + 1) -
                         std::lgamma(size - middle + 1) - size * std::numbers::ln2);
  double coverage = n % 2 == 0 ? mass : 2 * mass;
  while (coverage < 0.95 && b > 1) {
    mass *= static_cast<double>(b) / static_cast<double>(n - b + 1);
    --b;
    coverage += 2 * mass;
  }
  if (coverage < 0.95) return std::nullopt;
  return OrderInterval{b - 1, n - b};
}

Summary summarize(std::span<double const> sample) {
  Summary s;
  s.n = static_cast<std::int64_t>(sample.size());
  if (sample.empty()) return s;

  auto const n = static_cast<double>(s.n);
  s.mean = std::accumulate(sample.begin(), sample.end(), 0.0) / n;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (std::any_of(sample.begin(), sample.end(), [](double x) { return std::isnan(x); })) {
    s.min = s.median = s.p95 = s.max = s.cv = s.median_low = s.median_high = kNan;
    return s;
  }

  std::vector<double> sorted(sample.begin(), sample.end());
  std::sort(sorted.begin(), sorted.end());
  auto const at = [&](std::int64_t rank) { return sorted[static_cast<std::size_t>(rank)]; };
  s.min = sorted.front();
  s.max = sorted.back();
  // The halves first: the sum of two large values may overflow.
  s.median = s.n % 2 == 1 ? at(s.n / 2) : at(s.n / 2 - 1) / 2 + at(s.n / 2) / 2;
  s.p95 = at((95 * s.n + 99) / 100 - 1);
  auto const interval = median_interval(s.n);
  s.median_low = interval ? at(interval->low) : kNan;
  s.median_high = interval ? at(interval->high) : kNan;

  double squares = 0;
  for (double const x : sorted) squares += (x - s.mean) * (x - s.mean);
  double const deviation = s.n > 1 ? std::sqrt(squares / (n - 1)) : 0;
  s.cv = deviation == 0 ? 0 : deviation / s.mean;
  return s;
}

double Summary::half_width() const {
  if (n < 2) return 0;
  double const whole = n < kMinForInterval ? max - min : median_high - median_low;
  return whole == 0 ? 0 : whole / 2 / median;
}

double half_width_with_one_more(std::span<double const> sample) {
  auto const n = static_cast<std::int64_t>(sample.size());
  auto const next = median_interval(n + 1);
  bool const has_nan = std::ranges::any_of(sample, [](double x) { return std::isnan(x); });
  if (!next || next->low == 0 || has_nan) return summarize(sample).half_width() * 4 / 3;
  // The value moves those above it by one rank.
  std::vector<double> values(sample.begin(), sample.end());
  auto const at = [&](std::int64_t rank) {
    std::ranges::nth_element(values, values.begin() + rank);
    return values[static_cast<std::size_t>(rank)];
  };
  double const whole = at(next->high) - at(next->low - 1);
  return whole == 0 ? 0 : whole / 2 / at(n / 2 - 1);
}

namespace {

/// A median with its interval, of which NaN are the limits where there is none; all as logarithms.
struct LogMedian {
  double value = 0, low = 0, high = 0;
  bool has_interval() const { return std::isfinite(low) && std::isfinite(high); }
};

std::optional<LogMedian> log_median(std::span<double const> sample) {
  Summary const s = summarize(sample);
  bool const is_known = s.n > 0 && s.min > 0 && std::isfinite(s.max);
  if (!is_known) return std::nullopt;
  return LogMedian{std::log(s.median), std::log(s.median_low), std::log(s.median_high)};
}

constexpr double kNormal95 = 1.959964;  // two-sided quantile

/// The two-sided 95 % quantile of Student's t.
double student95(std::size_t degrees) {
  constexpr std::array kFew{12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469};
  if (degrees <= kFew.size()) return kFew[degrees - 1];
  // Cornish and Fisher's expansion, right to 0.001 from 7 degrees on.
  constexpr double z = kNormal95, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  auto const n = static_cast<double>(degrees);
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

/// Half the interval that the spread between runs adds to the difference to one more run.
double between_runs(std::span<LogMedian const> runs, double mean) {
  if (runs.size() < 2) return 0;
  auto const n = static_cast<double>(runs.size());
  double variance = 0, within = 0;
  for (LogMedian const& run : runs) {
    double const error = (run.high - run.low) / 2 / kNormal95;
    variance += (run.value - mean) * (run.value - mean) / (n - 1);
    within += error * error / n;
  }
  double const excess = std::max(0.0, variance - within);
  return student95(runs.size() - 1) * std::sqrt(excess * (1 + 1 / n));
}

}  // namespace

bool MedianRatio::has_interval() const { return std::isfinite(low) && std::isfinite(high); }

std::optional<MedianRatio> median_ratio(std::span<std::vector<double> const> base,
                                        std::span<double const> sample) {
  std::optional<LogMedian> const top = log_median(sample);
  if (!top || base.empty()) return std::nullopt;
  auto const n = static_cast<double>(base.size());
  std::vector<LogMedian> runs;
  double mean = 0;
  for (std::vector<double> const& run : base) {
    std::optional<LogMedian> const median = log_median(run);
    if (!median) return std::nullopt;
    runs.push_back(*median);
    mean += median->value / n;
  }
  double const difference = top->value - mean;
  if (!top->has_interval() || !std::ranges::all_of(runs, &LogMedian::has_interval)) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    return MedianRatio{std::exp(mean), std::exp(difference), kNan, kNan};
  }
  double below = 0, above = 0;  // from the mean to its limits
  for (LogMedian const& run : runs) {
    below = std::hypot(below, (run.value - run.low) / n);
    above = std::hypot(above, (run.high - run.value) / n);
  }
  double const spread = between_runs(runs, mean);
  double const down = std::hypot(top->value - top->low, above, spread);
  double const up = std::hypot(top->high - top->value, below, spread);
  return MedianRatio{std::exp(mean), std::exp(difference), std::exp(difference - down),
                     std::exp(difference + up)};
}

}  // namespace quadrille::core
