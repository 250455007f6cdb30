// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.hpp"

#include <algorithm>
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

}  // namespace quadrille::core
