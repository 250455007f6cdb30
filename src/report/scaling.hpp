// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/enum_names.hpp"
#include "core/units.hpp"
#include "measure/record.hpp"
#include "report/terminal.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace quadrille::report {

/// How the work of a repetition follows the number of ranks: the same in all, or more on more.
enum class Growth { strong, weak };
constexpr auto enum_names(Growth) {
  return core::EnumNames<Growth, 2>{{{Growth::strong, "strong"}, {Growth::weak, "weak"}}};
}

/// y = constant + slope x, both at least 0, with the least sum of squared relative deviations.
struct Line {
  double constant = 0;
  double slope = 0;
  double worst = 0;  ///< the largest relative deviation of a point
  double at(double x) const { return constant + slope * x; }
};
/// Empty below three points, through two of which there is always a line, and where all x are equal.
std::optional<Line> fit_line(std::span<double const> x, std::span<double const> y);

/// A measurement on one number of ranks.
struct ScalingPoint {
  int ranks = 0;
  std::vector<std::int64_t> size;
  double seconds = 0;     ///< median
  double rate = 0;        ///< over all ranks
  double speedup = 0;     ///< rate over that of the fewest ranks
  double efficiency = 0;  ///< rate of each rank over that on the fewest ranks
  double load = 1;        ///< work of each rank over that on the fewest ranks; below 1 when strong
  /// The part of the time on the fewest ranks that would not shrink on more if it alone explained
  /// the speedup: (1 / speedup - 1 / p) / (1 - 1 / p), p times the fewest ranks (Karp and Flatt
  /// 1990). Of strong scaling alone; empty on the fewest, and where ranks gain more than their number.
  std::optional<double> serial;
};

/// One measurement over numbers of ranks, ascending.
struct ScalingCurve {
  std::string name, workload, type, variant, transport, unit;
  std::vector<std::pair<std::string, std::string>> settings;
  Growth growth = Growth::strong;
  std::vector<ScalingPoint> points;
  /// Seconds. Strong: over 1 / ranks, Amdahl's law, of which the constant is the serial part. Weak:
  /// over log2(ranks), the time that a rank takes for the work of one on the fewest; the slope is
  /// what each doubling adds.
  std::optional<Line> fit;
  /// Of the time of a point, by the fit.
  double fitted_s(ScalingPoint const& point) const;
};
/// The abscissa of a curve's fit.
double abscissa(Growth growth, int ranks);

/// What an exchange takes for each size, on one number of ranks.
struct ExchangeFit {
  std::string name, workload, type, variant, transport;
  std::vector<std::pair<std::string, std::string>> settings;
  int ranks = 0;
  std::vector<double> bytes, seconds;
  Line fit;  ///< seconds over bytes: the constant is the latency, 1 / slope the bandwidth
};

struct Scaling {
  std::vector<int> ranks;  ///< of the results, ascending
  std::vector<ScalingCurve> curves;
  std::vector<ExchangeFit> exchanges;
  std::vector<std::string> notes;  ///< what makes the comparison doubtful
};

/// Joins results of different numbers of ranks, or says why they cannot be. Measurements belong
/// together that differ in ranks, grid and size alone; of several sizes, the n-th to the n-th.
/// Exchanges, which divide no work among ranks, have no efficiency but a fit over their sizes.
core::Parsed<Scaling> join_scaling(std::span<measure::RunResult const> results);

/// Tables of it, of a terminal's width.
std::string render_scaling(Scaling const& scaling, Terminal const& terminal = kUnlimited);

}  // namespace quadrille::report
