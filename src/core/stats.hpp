// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace quadrille::core {

/// What a table shows of a sample of times. Units are those of the sample.
struct Summary {
  std::int64_t n = 0;
  double min = 0;
  double median = 0;
  double p95 = 0;  ///< nearest rank: the smallest value that 95 % of the sample do not exceed
  double max = 0;
  double mean = 0;
  double cv = 0;           ///< standard deviation / mean
  double median_low = 0;   ///< 95 % interval of the median, by order statistics (binomial);
  double median_high = 0;  ///< NaN where n is too small for 95 %
};

/// Summarises a sample. NaN in the sample gives NaN in min, median, p95, max. Empty gives n = 0.
Summary summarize(std::span<double const> sample);

/// Zero-based ranks [low, high] of order statistics.
struct OrderInterval {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
/// The narrowest that encloses the median with at least 95 %. Below six values there is none: the
/// range of five covers 93.75 %.
std::optional<OrderInterval> median_interval(std::int64_t n);

}  // namespace quadrille::core
