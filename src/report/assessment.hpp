// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/enum_names.hpp"
#include "measure/record.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::report {

/// What keeps a measurement from being faster.
enum class Limit { unknown, memory, cache, pipe, link, launch, power };
constexpr auto enum_names(Limit) {
  return core::EnumNames<Limit, 7>{{{Limit::unknown, "-"},
                                    {Limit::memory, "memory"},
                                    {Limit::cache, "cache"},
                                    {Limit::pipe, "pipe"},
                                    {Limit::link, "link"},
                                    {Limit::launch, "launch"},
                                    {Limit::power, "power"}}};
}

/// Whether a case is as fast as it can be.
enum class Answer {
  yes,
  fair,
  no,
  suspect,    ///< its time is not trusted
  no_result,  ///< no variant has one
  unknown     ///< nothing is known to compare with
};
constexpr auto enum_names(Answer) {
  return core::EnumNames<Answer, 6>{{{Answer::yes, "yes"},
                                     {Answer::fair, "fair"},
                                     {Answer::no, "no"},
                                     {Answer::suspect, "suspect"},
                                     {Answer::no_result, "no result"},
                                     {Answer::unknown, "unknown"}}};
}

/// A case in a report: what its best variant reached and what to try. Cases that differ in their
/// transport alone are one, of which the best transport's variant is the best.
struct CaseAssessment {
  std::vector<measure::Record const*> rows;
  /// The fastest of this project's variants; of others where none has a speed; nullptr where no row
  /// has one.
  measure::Record const* best = nullptr;
  Limit limit = Limit::unknown;
  Answer answer = Answer::no_result;
  std::string advice;  ///< what to try; empty where all is well

  /// The row by which it is known: the best, or the first where none is.
  measure::Record const& head() const { return best == nullptr ? *rows.front() : *best; }
  /// Those that were tried, with or without success.
  std::set<std::string_view> transports() const;
};

/// Whether a row is one of this project's techniques.
bool is_own(measure::Record const& record);
/// Whether it is one, and its ratio to the vendor lies below 1 with all of its interval, or by more
/// than 5 % where it has none.
bool is_slower_than_vendor(measure::Record const& record);

/// In the order of the run. A case is as fast as it can be ("yes") from 80 % of its limit or of a
/// copy on, or from 95 % of the vendor; "fair" is half of the limit, or 80 % of the vendor. Where both
/// are known and differ by one step the vendor decides, as it shows what is possible; where they
/// differ by two, it is fair.
std::vector<CaseAssessment> assess(measure::RunResult const& result);

}  // namespace quadrille::report
