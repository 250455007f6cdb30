// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/assessment.hpp"

#include "common/variant.hpp"
#include "core/config.hpp"
#include "core/units.hpp"
#include "report/columns.hpp"
#include "report/swept_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace quadrille::report {
namespace {

using kernels::Role;
using measure::Record;
using measure::Resource;

// Percent, from which a share is as good as it gets, or fair.
constexpr double kGoodOfLimit = 80, kFairOfLimit = 50;
constexpr double kGoodOfVendor = 95, kFairOfVendor = 80;
// Starting work on a device and learning of its end take some 5 us: a good part of less than this.
constexpr double kLaunchBound = 20e-6;
// By a GPU's own clock neither is in the time, but a launch that does nothing takes some 3 us, even
// behind others.
constexpr double kEnqueuedLaunchBound = 6e-6;
// Below this share of the rate without communication, communication is the limit.
constexpr double kLocalShare = 0.8;
// A clock that is lower than the run's highest by more is not at its own limit.
constexpr double kLowClock = 0.9;
// What the roofline allows is exceeded by more than noise.
constexpr double kAboveCeiling = 110;
// The part of the shorter leg that should cost nothing.
constexpr double kWellHidden = 0.5;

bool communicates(Record const& r) { return !r.transport.empty() && r.transport != "none"; }

double median_clock(Record const& r) {
  return r.clock_hz.empty() ? 0 : core::summarize(r.clock_hz).median;
}

double highest_clock(measure::RunResult const& result) {
  double highest = 0;
  for (Record const& r : result.records) {
    for (double const clock : r.clock_hz) highest = std::max(highest, clock);
  }
  return highest;
}

/// Percent of a copy of the same bytes, else of the roofline, else of the nominal peak.
std::optional<double> share_of_limit(Record const& r) {
  if (r.ratio_to_copy) return 100 * *r.ratio_to_copy;
  if (auto const share = percent_of_ceiling(r)) return share;
  return percent_of_peak(r);
}

bool is_link_bound(Record const& r) {
  if (!communicates(r)) return false;
  if (r.leg_summary) return r.leg_summary->communicate_s > r.leg_summary->compute_s;
  if (r.share_of_local) return *r.share_of_local < kLocalShare;
  return r.unit == "B/s" && !(r.roofline.bytes > 0);
}

bool is_launch_bound(Record const& r) {
  if (r.timing != core::to_text(core::Timing::device)) return r.time.median < kLaunchBound;
  auto const launches = static_cast<double>(std::max<std::size_t>(1, r.kernels.size()));
  return r.time.median < launches * kEnqueuedLaunchBound;
}

Limit limit_of(Record const& r, double run_clock) {
  if (is_link_bound(r)) return Limit::link;
  std::optional<double> const share = share_of_limit(r);
  bool const is_near = share && *share >= kGoodOfLimit;
  if (!is_near && is_launch_bound(r)) return Limit::launch;
  double const clock = median_clock(r);
  if (!is_near && clock > 0 && clock < kLowClock * run_clock) return Limit::power;
  if (auto const ceiling = ceiling_of(r)) {
    if (ceiling->limit == Resource::compute) return Limit::pipe;
    return *percent_of_ceiling(r) > kAboveCeiling ? Limit::cache : Limit::memory;
  }
  // Fewer operations for each byte than any device does in the time of one.
  auto const operations = intensity(r);
  if (r.ratio_to_copy || (operations && *operations < 1)) return Limit::memory;
  if (percent_of_peak(r)) return r.unit == "B/s" ? Limit::memory : Limit::pipe;
  return Limit::unknown;
}

Answer judged(double percent, double good, double fair) {
  return percent >= good ? Answer::yes : percent >= fair ? Answer::fair : Answer::no;
}

Answer answer_of(Record const& r) {
  if (!r.suspect.empty()) return Answer::suspect;
  std::optional<double> const share = share_of_limit(r);
  Answer const by_limit = share ? judged(*share, kGoodOfLimit, kFairOfLimit) : Answer::unknown;
  if (!r.ratio_to_vendor || !is_own(r)) return by_limit;
  Answer const by_vendor = judged(100 * *r.ratio_to_vendor, kGoodOfVendor, kFairOfVendor);
  bool const are_far_apart = (by_limit == Answer::yes && by_vendor == Answer::no) ||
                             (by_limit == Answer::no && by_vendor == Answer::yes);
  return are_far_apart ? Answer::fair : by_vendor;
}

/// How to hide more of the communication; empty where it is hidden, or where there is none.
std::string overlap_advice(Record const& r) {
  if (!r.leg_summary || !r.leg_summary->hidden || *r.leg_summary->hidden >= kWellHidden) return {};
  return fmt::format(
      "{:.0f} % of the shorter leg is hidden: {}try a larger size, or other panels, buffers = 3",
      100 * *r.leg_summary->hidden, r.backend == "cuda" ? "" : "leave a core to messages, ");
}

std::string link_advice(CaseAssessment const& assessed) {
  Record const& r = *assessed.best;
  if (r.time.median < 2 * kLaunchBound) {
    return "a message this small costs latency, not bandwidth: send more at once";
  }
  if (std::string const advice = overlap_advice(r); !advice.empty()) return advice;
  if (assessed.transports().size() > 1) {
    return "the fastest of the transports here; inputs/collectives.toml says what a link gives";
  }
  return "transport = \"all\" compares the ways, inputs/collectives.toml says what a link gives";
}

/// A device's own limit is not reached: other techniques, or more work.
std::string device_advice(CaseAssessment const& assessed) {
  std::set<std::string_view> techniques;
  for (Record const* row : assessed.rows) {
    if (is_own(*row) && has_speed(*row)) techniques.insert(row->variant);
  }
  if (techniques.size() < 2) {
    return "variant = \"all\" compares techniques, a larger size hides start and end";
  }
  if (assessed.limit == Limit::memory) {
    return "a larger size hides start and end; `quadrille doctor` shows how ranks are bound";
  }
  if (assessed.best->backend == "cuda") {
    return "a larger size; `quadrille tune` where the variant is tunable";
  }
  return is_slower_than_vendor(*assessed.best)
             ? "a larger size; else the vendor's library is faster"
             : "a larger size hides start and end";
}

std::string advice_of(CaseAssessment const& assessed) {
  Record const& r = *assessed.best;
  switch (assessed.answer) {
    case Answer::yes:
    case Answer::no_result: return {};
    case Answer::suspect: return "the time is not trusted: measure again, on an idle machine";
    case Answer::unknown:
      if (!(r.roofline.flop + r.roofline.bytes > 0)) return {};
      return "a case of `copy` or `peak` before it measures what it is compared with";
    default: break;
  }
  switch (assessed.limit) {
    case Limit::link: return link_advice(assessed);
    case Limit::launch:
      return fmt::format("{} is the time of a launch: a larger size, or more work in one",
                         core::format_seconds(r.time.median));
    case Limit::power:
      return "the clock is below the run's highest: clock = \"sustained\" compares at equal power";
    default: break;
  }
  std::string const overlap = overlap_advice(r);
  return device_advice(assessed) + (overlap.empty() ? "" : "; " + overlap);
}

/// The faster of two that have a speed, one of this project before any other.
bool is_better(Record const& a, Record const& b) {
  return is_own(a) != is_own(b) ? is_own(a) : a.rate > b.rate;
}

}  // namespace

bool is_own(Record const& r) {
  // Results of before roles were kept know these two.
  if (r.role.empty()) {
    return r.backend != core::to_text(Role::vendor) && r.backend != core::to_text(Role::reference);
  }
  return r.role == core::to_text(Role::own);
}

bool is_slower_than_vendor(Record const& r) {
  if (!is_own(r) || !has_speed(r) || !r.ratio_to_vendor) return false;
  return r.ratio_to_vendor_high ? *r.ratio_to_vendor_high < 1
                                : 100 * *r.ratio_to_vendor < kGoodOfVendor;
}

std::set<std::string_view> CaseAssessment::transports() const {
  std::set<std::string_view> names;
  for (Record const* row : rows) {
    if (communicates(*row)) names.insert(row->transport);
  }
  return names;
}

std::vector<CaseAssessment> assess(measure::RunResult const& result) {
  std::vector<CaseAssessment> cases;
  std::map<std::string_view, std::size_t> by_name;
  std::map<std::string, std::size_t> latest_alike;
  for (Record const& record : result.records) {
    auto const [place, is_new] = by_name.try_emplace(record.name, cases.size());
    if (is_new) {
      auto const [alike, is_first] =
          latest_alike.try_emplace(apart_from_transport(record), cases.size());
      // What is measured twice by one transport stays two cases.
      bool const joins = !is_first && communicates(record) &&
                         !cases[alike->second].transports().contains(record.transport);
      if (joins) {
        place->second = alike->second;
      } else {
        alike->second = cases.size();
        cases.emplace_back();
      }
    }
    cases[place->second].rows.push_back(&record);
  }
  double const run_clock = highest_clock(result);
  for (CaseAssessment& assessed : cases) {
    for (Record const* row : assessed.rows) {
      bool const counts =
          has_speed(*row) && row->role != core::to_text(Role::ceiling) && row->rate > 0;
      bool const wins = counts && (assessed.best == nullptr || is_better(*row, *assessed.best));
      if (wins) assessed.best = row;
    }
    if (assessed.best == nullptr) continue;
    assessed.limit = limit_of(*assessed.best, run_clock);
    assessed.answer = answer_of(*assessed.best);
    assessed.advice = advice_of(assessed);
  }
  return cases;
}

}  // namespace quadrille::report
