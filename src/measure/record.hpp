// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement.hpp"
#include "comm/transport_choice.hpp"
#include "core/enum_names.hpp"
#include "core/error.hpp"
#include "core/stats.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quadrille::core {
struct Case;
struct RunSettings;
}  // namespace quadrille::core

namespace quadrille::measure {

/// How one measurement ended.
enum class Outcome {
  pass,
  fail,
  wrong_library,  ///< a library's row, of which a plain call of the library is wrong, too
  skip,
  unsupported,
  error,
  timeout,
  interrupted
};
constexpr auto enum_names(Outcome) {
  return core::EnumNames<Outcome, 8>{{{Outcome::pass, "PASS"},
                                      {Outcome::fail, "FAIL"},
                                      {Outcome::wrong_library, "WRONG (library)"},
                                      {Outcome::skip, "SKIP"},
                                      {Outcome::unsupported, "UNSUPPORTED"},
                                      {Outcome::error, "ERROR"},
                                      {Outcome::timeout, "TIMEOUT"},
                                      {Outcome::interrupted, "INTERRUPTED"}}};
}

/// What of a device a repetition may be limited by.
enum class Resource { none, compute, memory, pcie };
constexpr auto enum_names(Resource) {
  return core::EnumNames<Resource, 4>{{{Resource::none, "none"},
                                       {Resource::compute, "compute"},
                                       {Resource::memory, "memory"},
                                       {Resource::pcie, "PCIe"}}};
}

/// What a repetition cannot do without, and what the devices of all ranks do of it in a second at most.
struct Roofline {
  double flop = 0;
  double bytes = 0;     ///< between memory and caches
  bool is_hot = false;  ///< caches hold a part of the bytes, nobody knows how many
  double compute_peak = 0, memory_peak = 0;                      ///< 0 unknown
  bool compute_is_measured = false, memory_is_measured = false;  ///< in this run, or nominal
  double pcie_bytes = 0;  ///< between devices and hosts, in the direction of more
  double pcie_peak = 0;   ///< of GPUs, in each direction; 0 unknown
};

/// A number that tables and files show, for `explain`.
struct Metric {
  std::string_view name;
  std::string_view unit;
  std::string_view meaning;
};

/// A chart of secondary metrics of a case, or of all that a sweep made of it: a bar or line for each.
struct MetricChart {
  enum class Kind {
    rates,      ///< bars of one metric
    spans,      ///< bars from one metric to another, for each part
    shares,     ///< of 100 %, for each part, stacked
    over_time,  ///< a line through the metrics of a series
  };
  struct Part {
    std::string_view metric;  ///< its name, or that of a series
    std::string_view label{};
    std::string_view to{};  ///< of spans
  };
  Kind kind;
  std::string_view title, note{};
  std::vector<Part> parts;
  /// Of shares: what all but the first part are together, and what is missing to 100 %.
  std::string_view others{}, rest{};
};
constexpr auto enum_names(MetricChart::Kind) {
  using Kind = MetricChart::Kind;
  return std::array{std::pair{Kind::rates, "rates"}, std::pair{Kind::spans, "spans"},
                    std::pair{Kind::shares, "shares"}, std::pair{Kind::over_time, "over_time"}};
}

/// A rate that is shown beside the primary one. Its Metric is in the workload's entry.
struct SecondaryMetric {
  std::string name;  ///< "bus bandwidth", "device traffic"
  double amount = 0;
  std::string unit;    ///< "B/s", "FLOP/s", "eval/s"; "s": the time of one of `amount`; without a
                       ///< time ("wavefronts"): the amount itself
  double seconds = 0;  ///< what the amount is divided by; 0: the median time of a repetition
  bool is_detail = false;  ///< for `report --details` and files alone
  std::string series{};    ///< what it is the next point in time of, if any: "used" of "used 3/10"
};

/// Samples of one leg: seconds[repetition * ranks + rank].
struct LegSamples {
  std::string leg;  ///< compute, communicate, serial, overlapped
  std::vector<double> seconds;
};

struct LegSummary {
  double compute_s = 0, communicate_s = 0, serial_s = 0, overlapped_s = 0;
  /// (t_c + t_x - t_o) / min(t_c, t_x), raw: below 0 and above 1 are possible. The median of the
  /// values of each repetition, with its 95 % interval; empty where there is nothing to hide: on one
  /// rank, or where one of both takes less than a tenth of the other.
  std::optional<double> hidden, hidden_low, hidden_high;
  double overlapped_over_max = 0;   ///< t_o / max(t_c, t_x)
  double slowdown_compute = 0;      ///< t_o / t_c: the whole pipeline against its computation alone
  double slowdown_communicate = 0;  ///< t_o / t_x: ... and against its communication alone
};
/// Of the per-repetition maxima over ranks: medians, and ratios of medians.
LegSummary summarize_legs(std::vector<LegSamples> const& legs, int ranks);

/// Messages from one rank to another, by repetition.
struct PairTimes {
  int from = 0, to = 0;
  std::string link;                ///< what joins their devices, as device::Link has it
  double bytes = 0;                ///< of a large message
  std::vector<double> latency_s;   ///< of a small message
  std::vector<double> transfer_s;  ///< of a large message
};
/// Medians over the repetitions; NaN where there are none.
double latency_of(PairTimes const& pair);
double rate_of(PairTimes const& pair);

/// What the check of one variant found, over all ranks.
struct CheckResult {
  double error = 0;  ///< NaN where nothing was checked, or where the result is NaN
  double bound = 0;
  std::int64_t wrong = 0;
  std::string first_wrong;  ///< "C(3, 4) on rank 1: expected 5, got nan"
  std::string digest;       ///< of the result, where a workload makes one
};

/// Everything about one measurement that a result file keeps: a journal line is one of these.
struct Record {
  std::string id;    ///< "summa.2:kokkos", unique in a run
  std::string name;  ///< the case
  std::string workload, type, variant, backend, transport, grid, device, source;
  std::string role;  ///< of the variant, as kernels::Role has it
  std::vector<std::int64_t> size;
  std::string config;  ///< the case as TOML
  /// The same; of a record from a file, what report::read_cases() found in it. Empty where this
  /// program cannot read it, for the reason beside it.
  std::shared_ptr<core::Case const> spec{};
  std::string unreadable{};
  std::string data;
  std::uint64_t seed = 0;
  int ranks = 0;
  bool is_named = false;  ///< the case asks for this variant by its name
  bool is_best = false;   ///< the case asks for "best", which is this variant
  Outcome outcome = Outcome::error;
  std::string reason;
  std::vector<std::string> suspect;  ///< reasons; empty when trusted
  bool transport_is_chosen = false;  ///< by measured times, for transport = "auto"
  bool modelled_link = false;        ///< throttle was on
  bool is_host_timed = false;        ///< by the host's clock, though the device has one
  double amount = 0;                 ///< work of one repetition over all ranks, in units of `unit`
  std::string unit;
  double peak = 0;           ///< in `unit` over all ranks; 0 unknown
  double peak_clock_hz = 0;  ///< of the device, at which it has that peak; 0: of none
  double suspect_percent =
      5;  ///< of a median: half its interval, above which it is SUSPECT; 0: never
  Roofline roofline;
  Resource measures = Resource::none;  ///< of which its rate is what a device can do
  std::vector<SecondaryMetric> extras;
  std::vector<std::string> kernels;  ///< each launch of one execution, as the driver sees it
  std::string implementation;  ///< what a library's row calls on rank 0, where it chose, and its
                               ///< caveat; empty for most
  double searched_s = 0;     ///< of the library's call, as the search found that chose it; 0: none
  double published = 0;      ///< in `unit`: the figure of the technique's source; 0 for none
  std::string published_on;  ///< the device of that figure
  std::string timing;        ///< whose clock: device, synchronised (host) or launch_only
  std::int64_t batch = 1;    ///< executions that each of the samples is the mean of
  std::vector<double> seconds;   ///< [repetition * ranks + rank], the timed repetitions
  std::int64_t buffer_sets = 1;  ///< sets of buffers that a batch rotated over
  /// The device's clock and power after each repetition, in the same layout; empty where unknown.
  std::vector<double> clock_hz, power_w;
  std::vector<std::string> clock_limits;  ///< in force after a repetition, on any rank: "power"
  /// The counter of the energy that the device took, after each sample of a sustained clock.
  std::vector<double> energy_counter_j;
  double first_use_s = 0;    ///< the very first repetition, slowest rank
  std::int64_t warmups = 0;  ///< untimed executions after it, and their seconds, of the rank that
  double warmup_s = 0;       ///< had the fewest
  std::vector<LegSamples> legs;
  /// Of each ordered pair of ranks, where a workload is timed pair by pair.
  std::vector<PairTimes> pairs;
  CheckResult check;
  /// How often the case ran, each time with all its repetitions, and the least and the largest of the
  /// medians. All else is that of the last round, or of the first that did not pass.
  std::int64_t rounds = 1;
  double fastest_round_s = 0, slowest_round_s = 0;

  // Derived by finish(); every number on the screen.
  core::Summary time;
  double rate = 0;
  double imbalance = 0;   ///< median over repetitions of the slowest rank / median of the others
  int slowest_rank = -1;  ///< most often the slowest
  std::optional<double> ratio_to_vendor;
  std::optional<double> ratio_to_vendor_low,
      ratio_to_vendor_high;  ///< 95 % interval of the paired ratios
  std::optional<double> ratio_to_copy;
  /// Whether what these are ratios to is SUSPECT: then they are not known either.
  bool vendor_is_suspect = false, copy_is_suspect = false;
  /// The same paired ratio to the local ceiling: each rank's work without communication.
  std::optional<double> share_of_local, share_of_local_low, share_of_local_high;
  bool local_is_suspect = false;
  std::optional<LegSummary> leg_summary;
  /// Joules of one repetition on all ranks' devices, and work per joule: rate per watt. Where devices
  /// tell and the clock was sustained: shorter spans are lost in the counters' steps.
  std::optional<double> energy_j, rate_per_watt;
};

/// The rate, time or amount that `extra` represents in this finished record; 0 without a time.
double rate_of(SecondaryMetric const& extra, Record const& record);
/// The rate as a share of the peak of all ranks' devices; empty where either is unknown.
std::optional<double> percent_of_peak(Record const& record);
/// The same at the clock of the samples, at the median; empty, too, where devices do not tell it.
std::optional<double> percent_of_peak_at_clock(Record const& record);
/// Operations for each byte of compulsory traffic; empty where there is none.
std::optional<double> intensity(Record const& record);
/// The highest rate that the roofline of a record allows, in its unit.
struct Ceiling {
  double rate = 0;
  Resource limit = Resource::none;
  bool is_measured = false;  ///< the peak of that resource
};
/// Empty where a peak is not known of what a repetition needs.
std::optional<Ceiling> ceiling_of(Record const& record);
std::optional<double> percent_of_ceiling(Record const& record);
/// Per repetition the slowest rank's time. NaN on any rank gives NaN.
std::vector<double> slowest_times(std::vector<double> const& seconds, int ranks);
/// Fills the derived members from the samples, and adds the SUSPECT reasons. `disturbance`: what is
/// known to make times vary on this machine; empty for nothing.
void finish(Record& record, std::string_view disturbance = {});
/// For a finished record of a device that others kept busy for such a share of the time: their work is
/// averaged by samples that last longer than its bursts, whose spread then does not show it.
void suspect_shared_device(Record& record, double busy);
/// Ratios of rates, this over base, of the repetitions with equal index: variants of one case are
/// launched alternately, so both of a pair saw the same clocks. n = 0 without a common repetition.
core::Summary paired_ratio(Record const& record, Record const& base);
/// Sets ratio_to_vendor or share_of_local to the median of paired_ratio(), and its interval where
/// there is one; ratio_to_copy to the ratio of the rates.
void set_ratio(Record& record, Record const& base);
void set_share_of_local(Record& record, Record const& local);
void set_ratio_to_copy(Record& record, Record const& copy);

/// Facts of a run that stand once in a result.
struct RunInfo {
  std::string run_id, started, finished;
  std::string status;  ///< running (or killed), finished or interrupted
  std::string config;  ///< resolved, as TOML
  std::shared_ptr<core::RunSettings const> settings{};  ///< of it, as Record::spec is of a case
  std::vector<std::pair<std::string, std::string>>
      build;  ///< version, commit, compiler, flags, ...
  std::vector<std::pair<std::string, std::string>>
      environment;  ///< allow-listed variables, Slurm facts
  std::vector<comm::Placement> ranks;
  std::vector<comm::TransportTime>
      transport_times;              ///< by which "auto" chose; empty where it did not
  std::vector<std::string> events;  ///< warnings, retries, interruptions
};

struct RunResult {
  RunInfo info;
  std::vector<Record> records;
  /// Names of those of which no record is missing; only a journal tells.
  std::vector<std::string> finished_cases;
  /// What went wrong with the run itself, such as output that was lost; in no file.
  std::string failure;
};

/// How the measurements of a run ended. Skipped or unsupported is not passed, and an interrupted
/// measurement is none of these.
struct Counts {
  int passed = 0, failed = 0, skipped = 0, unsupported = 0;
  int wrong_libraries = 0;
  int executed() const { return passed + failed + wrong_libraries; }
};
Counts count_outcomes(RunResult const& result);

/// How the process that made a result ends.
struct Ending {
  /// The most serious outcome's, environment where a variant cannot run that a case names, or
  /// nothing_executed when everything was skipped.
  core::Exit code = core::Exit::pass;
  std::string reason;  ///< everything that failed it, in a line; empty where it passed

  bool has_passed() const { return code == core::Exit::pass; }
};
Ending ending_of(RunResult const& result);

}  // namespace quadrille::measure
