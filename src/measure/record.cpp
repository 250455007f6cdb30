// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/record.hpp"

#include "core/error.hpp"
#include "device/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

namespace quadrille::measure {
namespace {

constexpr double kRateOverPeak = 1.05;
// A device tells its clock after a repetition, which may have had a higher one.
constexpr double kClockMargin = 1.05;
constexpr double kImbalance = 1.5;
// A shorter leg below this share of the longer: hiding it is lost in the variation of both.
constexpr double kWorthHiding = 0.1;

struct OutcomeFacts {
  Outcome outcome;
  core::Exit exit;
  int Counts::*counted = nullptr;
  std::string_view how = {};  ///< why a run fails that has such: "2 wrong"
};
constexpr OutcomeFacts kOutcomes[]{
    {Outcome::pass, core::Exit::pass, &Counts::passed},
    {Outcome::fail, core::Exit::wrong_result, &Counts::failed, "wrong"},
    {Outcome::wrong_library, core::Exit::pass, &Counts::wrong_libraries},
    {Outcome::skip, core::Exit::pass, &Counts::skipped},
    {Outcome::unsupported, core::Exit::pass, &Counts::unsupported},
    {Outcome::error, core::Exit::runtime, &Counts::failed, "ended by an error"},
    {Outcome::timeout, core::Exit::timeout, &Counts::failed, "timed out"},
    {Outcome::interrupted, core::Exit::interrupted, nullptr, "interrupted"},
};
OutcomeFacts const& facts_of(Outcome outcome) {
  return *std::ranges::find(kOutcomes, outcome, &OutcomeFacts::outcome);
}

/// One repetition as one number per rank.
std::span<double const> row(std::vector<double> const& seconds, int ranks, std::size_t i) {
  auto const width = static_cast<std::size_t>(ranks);
  return std::span{seconds}.subspan(i * width, width);
}

std::size_t repetitions(std::vector<double> const& seconds, int ranks) {
  if (seconds.empty()) return 0;
  QUAD_REQUIRE(ranks > 0 && seconds.size() % static_cast<std::size_t>(ranks) == 0,
               fmt::format("record: {} samples are not whole repetitions of {} ranks",
                           seconds.size(), ranks));
  return seconds.size() / static_cast<std::size_t>(ranks);
}

/// std::max_element would lose a NaN that is not in front.
double max_or_nan(std::span<double const> values) {
  double largest = -std::numeric_limits<double>::infinity();
  for (double const value : values) {
    if (std::isnan(value)) return value;
    largest = std::max(largest, value);
  }
  return largest;
}

/// The slowest time over the median of the others, which one slow rank cannot lift; 1 for one rank.
double slowest_over_others(std::span<double const> times) {
  if (times.size() < 2) return 1;
  double const slowest = max_or_nan(times);
  if (std::isnan(slowest)) return slowest;
  std::vector<double> others(times.begin(), times.end());
  others.erase(std::ranges::max_element(others));
  return slowest / core::summarize(others).median;
}

void find_imbalance(Record& record) {
  std::size_t const n = repetitions(record.seconds, record.ranks);
  std::vector<double> ratios;
  std::vector<std::int64_t> times_slowest(static_cast<std::size_t>(std::max(record.ranks, 0)));
  for (std::size_t i = 0; i < n; ++i) {
    std::span<double const> const times = row(record.seconds, record.ranks, i);
    ratios.push_back(slowest_over_others(times));
    ++times_slowest[static_cast<std::size_t>(std::ranges::max_element(times) - times.begin())];
  }
  record.imbalance = n > 0 ? core::summarize(ratios).median : 0;
  record.slowest_rank =
      n > 0 ? static_cast<int>(std::ranges::max_element(times_slowest) - times_slowest.begin())
            : -1;
}

/// From the first sample to the last: both counters are as old, and the device worked all the time.
void find_energy(Record& record) {
  record.energy_j = record.rate_per_watt = std::nullopt;
  std::size_t const n = repetitions(record.energy_counter_j, record.ranks);
  // A counter of each rank for each sample, or none: executions between are counted by samples.
  if (n < 2 || n != repetitions(record.seconds, record.ranks)) return;
  std::span<double const> const first = row(record.energy_counter_j, record.ranks, 0);
  std::span<double const> const last = row(record.energy_counter_j, record.ranks, n - 1);
  double joules = 0;
  for (std::size_t rank = 0; rank < first.size(); ++rank) joules += last[rank] - first[rank];
  if (!(joules > 0)) return;
  record.energy_j = joules / static_cast<double>(n - 1) / static_cast<double>(record.batch);
  if (record.amount > 0) record.rate_per_watt = record.amount / *record.energy_j;
}

/// A record may be finished again, after its runner or a reader has added to it.
void add_suspect(Record& record, std::string reason) {
  if (std::ranges::find(record.suspect, reason) == record.suspect.end()) {
    record.suspect.push_back(std::move(reason));
  }
}

/// A median that is not known well enough: its reader takes the number for more than it is.
void judge_interval(Record& record, core::Summary const& times, std::string_view what,
                    std::string_view disturbance) {
  double const half_width = 100 * times.half_width();
  if (record.suspect_percent <= 0 || half_width <= record.suspect_percent) return;
  add_suspect(record, fmt::format("{} vary: their median is only known within {:.1f} %{}{}", what,
                                  half_width, disturbance.empty() ? "" : ", since ", disturbance));
}

/// The peak at the highest clock that a device told; the nominal one where none did.
double peak_at_clock(Record const& record) {
  if (record.clock_hz.empty() || record.peak_clock_hz <= 0) return record.peak;
  double const share = std::ranges::max(record.clock_hz) / record.peak_clock_hz;
  return std::min(1.0, kClockMargin * share) * record.peak;
}

/// The clock during the samples, at the median, as a share of that at which the device has its peak.
std::optional<double> clock_share(Record const& record) {
  if (record.clock_hz.empty() || record.peak_clock_hz <= 0) return std::nullopt;
  double const clock = core::summarize(record.clock_hz).median;
  return clock > 0 ? std::optional{clock / record.peak_clock_hz} : std::nullopt;
}

/// What the search for a library's call saw of it, in a row of launches, is the least that it takes at
/// the clock of then, at best the highest. That a row takes longer, at the power limit, is no doubt
/// about samples between which the device rests; that samples do is one: they may show the host.
void judge_search(Record& record) {
  constexpr double kMinSeconds = 20e-6, kTolerance = 1.1;
  bool const is_comparable = record.searched_s >= kMinSeconds && record.buffer_sets == 1;
  if (!is_comparable || !std::isfinite(record.searched_s)) return;
  double const share = std::min(1.0, clock_share(record).value_or(1));
  if (record.time.median * share <= kTolerance * record.searched_s) return;
  add_suspect(record, fmt::format("the samples show {}, the search for this call {}",
                                  core::format_seconds(record.time.median),
                                  core::format_seconds(record.searched_s)));
}

void judge(Record& record, std::string_view disturbance) {
  // Without a rate the time is that of a simulation, of which nobody reads how long it took.
  if (record.time.n == 0 || record.unit.empty()) return;
  if (!(record.time.median > 0)) {
    add_suspect(record, fmt::format("the median time is {} s: nothing was timed, or the clock is "
                                    "too coarse for this size",
                                    record.time.median));
    return;
  }
  double const peak = peak_at_clock(record);
  if (peak > 0 && !(record.rate <= kRateOverPeak * peak)) {
    add_suspect(record, fmt::format("the rate is {:.3g} x the peak at the device's clock: work was "
                                    "left out, or served from a cache",
                                    record.rate / peak));
  }
  judge_interval(record, record.time, "the times", disturbance);
  judge_search(record);
  // What is hidden depends on every leg; the last is that of the times.
  for (LegSamples const& samples : record.legs) {
    bool const counts = record.leg_summary && record.leg_summary->hidden;
    if (!counts || samples.leg == "overlapped") continue;
    judge_interval(record, core::summarize(slowest_times(samples.seconds, record.ranks)),
                   fmt::format("the times of the leg '{}'", samples.leg), disturbance);
  }
  // A device that runs into its power has no higher clock to give; heat and a fault have a cause.
  for (std::string const& limit : record.clock_limits) {
    if (limit != core::to_text(device::ClockLimit::thermal) &&
        limit != core::to_text(device::ClockLimit::hardware)) {
      continue;
    }
    add_suspect(record, fmt::format("a {} slowdown lowered the device's clock", limit));
  }
  if (record.ranks > 1 && !(record.imbalance <= kImbalance)) {
    add_suspect(record,
                fmt::format("the slowest rank takes {:.3g} x the median of the others, most "
                            "often rank {}",
                            record.imbalance, record.slowest_rank));
  }
}

}  // namespace

double rate_of(SecondaryMetric const& extra, Record const& record) {
  double const seconds = extra.seconds > 0 ? extra.seconds : record.time.median;
  if (extra.unit == "s") return extra.amount > 0 ? seconds / extra.amount : 0;
  if (!extra.unit.ends_with("/s")) return extra.amount;
  return seconds > 0 ? extra.amount / seconds : 0;
}

double latency_of(PairTimes const& pair) {
  return pair.latency_s.empty() ? std::numeric_limits<double>::quiet_NaN()
                                : core::summarize(pair.latency_s).median;
}

double rate_of(PairTimes const& pair) {
  return pair.transfer_s.empty() ? std::numeric_limits<double>::quiet_NaN()
                                 : pair.bytes / core::summarize(pair.transfer_s).median;
}

std::optional<double> percent_of_peak(Record const& record) {
  if (!(record.peak > 0 && record.rate > 0)) return std::nullopt;
  return 100 * record.rate / record.peak;
}

std::optional<double> percent_of_peak_at_clock(Record const& record) {
  auto const percent = percent_of_peak(record), share = clock_share(record);
  return percent && share ? std::optional{*percent / *share} : std::nullopt;
}

std::optional<double> intensity(Record const& record) {
  if (!(record.roofline.bytes > 0)) return std::nullopt;
  return record.roofline.flop / record.roofline.bytes;
}

std::optional<Ceiling> ceiling_of(Record const& record) {
  Roofline const& r = record.roofline;
  // Whatever computes: fewer operations for each byte than any device does in the time of one.
  double const flop = r.compute_peak > 0 || r.flop >= r.bytes ? r.flop : 0;
  bool const is_known = (flop == 0 || r.compute_peak > 0) &&
                        (r.bytes == 0 || (r.memory_peak > 0 && !r.is_hot)) &&
                        (r.pcie_bytes == 0 || r.pcie_peak > 0);
  if (!is_known || !(flop + r.bytes + r.pcie_bytes > 0 && record.amount > 0)) return std::nullopt;
  struct Part {
    double seconds;
    Resource resource;
    bool is_measured;
  };
  Part const parts[]{
      {r.bytes > 0 ? r.bytes / r.memory_peak : 0, Resource::memory, r.memory_is_measured},
      {flop > 0 ? flop / r.compute_peak : 0, Resource::compute, r.compute_is_measured},
      {r.pcie_bytes > 0 ? r.pcie_bytes / r.pcie_peak : 0, Resource::pcie, false}};
  Part const& longest = *std::ranges::max_element(parts, {}, &Part::seconds);
  return Ceiling{record.amount / longest.seconds, longest.resource, longest.is_measured};
}

std::optional<double> percent_of_ceiling(Record const& record) {
  std::optional<Ceiling> const ceiling = ceiling_of(record);
  if (!ceiling || !(record.rate > 0)) return std::nullopt;
  return 100 * record.rate / ceiling->rate;
}

std::vector<double> slowest_times(std::vector<double> const& seconds, int ranks) {
  std::vector<double> times;
  for (std::size_t i = 0; i < repetitions(seconds, ranks); ++i) {
    times.push_back(max_or_nan(row(seconds, ranks, i)));
  }
  return times;
}

LegSummary summarize_legs(std::vector<LegSamples> const& legs, int ranks) {
  auto const times_of = [&](std::string_view name) {
    auto const found = std::ranges::find(legs, name, &LegSamples::leg);
    return found == legs.end() ? std::vector<double>{} : slowest_times(found->seconds, ranks);
  };
  auto const median_of = [](std::vector<double> const& times) {
    return times.empty() ? std::numeric_limits<double>::quiet_NaN() : core::summarize(times).median;
  };
  std::vector<double> const compute = times_of("compute"), communicate = times_of("communicate"),
                            overlapped = times_of("overlapped");
  LegSummary s;
  s.compute_s = median_of(compute);
  s.communicate_s = median_of(communicate);
  s.serial_s = median_of(times_of("serial"));
  s.overlapped_s = median_of(overlapped);
  s.overlapped_over_max = s.overlapped_s / std::max(s.compute_s, s.communicate_s);
  s.slowdown_compute = s.overlapped_s / s.compute_s;
  s.slowdown_communicate = s.overlapped_s / s.communicate_s;
  bool const is_worth_hiding = std::min(s.compute_s, s.communicate_s) >=
                               kWorthHiding * std::max(s.compute_s, s.communicate_s);
  if (ranks < 2 || !is_worth_hiding) return s;

  // The legs of a repetition run one after the other: pairs of them saw the same clocks.
  std::vector<double> hidden;
  for (std::size_t i = 0; i < std::min({compute.size(), communicate.size(), overlapped.size()});
       ++i) {
    hidden.push_back((compute[i] + communicate[i] - overlapped[i]) /
                     std::min(compute[i], communicate[i]));
  }
  core::Summary const all = core::summarize(hidden);
  s.hidden = all.median;
  if (std::isfinite(all.median_low)) {
    s.hidden_low = all.median_low;
    s.hidden_high = all.median_high;
  }
  return s;
}

void finish(Record& record, std::string_view disturbance) {
  record.time = core::summarize(slowest_times(record.seconds, record.ranks));
  record.fastest_round_s = record.slowest_round_s = record.time.median;
  record.rate =
      record.time.n > 0 && record.time.median > 0 ? record.amount / record.time.median : 0;
  find_imbalance(record);
  find_energy(record);
  auto const sampled = [&](std::string_view name) {
    return std::ranges::any_of(record.legs, [&](LegSamples const& samples) {
      return samples.leg == name && !samples.seconds.empty();
    });
  };
  record.leg_summary.reset();
  if (sampled("compute") && sampled("communicate") && sampled("serial") && sampled("overlapped")) {
    record.leg_summary = summarize_legs(record.legs, record.ranks);
  }
  judge(record, disturbance);
}

void suspect_shared_device(Record& record, double busy) {
  constexpr double kBusy = 0.05, kLongSample = 50e-3;
  double const sample_s = record.time.median * static_cast<double>(record.batch);
  if (busy < kBusy || !(sample_s >= kLongSample) || record.unit.empty()) return;
  add_suspect(record, fmt::format("another process kept the device busy for {:.0f} % of the time "
                                  "when this run began",
                                  100 * busy));
}

core::Summary paired_ratio(Record const& record, Record const& base) {
  std::vector<double> const mine = slowest_times(record.seconds, record.ranks);
  std::vector<double> const theirs = slowest_times(base.seconds, base.ranks);
  double const work = record.amount > 0 && base.amount > 0 ? record.amount / base.amount : 1;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i) {
    ratios.push_back(work * theirs[i] / mine[i]);
  }
  return core::summarize(ratios);
}

namespace {

void set(core::Summary const& ratio, std::optional<double>& median, std::optional<double>& low,
         std::optional<double>& high) {
  median = low = high = std::nullopt;
  if (ratio.n == 0 || !std::isfinite(ratio.median)) return;
  median = ratio.median;
  if (!std::isfinite(ratio.median_low)) return;  // too few pairs
  low = ratio.median_low;
  high = ratio.median_high;
}

}  // namespace

void set_ratio(Record& record, Record const& base) {
  if (!(record.amount > 0)) return;  // of nothing there is no rate
  set(paired_ratio(record, base), record.ratio_to_vendor, record.ratio_to_vendor_low,
      record.ratio_to_vendor_high);
  record.vendor_is_suspect = !base.suspect.empty();
}

void set_share_of_local(Record& record, Record const& local) {
  set(paired_ratio(record, local), record.share_of_local, record.share_of_local_low,
      record.share_of_local_high);
  record.local_is_suspect = !local.suspect.empty();
}

void set_ratio_to_copy(Record& record, Record const& copy) {
  if (!(copy.rate > 0)) return;
  record.ratio_to_copy = record.rate / copy.rate;
  record.copy_is_suspect = !copy.suspect.empty();
}

Counts count_outcomes(RunResult const& result) {
  Counts counts;
  for (Record const& record : result.records) {
    if (auto const counted = facts_of(record.outcome).counted) ++(counts.*counted);
  }
  return counts;
}

namespace {

/// Whether a variant could not run that its case names. What ran and could not be judged was there.
bool is_missing(Record const& record) {
  bool const has_run = record.first_use_s > 0;
  return record.is_named && record.outcome == Outcome::unsupported && !has_run;
}

}  // namespace

Ending ending_of(RunResult const& result) {
  Ending ending;
  auto const add = [&](core::Exit code, std::string const& reason) {
    ending.code = core::worse(ending.code, code);
    ending.reason += (ending.reason.empty() ? "" : "; ") + reason;
  };
  // "2 wrong: a x, b y", with the first names.
  auto const add_all = [&](core::Exit code, std::string_view how, auto const& is_one) {
    constexpr std::size_t kMaxNames = 3;
    std::string names;
    std::size_t count = 0;
    for (Record const& record : result.records) {
      if (!is_one(record) || ++count > kMaxNames) continue;
      names += fmt::format("{}{} {}", count > 1 ? ", " : "", record.name, record.variant);
    }
    if (count > kMaxNames) names += fmt::format(" and {} more", count - kMaxNames);
    if (count > 0) add(code, fmt::format("{} {}: {}", count, how, names));
  };
  for (OutcomeFacts const& facts : kOutcomes) {
    if (facts.exit == core::Exit::pass) continue;
    add_all(facts.exit, facts.how, [&](Record const& r) { return r.outcome == facts.outcome; });
  }
  auto const missing = std::ranges::count_if(result.records, is_missing);
  add_all(core::Exit::environment,
          missing == 1 ? "named variant cannot run" : "named variants cannot run", is_missing);
  if (!result.failure.empty()) add(core::Exit::runtime, result.failure);
  if (result.info.status == "running") {
    add(core::Exit::interrupted, "the run has not ended, or was killed");
  }
  if (result.info.status == "interrupted") {
    add(core::Exit::interrupted, "the run was interrupted");
  }
  if (ending.reason.empty() && count_outcomes(result).executed() == 0) {
    auto const why =
        std::ranges::find_if(result.records, [](Record const& r) { return !r.reason.empty(); });
    add(core::Exit::nothing_executed,
        "nothing was executed" +
            (why == result.records.end()
                 ? ""
                 : fmt::format(": {} {}: {}", why->name, why->variant, why->reason)));
  }
  return ending;
}

}  // namespace quadrille::measure
