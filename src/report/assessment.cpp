// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/assessment.hpp"

#include "common/variant.hpp"
#include "core/config.hpp"
#include "core/units.hpp"
#include "device/device.hpp"
#include "report/columns.hpp"
#include "report/swept_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>

namespace quadrille::report {
namespace {

using kernels::Role;
using measure::Record;
using measure::Resource;

// Percent, from which a share is as good as it gets, or fair.
constexpr double kGoodOfLimit = 80, kFairOfLimit = 50;
constexpr double kGoodOfVendor = 95, kFairOfVendor = 80;
// A launch, a call and a message cost some microseconds each, whatever they do: a good part of a step
// that takes less than this, by any clock.
constexpr double kShortStep = 20e-6;
// Below this share of the rate without communication, communication is the limit.
constexpr double kLocalShare = 0.8;
// What the roofline allows is exceeded by more than noise.
constexpr double kAboveCeiling = 110;
// The part of the shorter leg that should cost nothing.
constexpr double kWellHidden = 0.5;
// A rate or a share that is higher by less is no better.
constexpr double kBetter = 1.1;
// Paired ratios and median rates may differ by as much.
constexpr double kAgreeing = 0.03;

using Cases = std::vector<CaseAssessment>;

bool has_transport(Record const& r) { return !r.transport.empty() && r.transport != "none"; }
bool communicates(Record const& r) { return r.ranks > 1 && has_transport(r); }

/// Percent of a copy of the same bytes, else of the roofline, else of the nominal peak.
std::optional<double> share_of_limit(Record const& r) {
  if (r.ratio_to_copy && !r.copy_is_suspect) return 100 * *r.ratio_to_copy;
  if (auto const share = percent_of_ceiling(r)) return share;
  return percent_of_peak(r);
}

bool is_link_bound(Record const& r) {
  if (!communicates(r)) return false;
  if (r.leg_summary) return r.leg_summary->communicate_s > r.leg_summary->compute_s;
  if (r.share_of_local && !r.local_is_suspect) return *r.share_of_local < kLocalShare;
  return r.unit == "B/s" && !(r.roofline.bytes > 0);
}

/// Whether latencies are a good part of the time: of launches, or one call, and of the rounds of a tree
/// in which ranks exchange.
bool is_short(Record const& r) {
  auto const launches = static_cast<double>(std::max<std::size_t>(1, r.kernels.size()));
  double const rounds = communicates(r) ? std::bit_width(static_cast<unsigned>(r.ranks - 1)) : 0;
  return r.time.median < kShortStep * (launches + rounds);
}

bool is_limited_by_power(Record const& r) {
  return std::ranges::find(r.clock_limits, core::to_text(device::ClockLimit::power)) !=
         r.clock_limits.end();
}

/// As people read it.
double rounded(double percent) { return std::round(percent); }

Answer judged(double percent, double good, double fair) {
  return rounded(percent) >= good   ? Answer::yes
         : rounded(percent) >= fair ? Answer::fair
                                    : Answer::no;
}

bool is_compared_with_suspect(Record const& r) {
  return (r.ratio_to_vendor && is_own(r) && r.vendor_is_suspect) ||
         (r.ratio_to_copy && r.copy_is_suspect);
}

Answer answer_of(Record const& r) {
  if (!r.suspect.empty()) return Answer::suspect;
  std::optional<double> const share = share_of_limit(r);
  Answer const by_limit = share                         ? judged(*share, kGoodOfLimit, kFairOfLimit)
                          : is_compared_with_suspect(r) ? Answer::suspect
                                                        : Answer::unknown;
  if (!has_vendor_ratio(r)) return by_limit;
  Answer const by_vendor = judged(100 * *r.ratio_to_vendor, kGoodOfVendor, kFairOfVendor);
  bool const are_far_apart = (by_limit == Answer::yes && by_vendor == Answer::no) ||
                             (by_limit == Answer::no && by_vendor == Answer::yes);
  return are_far_apart ? Answer::fair : by_vendor;
}

// Advice.

/// "2.7 x faster", "1.04 x faster".
std::string faster(double times) {
  return fmt::format("{:.{}g} x faster", times, times < 1.1 ? 3 : 2);
}

/// "broadcast = library is 2.7 x faster here" of the fastest of the run that computes the same; empty
/// where none is faster.
std::string faster_choice(CaseAssessment const& assessed, Cases const& cases) {
  Record const& r = *assessed.best;
  std::string const problem = apart_from_choices(r);
  Record const* fastest = nullptr;
  for (CaseAssessment const& other : cases) {
    if (other.best == nullptr || other.best == &r || !is_own(*other.best)) continue;
    Record const& o = *other.best;
    bool const is_same = o.size == r.size && o.ranks == r.ranks && o.amount == r.amount &&
                         o.suspect.empty() && apart_from_choices(o) == problem;
    if (is_same && (fastest == nullptr || o.rate > fastest->rate)) fastest = &o;
  }
  if (fastest == nullptr || !(fastest->rate > kBetter * r.rate)) return {};
  std::string choices = choices_unlike(*fastest, r);
  if (choices.empty()) choices = fmt::format("variant = {}", fastest->variant);
  return fmt::format("{} is {} here", choices, faster(fastest->rate / r.rate));
}

double volume(Record const& r) {
  return std::accumulate(r.size.begin(), r.size.end(), 1.0, [](double product, std::int64_t n) {
    return product * static_cast<double>(n);
  });
}

/// Whether nothing in the run shows that larger sizes come no closer to the limit, or to the vendor.
bool may_gain_from_size(CaseAssessment const& assessed, Cases const& cases) {
  Record const& r = *assessed.best;
  if (is_slower_than_vendor(r)) return false;  // which has no other size
  auto const share = [](Record const& one) {
    return share_of_limit(one).value_or(100 * one.ratio_to_vendor.value_or(0));
  };
  std::string const problem = apart_from_choices(r);
  bool has_larger = false;
  for (CaseAssessment const& other : cases) {
    if (other.best == nullptr || volume(*other.best) <= volume(r)) continue;
    if (other.best->type != r.type || apart_from_choices(*other.best) != problem) continue;
    if (share(*other.best) > kBetter * share(r)) return true;
    has_larger = true;
  }
  return !has_larger;
}

/// How to hide more of the communication; empty where it is hidden, or where there is none.
std::string overlap_advice(CaseAssessment const& assessed, bool has_size) {
  Record const& r = *assessed.best;
  if (!r.leg_summary || !r.leg_summary->hidden || *r.leg_summary->hidden >= kWellHidden) return {};
  return fmt::format("{:.0f} % of the shorter leg is hidden: {}try {}other panels, buffers = 3",
                     100 * *r.leg_summary->hidden,
                     r.backend == "cuda" ? "" : "leave a core to messages, ",
                     has_size ? "a larger size, or " : "");
}

std::string link_advice(CaseAssessment const& assessed, bool has_size) {
  if (std::string const advice = overlap_advice(assessed, has_size); !advice.empty()) return advice;
  if (assessed.transports().size() > 1) {
    return "the fastest of the transports here; inputs/collectives.toml says what a link gives";
  }
  return "transport = \"all\" compares the ways, inputs/collectives.toml says what a link gives";
}

/// A device's own limit is not reached: other techniques, or more work.
std::string device_advice(CaseAssessment const& assessed, bool has_size) {
  std::set<std::string_view> techniques;
  for (Record const* row : assessed.rows) {
    if (is_own(*row) && has_speed(*row)) techniques.insert(row->variant);
  }
  std::vector<std::string> advice;
  if (is_slower_than_vendor(*assessed.best)) {
    advice.push_back(fmt::format("the vendor's library is {} at this size",
                                 faster(1 / *assessed.best->ratio_to_vendor)));
  }
  if (techniques.size() < 2) advice.emplace_back("variant = \"all\" compares techniques");
  if (has_size) advice.emplace_back("a larger size hides start and end");
  bool const is_tuned =
      techniques.size() > 1 && assessed.best->backend == "cuda" && assessed.limit != Limit::memory;
  if (is_tuned) advice.emplace_back("`quadrille tune` where the variant is tunable");
  if (assessed.limit == Limit::memory) {
    advice.emplace_back("`quadrille doctor` shows how ranks are bound");
  }
  return fmt::format("{}", fmt::join(advice, "; "));
}

/// Whether what measures the device's peaks is there, but tells none.
bool has_suspect_peak(Cases const& cases) {
  return std::ranges::any_of(cases, [](CaseAssessment const& one) {
    return one.best != nullptr && one.best->measures != Resource::none &&
           !one.best->suspect.empty();
  });
}

std::string advice_of(CaseAssessment const& assessed, Cases const& cases) {
  constexpr std::string_view kSuspectOther = "what it is compared with is SUSPECT: measure again";
  Record const& r = *assessed.best;
  switch (assessed.answer) {
    case Answer::yes:
    case Answer::no_result: return {};
    case Answer::suspect:
      return std::string{r.suspect.empty()
                             ? kSuspectOther
                             : "the time is not trusted, for the reason beside SUSPECT"};
    case Answer::unknown:
      if (!(r.roofline.flop + r.roofline.bytes > 0) || r.roofline.is_hot) return {};
      return std::string{has_suspect_peak(cases)
                             ? kSuspectOther
                             : "a case of `copy` or `peak` before it measures what it is compared "
                               "with"};
    default: break;
  }
  if (std::string const faster = faster_choice(assessed, cases); !faster.empty()) return faster;
  bool const has_size = may_gain_from_size(assessed, cases);
  switch (assessed.limit) {
    case Limit::latency:
      return "a message this small costs latency, not bandwidth: send more at once";
    case Limit::link: return link_advice(assessed, has_size);
    case Limit::launch:
      if (!has_size) break;
      return fmt::format("{} is the time of a launch: a larger size, or more work in one",
                         core::format_seconds(r.time.median));
    case Limit::power:
      return "the device lowers its clock at its power limit: clock = \"sustained\" compares at "
             "equal power";
    case Limit::pcie:
      return "page-locked memory in chunks of 4 MiB or more comes close to the link";
    default: break;
  }
  std::string const overlap = overlap_advice(assessed, has_size);
  std::string const device = device_advice(assessed, has_size);
  return device + (device.empty() || overlap.empty() ? "" : "; ") + overlap;
}

/// The faster of two that have a speed, one of this project before any other.
bool is_better(Record const& a, Record const& b) {
  return is_own(a) != is_own(b) ? is_own(a) : a.rate > b.rate;
}

}  // namespace

bool is_exchange(Record const& r) {
  return has_transport(r) && r.unit == "B/s" && r.roofline.flop == 0 && r.roofline.bytes == 0;
}

bool is_own(Record const& r) {
  // Results of before roles were kept know these two.
  if (r.role.empty()) {
    return r.backend != core::to_text(Role::vendor) && r.backend != core::to_text(Role::reference);
  }
  return r.role == core::to_text(Role::own);
}

Limit limit_of(Record const& r) {
  if (!has_speed(r) || r.unit.empty()) return Limit::unknown;  // a simulation's time has none
  std::optional<double> const share = share_of_limit(r);
  bool const is_near = share && rounded(*share) >= kGoodOfLimit;
  if (!is_near && is_short(r)) return communicates(r) ? Limit::latency : Limit::launch;
  if (is_link_bound(r)) return Limit::link;
  if (!is_near && is_limited_by_power(r)) return Limit::power;
  if (r.roofline.is_hot && r.roofline.bytes > 0) return Limit::cache;
  if (auto const ceiling = ceiling_of(r)) {
    switch (ceiling->limit) {
      case Resource::compute: return Limit::compute;
      case Resource::pcie: return Limit::pcie;
      default: return *percent_of_ceiling(r) > kAboveCeiling ? Limit::cache : Limit::memory;
    }
  }
  // Fewer operations for each byte than any device does in the time of one.
  auto const operations = intensity(r);
  if (r.ratio_to_copy || (operations && *operations < 1)) return Limit::memory;
  if (percent_of_peak(r)) return r.unit == "B/s" ? Limit::memory : Limit::compute;
  return Limit::unknown;
}

bool has_vendor_ratio(Record const& r) {
  return is_own(r) && has_speed(r) && r.ratio_to_vendor && r.suspect.empty() &&
         !r.vendor_is_suspect;
}

bool is_slower_than_vendor(Record const& r) {
  if (!has_vendor_ratio(r)) return false;
  return r.ratio_to_vendor_high ? *r.ratio_to_vendor_high < 1
                                : rounded(100 * *r.ratio_to_vendor) < kGoodOfVendor;
}

std::optional<double> contradicting_vendor_percent(Record const& r, std::span<Record const> rows) {
  if (!r.ratio_to_vendor || !has_speed(r)) return std::nullopt;
  // What all ratios of a case are to has 1 to itself.
  auto const bar = std::ranges::find_if(rows, [&](Record const& row) {
    return row.name == r.name && row.ratio_to_vendor == 1.0 && !is_own(row) && has_speed(row);
  });
  if (bar == rows.end() || !(bar->rate > 0)) return std::nullopt;
  double const of_rates = r.rate / bar->rate;
  bool const agrees = std::abs(of_rates / *r.ratio_to_vendor - 1) <= kAgreeing;
  return agrees ? std::nullopt : std::optional{100 * of_rates};
}

std::string missed_best(Record const& r, std::span<Record const> rows) {
  if (!r.is_best || !is_own(r) || !has_speed(r) || !r.suspect.empty()) return {};
  Record const* fastest = &r;
  for (Record const& o : rows) {
    bool const counts = o.name == r.name && is_own(o) && has_speed(o) && o.suspect.empty();
    if (counts && o.rate > fastest->rate) fastest = &o;
  }
  bool const is_apart = fastest->time.median_high < r.time.median_low;
  if (!is_apart || !(fastest->rate >= kBetter * r.rate)) return {};
  return fmt::format("best took {}; {} is {} here", r.variant, fastest->variant,
                     faster(fastest->rate / r.rate));
}

std::set<std::string_view> CaseAssessment::transports() const {
  std::set<std::string_view> names;
  for (Record const* row : rows) {
    if (has_transport(*row)) names.insert(row->transport);
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
      bool const joins = !is_first && has_transport(record) &&
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
  for (CaseAssessment& assessed : cases) {
    for (Record const* row : assessed.rows) {
      bool const counts =
          has_speed(*row) && row->role != core::to_text(Role::ceiling) && row->rate > 0;
      bool const wins = counts && (assessed.best == nullptr || is_better(*row, *assessed.best));
      if (wins) assessed.best = row;
    }
    if (assessed.best == nullptr) continue;
    assessed.limit = limit_of(*assessed.best);
    assessed.answer = answer_of(*assessed.best);
  }
  for (CaseAssessment& assessed : cases) {
    if (assessed.best != nullptr) assessed.advice = advice_of(assessed, cases);
  }
  return cases;
}

std::map<Record const*, CaseAssessment> assessed_rows(measure::RunResult const& result) {
  std::map<Record const*, CaseAssessment> rows;
  for (CaseAssessment& one : assess(result)) {
    Record const* const head = &one.head();
    rows.emplace(head, std::move(one));
  }
  return rows;
}

VendorStanding vendor_standing(std::vector<CaseAssessment> const& cases) {
  VendorStanding standing;
  for (CaseAssessment const& one : cases) {
    if (one.best == nullptr || !has_vendor_ratio(*one.best)) continue;
    (is_slower_than_vendor(*one.best) ? standing.slower : standing.as_fast).push_back(one.best);
  }
  for (auto* rows : {&standing.slower, &standing.as_fast}) {
    std::ranges::sort(*rows, {}, [](Record const* r) { return *r->ratio_to_vendor; });
  }
  return standing;
}

}  // namespace quadrille::report
