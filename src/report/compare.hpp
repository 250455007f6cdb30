// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/enum_names.hpp"
#include "core/stats.hpp"
#include "measure/record.hpp"
#include "report/compare_identity.hpp"
#include "report/terminal.hpp"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::report {

/// What became of a measurement, most important first.
enum class Change {
  broken,  ///< passed in the base, and is now FAIL, ERROR or TIMEOUT
  slower,
  faster,
  ambiguous,  ///< the ratio's interval crosses a margin, there is none, or a time is SUSPECT
  no_speed,   ///< did not pass on either side, or not any more for want of something
  refused,    ///< measured otherwise, so that times say nothing about a change
  only_in_base,
  only_in_new,
  same
};
constexpr auto enum_names(Change) {
  return core::EnumNames<Change, 9>{{{Change::broken, "BROKEN"},
                                     {Change::slower, "SLOWER"},
                                     {Change::faster, "FASTER"},
                                     {Change::ambiguous, "AMBIGUOUS"},
                                     {Change::no_speed, "NO_SPEED"},
                                     {Change::refused, "REFUSED"},
                                     {Change::only_in_base, "ONLY_IN_BASE"},
                                     {Change::only_in_new, "ONLY_IN_NEW"},
                                     {Change::same, "SAME"}}};
}

/// One measurement of the base, of the new run, or of both.
struct Finding {
  Change change = Change::same;
  std::vector<measure::Record const*> base{};  ///< from each base run that has it
  measure::Record const* now = nullptr;
  std::optional<core::MedianRatio> ratio{};  ///< of median times, new / base; above 1 is slower
  bool is_doubtful = false;                  ///< of a time that is SUSPECT: the ratio is not known
  double margin = 0;                         ///< of this ratio: the clock may widen it
  std::string reason{};                      ///< where there is no ratio, or no interval of it
  /// REFUSED: all that keeps them from being compared. Else what else changed with the time.
  std::vector<Difference> differences{};

  /// That of the new run, or of the last base run.
  measure::Record const& record() const { return now != nullptr ? *now : *base.back(); }
};

/// Whether measurements are compared that other devices made: then their ratio says how machines
/// differ, and not what changed.
enum class Across { nothing, devices };

/// Refers to the results that were compared.
struct Comparison {
  std::vector<measure::RunInfo const*> base{};
  measure::RunInfo const* now = nullptr;
  double margin = 0;
  Across across = Across::nothing;
  std::vector<Finding> findings{};  ///< by Change, then the largest, then in the new run's order
  /// Build, settings, variables and placement, then once what settings of pairs differ.
  std::vector<Difference> environment{};

  std::size_t count(Change change) const;
  bool is_comparable() const;  ///< some measurement is in both
  /// Times were compared, and of none can be said whether it changed.
  bool is_undecided() const;
  /// Something is slower or broken, or missing in a run that did not end.
  bool is_regression() const;
};

/// Facts of build, settings, variables and placement that the new run and one of the base runs have
/// otherwise, in the order of the new run, then those that only base runs have.
std::vector<Difference> environment_differences(std::span<measure::RunResult const> base,
                                                measure::RunInfo const& now);

/// Compares a run with one or several base runs, measurement by measurement. `margin` is the part of a
/// time by which it may change and still be the same: a measurement is SAME where the 95 % interval
/// of core::median_ratio() lies within 1 - margin and 1 + margin, FASTER or SLOWER where it lies
/// outside, else AMBIGUOUS, as is whatever has a SUSPECT time; of several base runs those that are
/// trusted count, where there are any. A change that the clock does not resolve is within the margin: 0.5 us of
/// a GPU's events, 50 ns of a host's clock, each over the executions of a batch.
///
/// Across devices, what no base run has measured alike is compared with the same on other devices,
/// whichever clock timed it, and the row that is "best" there with the one that is here.
Comparison compare(std::span<measure::RunResult const> base, measure::RunResult const& now,
                   double margin, Across across = Across::nothing);

/// Counts, then what changed, most important first, then the environment; SAME measurements with
/// `details` alone.
std::string render_text(Comparison const& comparison, bool details, Terminal const& terminal = {});
/// One JSON object as compare.schema.json describes it; what is missing is null.
std::string render_json(Comparison const& comparison);
/// As JUnit's XML: SLOWER and BROKEN fail, what could not be compared is skipped.
std::string render_junit(Comparison const& comparison);

/// A page that needs nothing but itself: a chart of the ratios, and all that the other forms have.
std::string render_html(Comparison const& comparison);

}  // namespace quadrille::report
