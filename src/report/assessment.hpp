// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/enum_names.hpp"
#include "measure/record.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::report {

/// What keeps a measurement from being faster.
enum class Limit { unknown, memory, cache, compute, pcie, link, latency, launch, power };
constexpr auto enum_names(Limit) {
  return core::EnumNames<Limit, 9>{{{Limit::unknown, "-"},
                                    {Limit::memory, "memory"},
                                    {Limit::cache, "cache"},
                                    {Limit::compute, "compute"},
                                    {Limit::pcie, "PCIe"},
                                    {Limit::link, "link"},
                                    {Limit::latency, "latency"},
                                    {Limit::launch, "launch"},
                                    {Limit::power, "power"}}};
}
/// Of a row that has a speed, by itself.
Limit limit_of(measure::Record const& record);

/// Whether a case is as fast as it can be.
enum class Answer {
  yes,
  fair,
  no,
  suspect,    ///< its time is not trusted, or none that it could be compared with
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
/// Whether it moves bytes between ranks, and neither computes nor divides arrays among them.
bool is_exchange(measure::Record const& record);
/// Whether it is one that has a ratio to the vendor which is known: neither of both is SUSPECT.
bool has_vendor_ratio(measure::Record const& record);
/// Whether its ratio lies below 1 with all of its interval, or by more than 5 % where it has none.
bool is_slower_than_vendor(measure::Record const& record);
/// Percent of the vendor by the median rates, where that of the paired ratios differs by more than
/// 3 %: times drifted, and both stand side by side. `rows` are those of its case.
std::optional<double> contradicting_vendor_percent(measure::Record const& record,
                                                   std::span<measure::Record const> rows);

/// "best took a; b is 1.3 x faster here" of the row that "best" is, where the fastest own row of its
/// case is faster by 10 % or more, both can be trusted and their intervals do not overlap; else empty.
/// `rows` are those of its case, among others.
std::string missed_best(measure::Record const& record, std::span<measure::Record const> rows);

/// In the order of the run. A case is as fast as it can be ("yes") from 80 % of its limit or of a
/// copy on, or from 95 % of the vendor; "fair" is half of the limit, or 80 % of the vendor; of percent
/// as they are shown, without a fraction. Where both are known and differ by one step the vendor
/// decides, as it shows what is possible; where they differ by two, it is fair. What is SUSPECT is
/// nothing to compare with.
std::vector<CaseAssessment> assess(measure::RunResult const& result);
/// The same, each by its head().
std::map<measure::Record const*, CaseAssessment> assessed_rows(measure::RunResult const& result);

/// How the best variants of cases stand beside the vendor's, of those that have a ratio to it.
struct VendorStanding {
  std::vector<measure::Record const*> slower, as_fast;  ///< the slowest first

  std::size_t compared() const { return slower.size() + as_fast.size(); }
};
VendorStanding vendor_standing(std::vector<CaseAssessment> const& cases);

}  // namespace quadrille::report
