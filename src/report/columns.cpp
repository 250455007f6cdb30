// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/columns.hpp"

#include "core/error.hpp"
#include "core/units.hpp"
#include "report/assessment.hpp"
#include "report/cells.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace quadrille::report {
namespace {

using core::Summary;
using measure::CheckResult;
using measure::LegSummary;
using measure::Outcome;
using measure::Record;

Value finite(std::optional<double> value) {
  return value && std::isfinite(*value) ? Value{*value} : Value{};
}

// Values, each by the rule for its kind: a time, a ratio or a rate needs a right result.
template <auto kMember>
Value plain(Record const& r) {
  return r.*kMember;
}
template <auto kMember>
Value timed(Record const& r) {
  return speed(r, r.*kMember);
}
template <double Summary::*kMember>
Value time(Record const& r) {
  return speed(r, r.time.*kMember);
}
template <auto kMember>
Value leg(Record const& r) {
  return has_legs(r) ? finite((*r.leg_summary).*kMember) : Value{};
}
template <auto kMember>
Value of_check(Record const& r) {
  return r.check.*kMember;
}
template <double CheckResult::*kMember>
Value checked(Record const& r) {
  bool const known = r.outcome == Outcome::pass || r.outcome == Outcome::fail ||
                     r.outcome == Outcome::wrong_library;
  return known ? finite(r.check.*kMember) : Value{};
}
Value verdict(Record const& r) { return std::string{core::to_text(r.outcome)}; }
Value samples(Record const& r) { return r.time.n; }
Value slowest_rank(Record const& r) { return has_speed(r) ? Value{r.slowest_rank} : Value{}; }
Value work_rate(Record const& r) { return r.rate > 0 ? speed(r, r.rate) : Value{}; }
Value peak_share(Record const& r) { return speed(r, percent_of_peak(r)); }
Value intensity_of(Record const& r) { return finite(intensity(r)); }
Value ceiling(Record const& r) {
  auto const found = ceiling_of(r);
  return found ? Value{found->rate} : Value{};
}
Value ceiling_share(Record const& r) { return speed(r, percent_of_ceiling(r)); }
Value roof(Record const& r) {
  auto const found = ceiling_of(r);
  return found ? Value{std::string{core::to_text(found->limit)}} : Value{};
}
Value limit(Record const& r) {
  Limit const found = limit_of(r);
  return found == Limit::unknown ? Value{} : Value{std::string{core::to_text(found)}};
}
Value ceiling_is_measured(Record const& r) {
  auto const found = ceiling_of(r);
  return found ? Value{found->is_measured} : Value{};
}
Value published_rate(Record const& r) { return r.published > 0 ? Value{r.published} : Value{}; }

// Numbers on screen.
std::string seconds(double value, Record const&) { return core::format_seconds(value); }
std::string rate(double value, Record const& r) { return core::format_rate(value, r.unit); }
std::string joules(double value, Record const&) { return fmt::format("{:.3g} J", value); }
std::string rate_per_watt(double value, Record const& r) {
  return core::format_rate(value, r.unit) + "/W";
}
std::string percent(double value, Record const&) { return fmt::format("{:.1f}", value); }
std::string three_digits(double value, Record const&) { return fmt::format("{:.3g}", value); }
std::string ratio(double value, Record const&) { return fmt::format("{:.2f}", value); }
std::string interval(double low, Record const& r) {
  return fmt::format("[{}, {}]", core::format_seconds(low),
                     core::format_seconds(r.time.median_high));
}
/// "1.43 [1.40, 1.46]"
std::string with_interval(double value, std::optional<double> low, std::optional<double> high) {
  return low && high ? fmt::format("{:.2f} [{:.2f}, {:.2f}]", value, *low, *high)
                     : fmt::format("{:.2f}", value);
}
std::string vendor_ratio(double value, Record const& r) {
  return bracketed(with_interval(value, r.ratio_to_vendor_low, r.ratio_to_vendor_high),
                   r.vendor_is_suspect);
}
std::string local_share(double value, Record const& r) {
  return bracketed(with_interval(value, r.share_of_local_low, r.share_of_local_high),
                   r.local_is_suspect);
}
std::string copy_ratio(double value, Record const& r) {
  return bracketed(ratio(value, r), r.copy_is_suspect);
}
std::string hidden(double value, Record const& r) {
  return with_interval(value, r.leg_summary->hidden_low, r.leg_summary->hidden_high);
}

// Texts on screen.
std::string size_text(Record const& r) {
  std::vector<std::string> extents;
  for (std::int64_t const n : r.size) extents.push_back(core::format_count(n));
  return fmt::format("{}", fmt::join(extents, ","));
}
std::string peak_source(Record const& r) {
  auto const found = ceiling_of(r);
  return !found ? "-" : found->is_measured ? "measured" : "nominal";
}
std::string ranks_text(Record const& r) { return r.ranks > 0 ? fmt::format("{}", r.ranks) : "-"; }
/// A wrong result's error may be NaN, which CSV and JSON cannot show.
std::string error_text(Record const& r) {
  bool const known = r.outcome == Outcome::fail || r.outcome == Outcome::wrong_library ||
                     (r.outcome == Outcome::pass && !std::isnan(r.check.error));
  return known ? fmt::format("{:.2g}/{:.2g}", r.check.error, r.check.bound) : "-";
}

using enum Align;
using enum In;
constexpr Column kColumns[]{
    {"id", both, plain<&Record::id>},
    {"case", csv, plain<&Record::name>, {"case", 16, left}},
    {"workload", both, plain<&Record::workload>},
    {"type", both, plain<&Record::type>, {"type", 4, left}},
    {.key = "size",
     .in = both,
     .value = plain<&Record::size>,
     .heading = {"size", 14, left},
     .text = size_text},
    // Names of techniques; the few longer ones widen the column.
    {"variant", both, plain<&Record::variant>, {"variant", 22, left}},
    {"backend", both, plain<&Record::backend>},
    {"transport", both, plain<&Record::transport>, {"transport", 9, left}},
    {.key = "ranks",
     .in = both,
     .value = plain<&Record::ranks>,
     .heading = {"ranks", 5, right},
     .text = ranks_text},
    {"grid", both, plain<&Record::grid>},
    {"device", both, plain<&Record::device>},
    {"verdict", both, verdict, {"verdict", 11, left}},
    {"reason", both, plain<&Record::reason>},
    {"suspect",
     both,
     plain<&Record::suspect>,
     {},
     nullptr,
     {"suspect", "flag",
      "The number is not known: half of the 95 % interval of the median, of the times or of a leg, "
      "is\n"
      "more than 5 % of it (key suspect = \"5 %\"); a thermal or hardware slowdown, named by NVML, "
      "lowered the\n"
      "clock; the rate is above 1.05 x what the recorded clock allows; the slowest rank takes more "
      "than\n"
      "1.5 x the median of the others; or samples last 50 ms or more, on a device that other "
      "processes kept\n"
      "busy for 5 % of the time or more when the run began. The number is shown, never removed; "
      "ratios to it stand in "
      "brackets\n"
      "and answer no question. A power limit is no doubt but a limit."}},
    {"modelled_link",
     csv,
     plain<&Record::modelled_link>,
     {},
     nullptr,
     {"modelled link", "flag",
      "run.throttle was set: every message of a rank went through one modelled link of that rate.\n"
      "Good for tests of overlap, meaningless as a speed of this machine."}},
    {"samples", both, samples, {"n", 5, right}},
    {"median_s",
     both,
     time<&Summary::median>,
     {"median", 7, right},
     seconds,
     {"median", "s",
      "Median over repetitions of t = the slowest rank's time from a common barrier to the end of\n"
      "its stream. Each rank's clock stops before the closing barrier; all samples are in the "
      "file.\nserving: the time of the simulation itself; those in it are further rates."}},
    {"median_low_s",
     csv,
     time<&Summary::median_low>,
     {"95 % interval", 18, right},
     interval,
     {"interval", "s",
      "95 % interval of the median by order statistics (binomial), without any assumption about\n"
      "the distribution. Missing below six repetitions: the whole range of five covers 93.75 %."}},
    {"median_high_s", csv, time<&Summary::median_high>},
    {"min_s", both, time<&Summary::min>, {"min", 7, right}, seconds},
    {"p95_s", csv, time<&Summary::p95>, {"p95", 7, right}, seconds},
    {"max_s", csv, time<&Summary::max>, {"max", 7, right}, seconds},
    {"first_use_s", csv, timed<&Record::first_use_s>, {"first use", 9, right}, seconds},
    {"warmups", csv, timed<&Record::warmups>},
    {"warmup_s", csv, timed<&Record::warmup_s>},
    {"rounds",
     both,
     plain<&Record::rounds>,
     {"rounds", 6, right},
     nullptr,
     {"rounds", "count",
      "How often the case ran with all its repetitions: more than once with run.duration. The\n"
      "samples are those of the last round; fastest and slowest are medians of rounds."}},
    {"fastest_round_s", csv, timed<&Record::fastest_round_s>, {"fastest", 7, right}, seconds},
    {"slowest_round_s", csv, timed<&Record::slowest_round_s>, {"slowest", 7, right}, seconds},
    {"imbalance",
     csv,
     timed<&Record::imbalance>,
     {"imbalance", 9, right},
     ratio,
     {"imbalance", "ratio",
      "Median over repetitions of the slowest rank's time over the median of the others: a rank\n"
      "that takes twice as long as the rest shows 2 for any number of ranks. 1 on one rank."}},
    {"slowest_rank", csv, slowest_rank, {"slowest rank", 12, right}},
    {"rate",
     both,
     work_rate,
     {"rate", 13, right},
     rate,
     {"rate", "per second",
      "Work of one repetition, summed over ranks, divided by the median time. The work of each\n"
      "workload is a formula: see `quadrille explain WORKLOAD`. 1 GB/s = 1e9 bytes/s; a fused\n"
      "multiply-add is 2 flop."}},
    {"unit", both, plain<&Record::unit>},
    {"percent_of_peak",
     both,
     peak_share,
     {"% peak", 6, right},
     percent,
     {"peak", "%",
      "Rate as a share of what the devices of all ranks could do; empty where unknown. Of a host\n"
      "it is known for products: cores times their clock, measured, times what a core multiplies\n"
      "and adds in a clock. The bandwidth of its memory is not reported: see vs copy."}},
    {"intensity",
     both,
     intensity_of,
     {"FLOP/B", 7, right},
     three_digits,
     {"intensity", "FLOP/B",
      "Operations of a repetition for each byte that memory and caches must exchange: every input "
      "read\nonce, every output written once."}},
    {"ceiling",
     both,
     ceiling,
     {"ceiling", 13, right},
     rate,
     {"ceiling", "per second",
      "The roofline: work over the larger of operations / peak and compulsory bytes / bandwidth.\n"
      "Peaks are those that cases before it in this run measured (see inputs/peak.toml), else "
      "nominal;\nempty where one is not known, as the bandwidth of hosts."}},
    {"percent_of_ceiling",
     both,
     ceiling_share,
     {"% reached", 9, right},
     percent,
     {"reached", "%",
      "Rate as a share of the ceiling. Above 100 where caches hold what memory need not deliver."}},
    {"roof",
     both,
     roof,
     {"roof", 7, left},
     nullptr,
     {"roof", "name",
      "What the ceiling is made of: compute; memory, where operations for each byte are fewer than "
      "the\ndevice does in the time of one; or PCIe, between devices and hosts."}},
    {"limit",
     both,
     limit,
     {"limit", 7, left},
     nullptr,
     {"limit", "name",
      "What keeps a measurement from being faster: memory, or cache where more is reached than "
      "memory\ndelivers; compute; PCIe, between device and host; link, between ranks, where "
      "communication takes\nlonger than computation or is all there is; launch, where a launch or "
      "a call takes below 20 us;\nlatency, where one does that sends messages, of P ranks below "
      "20 us for each of the log2 P rounds\nof a tree more; power, where a GPU lowered its clock "
      "at "
      "its power limit. The last three of what\nreaches less than 80 % of its roof."}},
    {.key = "ceiling_is_measured",
     .in = both,
     .value = ceiling_is_measured,
     .heading = {"peak", 8, left},
     .text = peak_source},
    {"ratio_to_vendor",
     both,
     timed<&Record::ratio_to_vendor>,
     {"vs vendor", 17, right},
     vendor_ratio,
     {"vendor", "ratio",
      "Median of the paired ratios: the vendor's time of a repetition over ours, both launched\n"
      "alternately in this run, with the 95 % interval of that median from six pairs on. Above 1\n"
      "is faster. In brackets where the vendor's time is SUSPECT. A note tells where it differs "
      "by\n"
      "more than 3 % from the ratio of the median rates, since times drifted."}},
    {"ratio_to_vendor_low", csv, timed<&Record::ratio_to_vendor_low>},
    {"ratio_to_vendor_high", csv, timed<&Record::ratio_to_vendor_high>},
    {"vendor_is_suspect", both, plain<&Record::vendor_is_suspect>},
    {"ratio_to_copy",
     both,
     timed<&Record::ratio_to_copy>,
     {"vs copy", 7, right},
     copy_ratio,
     {"copy", "ratio", "Rate over the rate of a plain copy of the same bytes in this run."}},
    {"copy_is_suspect", both, plain<&Record::copy_is_suspect>},
    {"share_of_local",
     both,
     timed<&Record::share_of_local>,
     {"share of local", 17, right},
     local_share,
     {"local", "ratio",
      "summa: the time in which all ranks compute their parts of C by the vendor's product, with\n"
      "all operands at hand, over ours; launched alternately, the median of the paired ratios "
      "with\n"
      "its 95 % interval. What is missing to 1 is the price of communication, and of kernels that\n"
      "are slower than the vendor's."}},
    {"share_of_local_low", csv, timed<&Record::share_of_local_low>},
    {"share_of_local_high", csv, timed<&Record::share_of_local_high>},
    {"local_is_suspect", both, plain<&Record::local_is_suspect>},
    {"published_rate", csv, published_rate, {"published", 13, right}, rate},
    {"published_on", csv, plain<&Record::published_on>, {"on", 24, left}},
    {.key = "error",
     .in = both,
     .value = checked<&CheckResult::error>,
     .heading = {"error/bound", 15, right},
     .metric = {"error", "scaled",
                "Largest error found by the check, scaled by the bound of the rounding analysis "
                "where there\n"
                "is one (1 is the limit); for exact results the number of differing elements is "
                "what counts."},
     .text = error_text},
    {"bound", both, checked<&CheckResult::bound>},
    {"wrong_count", csv, of_check<&CheckResult::wrong>},
    {"first_wrong", csv, of_check<&CheckResult::first_wrong>},
    {"digest", json, of_check<&CheckResult::digest>},
    {"compute_s", legs, leg<&LegSummary::compute_s>, {"compute", 11, right}, seconds},
    {"communicate_s", legs, leg<&LegSummary::communicate_s>, {"communicate", 11, right}, seconds},
    {"serial_s", legs, leg<&LegSummary::serial_s>, {"serial", 11, right}, seconds},
    {"overlapped_s", legs, leg<&LegSummary::overlapped_s>, {"overlapped", 11, right}, seconds},
    {"hidden",
     legs,
     leg<&LegSummary::hidden>,
     {"hidden", 20, right},
     hidden,
     {"hidden", "ratio",
      "(t_compute + t_communicate - t_overlapped) / min(t_compute, t_communicate) from four legs\n"
      "that are run alternately: 1 when the shorter part costs nothing, 0 when the two run one\n"
      "after the other, negative when they slow each other down. Raw, never clamped. The median "
      "of\n"
      "the values of each repetition, with its 95 % interval from six on. Missing where there is\n"
      "nothing to hide: on one rank, or where one of both takes less than a tenth of the other."}},
    {"hidden_low", legs, leg<&LegSummary::hidden_low>},
    {"hidden_high", legs, leg<&LegSummary::hidden_high>},
    {"overlapped_over_max",
     legs,
     leg<&LegSummary::overlapped_over_max>,
     {"overlapped/max", 14, right},
     ratio,
     {"overlapped", "ratio",
      "t_overlapped / max(t_compute, t_communicate): 1 when the whole takes no longer than its\n"
      "longer part. A shorter part that was made slower, which hidden rewards, gains nothing "
      "here."}},
    {"slowdown_compute",
     legs,
     leg<&LegSummary::slowdown_compute>,
     {"overlapped/compute", 18, right},
     ratio},
    {"slowdown_communicate",
     legs,
     leg<&LegSummary::slowdown_communicate>,
     {"overlapped/communicate", 22, right},
     ratio},
    {"energy_j",
     both,
     timed<&Record::energy_j>,
     {"energy", 9, right},
     joules,
     {"energy", "J",
      "Of one repetition on the devices of all ranks, by their own counters of energy, between "
      "the\n"
      "first and the last sample of a sustained clock. Missing with a burst, which is short "
      "against\n"
      "the steps of the counters, where a device does not tell, and where ranks share one."}},
    {"rate_per_watt",
     both,
     timed<&Record::rate_per_watt>,
     {"rate/W", 15, right},
     rate_per_watt,
     {"rate per watt", "per second and watt",
      "Work of one repetition over its energy: the rate that a watt buys."}},
    {"timing", none, plain<&Record::timing>, {"timing", 12, left}},
    {"batch", none, plain<&Record::batch>, {"batch", 5, right}},
    {"buffer_sets", none, plain<&Record::buffer_sets>, {"buffer sets", 11, right}},
    {"source", none, plain<&Record::source>, {"source", 0, left}},
    {"kernels", none, plain<&Record::kernels>},
    {"implementation", none, plain<&Record::implementation>, {"call", 0, left}},
};

// In files alone, or in no column.
constexpr Metric kFurther[]{
    {"good", "name",
     "Whether the best variant of a case is as fast as it can be. yes: from 80 % of a copy, of "
     "the\n"
     "ceiling or of the peak on, or from 95 % of the vendor; fair: from half of the limit, or 80 % "
     "of "
     "the\nvendor; else no. The vendor decides where both are known, as it shows what is possible, "
     "unless they\ncontradict each other: then it is fair. Percent count as they are shown, and "
     "what is "
     "SUSPECT is nothing\nto compare with."},
    {"cv", "ratio", "Standard deviation of the repetition times over their mean."},
};

}  // namespace

namespace {

/// Whether no check failed: where a signal came between, that on other data.
bool has_times(Record const& record) {
  return record.outcome == Outcome::pass || record.outcome == Outcome::interrupted;
}

}  // namespace

bool has_speed(Record const& record) { return has_times(record) && record.time.n > 0; }

bool has_legs(Record const& record) { return has_times(record) && record.leg_summary.has_value(); }

Value speed(Record const& record, std::optional<double> value) {
  return has_speed(record) ? finite(value) : Value{};
}

std::span<Column const> columns() { return kColumns; }

Column const& column(std::string_view key) {
  auto const* const found = std::ranges::find(kColumns, key, &Column::key);
  QUAD_REQUIRE(found != std::end(kColumns), fmt::format("a result has no column '{}'", key));
  return *found;
}

std::string to_text(Value const& value) {
  struct Text {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(double number) const { return fmt::format("{}", number); }
    std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(bool flag) const { return flag ? "1" : "0"; }
    std::string operator()(std::string const& text) const { return text; }
    std::string operator()(std::vector<std::int64_t> const& extents) const {
      return fmt::format("{}", fmt::join(extents, "x"));
    }
    std::string operator()(std::vector<std::string> const& texts) const {
      return fmt::format("{}", fmt::join(texts, "; "));
    }
  };
  return std::visit(Text{}, value);
}

std::string cell(Column const& column, Record const& record) {
  if (column.text != nullptr) return column.text(record);
  Value const value = column.value(record);
  if (std::holds_alternative<std::monostate>(value)) return "-";
  auto const* const number = std::get_if<double>(&value);
  return number != nullptr && column.number != nullptr ? column.number(*number, record)
                                                       : to_text(value);
}

ExtraText extra_text(measure::SecondaryMetric const& extra, Record const& record) {
  double const rate = rate_of(extra, record);
  if (extra.unit == "s") return {core::format_seconds(rate), ""};
  if (extra.unit == "B") return {core::format_bytes(rate), ""};
  if (extra.unit == "%") return {fmt::format("{:.1f} %", rate), ""};
  if (extra.unit.ends_with("/s")) return {core::format_rate(rate, extra.unit), ""};
  bool const is_small = std::abs(rate) < 100;
  return {is_small ? fmt::format("{:.3g}", rate) : fmt::format("{:.0f}", rate), extra.unit};
}

std::vector<ExplainedMetric> metrics() {
  std::vector<ExplainedMetric> all;
  auto const add = [&](Metric const& metric) {
    all.push_back(
        {std::string{metric.name}, std::string{metric.unit}, std::string{metric.meaning}});
  };
  for (Column const& column : kColumns) {
    if (!column.metric.name.empty()) add(column.metric);
  }
  std::ranges::for_each(kFurther, add);
  for (measure::WorkloadEntry const* entry : workloads::workloads()) {
    for (Metric const& metric : entry->secondary) {
      auto const known = std::ranges::find(all, metric.name, &ExplainedMetric::name);
      if (known == all.end()) {
        add(metric);
        all.back().meaning.insert(0, fmt::format("{}: ", entry->schema.name));
      } else {
        known->meaning.insert(0, fmt::format("{}, ", entry->schema.name));
      }
    }
  }
  return all;
}

}  // namespace quadrille::report
