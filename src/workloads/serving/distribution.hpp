// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quadrille::workloads::serving {

/// How often times occurred, in classes of 0.5 %: quantiles of more samples than memory holds,
/// which ranks add up.
class Distribution {
 public:
  void add(double seconds) { ++counts_[class_of(seconds)]; }
  /// The time that a share of the samples does not exceed, by nearest rank, to half a class; 0 of
  /// no samples.
  double quantile(double share) const;
  std::int64_t count() const;
  std::span<std::int64_t> counts() { return counts_; }

 private:
  // From 2^-34 s, less than 0.1 ns, to 2^30 s.
  static constexpr int kMin = -34, kOctaves = 64, kClasses = 128;
  static std::size_t class_of(double seconds);
  std::vector<std::int64_t> counts_ = std::vector<std::int64_t>(kOctaves * kClasses);
};

/// A quantity over time, as its integral in equal slices; their width is doubled when they do not
/// reach.
class Timeline {
 public:
  static constexpr std::size_t kSlices = 256;
  /// Adds a value that held from one time to another. Those that reach the same end have the same
  /// slices.
  void add(double from_s, double to_s, double value);
  std::span<double> slices() { return integrals_; }
  /// The mean over [from, to); behind the last end it is 0.
  double mean(double from_s, double to_s) const;

 private:
  void double_width();

  double width_s_ = 1.0 / 1024;
  double end_s_ = 0;
  std::array<double, kSlices> integrals_{};
};

}  // namespace quadrille::workloads::serving
