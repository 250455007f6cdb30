// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/distribution.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace quadrille::workloads::serving {

std::size_t Distribution::class_of(double seconds) {
  int exponent = 0;
  double const fraction = std::frexp(seconds, &exponent);  // in [0.5, 1)
  int const octave = exponent - 1 - kMin;
  if (!(fraction > 0) || octave < 0) return 0;
  if (octave >= kOctaves) return kOctaves * kClasses - 1;
  return static_cast<std::size_t>(octave * kClasses +
                                  static_cast<int>((2 * fraction - 1) * kClasses));
}

std::int64_t Distribution::count() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
}

double Distribution::quantile(double share) const {
  std::int64_t const all = count();
  if (all == 0) return 0;
  std::int64_t const rank =
      std::max<std::int64_t>(1, std::llround(std::ceil(share * static_cast<double>(all))));
  std::int64_t seen = 0;
  int at = 0;
  for (; at < kOctaves * kClasses - 1; ++at) {
    seen += counts_[static_cast<std::size_t>(at)];
    if (seen >= rank) break;
  }
  return std::ldexp(1 + (at % kClasses + 0.5) / kClasses, at / kClasses + kMin);
}

void Timeline::double_width() {
  for (std::size_t i = 0; i < kSlices; ++i) {
    integrals_[i] = i < kSlices / 2 ? integrals_[2 * i] + integrals_[2 * i + 1] : 0;
  }
  width_s_ *= 2;
}

void Timeline::add(double from_s, double to_s, double value) {
  end_s_ = std::max(end_s_, to_s);
  while (end_s_ > width_s_ * kSlices) double_width();
  // A width is a power of two: these quotients and products are exact.
  while (from_s < to_s) {
    auto const slice = static_cast<std::size_t>(from_s / width_s_);
    double const end_s = std::min(to_s, static_cast<double>(slice + 1) * width_s_);
    integrals_[slice] += (end_s - from_s) * value;
    from_s = end_s;
  }
}

double Timeline::mean(double from_s, double to_s) const {
  double sum = 0;
  for (std::size_t i = 0; i < kSlices; ++i) {
    double const begin_s = static_cast<double>(i) * width_s_;
    double const until_s = std::min(begin_s + width_s_, end_s_);
    double const common_s = std::min(to_s, until_s) - std::max(from_s, begin_s);
    if (common_s > 0) sum += integrals_[i] * common_s / (until_s - begin_s);
  }
  return from_s < to_s ? sum / (to_s - from_s) : 0;
}

}  // namespace quadrille::workloads::serving
