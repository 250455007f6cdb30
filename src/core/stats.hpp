// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

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

  /// How well the median is known: half its interval, or half the range where n is too small for
  /// one, as a part of it. 0 for n < 2, which tell nothing; NaN where the median is.
  double half_width() const;
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

/// Below six values a median has no 95 % interval.
inline constexpr std::int64_t kMinForInterval = 6;

/// The most that half_width() may be once one more value has joined these, whatever it is. With too few
/// for such a limit, what it is now and a third. NaN where a value is.
double half_width_with_one_more(std::span<double const> sample);

/// A ratio of medians with its 95 % interval.
struct MedianRatio {
  double base = 0;  ///< the median below the line; of several runs the geometric mean of theirs
  double value = 0;
  double low = 0;  ///< NaN where a run or the sample is too small for an interval
  double high = 0;

  bool has_interval() const;
};

/// The median of `sample` over that of `base`, which are independent samples of one or several runs.
///
/// Each median has its interval by order statistics, which assumes no distribution. On logarithms
/// the ratio is a difference d, and the two intervals combine by the method of variance estimates
/// recovery (Zou and Donner 2008): from d go the square root of the sum of squares of the distances
/// of each median to its own limit, down to the lower of one and the upper of the other. Where both
/// samples are large this is the normal interval of the difference, asymmetric where they are;
/// comparing the two intervals for overlap would be wider by up to 1.4.
///
/// Of K base runs the medians are averaged. What their variance has beyond the variance within runs
/// is a variance s^2 between runs, of which the new run has its share too: t s sqrt(1 + 1/K) joins
/// the sum of squares, with Student's t for K - 1 degrees of freedom, since few runs hardly tell s.
/// One base run tells nothing of it.
///
/// Empty where a run or the sample has no value, or one that is not positive and finite.
std::optional<MedianRatio> median_ratio(std::span<std::vector<double> const> base,
                                        std::span<double const> sample);

}  // namespace quadrille::core
