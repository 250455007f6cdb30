// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/columns.hpp"

#include "core/error.hpp"
#include "core/options.hpp"
#include "core/types.hpp"
#include "core/units.hpp"
#include "report/assessment.hpp"
#include "report/cells.hpp"
#include "report/exchange.hpp"

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
Value rank_rate(Record const& r) {
  return r.rate > 0 && r.ranks > 0 ? speed(r, r.rate / r.ranks) : Value{};
}
/// The median of what devices told after repetitions.
template <std::vector<double> Record::*kMember>
Value told(Record const& r) {
  std::vector<double> known;
  std::ranges::copy_if(r.*kMember, std::back_inserter(known), [](double x) { return x > 0; });
  return known.empty() ? Value{} : speed(r, core::summarize(known).median);
}
Value work_rate(Record const& r) { return r.rate > 0 ? speed(r, r.rate) : Value{}; }
Value peak_share(Record const& r) { return speed(r, percent_of_peak(r)); }
Value peak_share_at_clock(Record const& r) { return speed(r, percent_of_peak_at_clock(r)); }
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
/// Of one message: of an exchange, or of the large ones of pairs.
Value message_bytes(Record const& r) {
  if (auto const call = exchange_of(r)) return call->message_bytes;
  return r.pairs.empty() ? Value{} : finite(r.pairs.front().bytes);
}
Value latency_us(Record const& r) {
  return exchange_of(r) ? speed(r, 1e6 * r.time.median) : Value{};
}
Value published_rate(Record const& r) { return r.published > 0 ? Value{r.published} : Value{}; }

// Numbers on screen.
std::string seconds(double value, Record const&) { return core::format_seconds(value); }
std::string rate(double value, Record const& r) { return core::format_rate(value, r.unit); }
/// Of calls the time of one, as their medians are.
std::string rate_or_call(double value, Record const& r) {
  return counts_calls(r) ? core::format_seconds(r.amount / value) : rate(value, r);
}
std::string bytes(double value, Record const&) { return core::format_bytes(value); }
std::string microseconds(double value, Record const&) { return fmt::format("{:.2f}", value); }
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

// Texts on screen.
/// Of what only moves messages of one extent: people think of them in bytes.
bool is_message(Record const& r) {
  return r.spec && r.spec->workload->keys.transport && r.size.size() == 1 && is_exchange(r);
}
std::string extents_text(Record const& r) {
  auto const type = core::parse_enum<core::DataType>(r.type);
  if (!type || !is_message(r)) return size_text(r.size);
  std::int64_t const bytes = r.size.front() * static_cast<std::int64_t>(core::size_of(*type));
  return fmt::format("{}B ({})", core::format_count(bytes), size_text(r.size));
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
    {"case", csv, plain<&Record::name>, {"case", 0, left}},
    {"workload", both, plain<&Record::workload>},
    {"type", both, plain<&Record::type>, {"type", 0, left}},
    {.key = "size",
     .in = both,
     .value = plain<&Record::size>,
     .heading = {"size", 0, left},
     .text = extents_text},  // Names of techniques; the few longer ones widen the column.
    {"variant", both, plain<&Record::variant>, {"variant", 0, left}},
    {"backend", both, plain<&Record::backend>},
    {"transport", both, plain<&Record::transport>, {"transport", 0, left}},
    {.key = "ranks",
     .in = both,
     .value = plain<&Record::ranks>,
     .heading = {"ranks"},
     .text = ranks_text},
    {"grid", both, plain<&Record::grid>},
    {"device", both, plain<&Record::device>},
    {"verdict", both, verdict, {"verdict", 0, left}},
    {"reason", both, plain<&Record::reason>},
    {"suspect", both, plain<&Record::suspect>, {}, nullptr, "suspect"},
    {"modelled_link", csv, plain<&Record::modelled_link>, {}, nullptr, "modelled link"},
    {"samples", both, samples, {"n"}},
    {"median_s", both, time<&Summary::median>, {"median"}, seconds, "median"},
    {"median_low_s", csv, time<&Summary::median_low>, {"95 % interval"}, interval, "interval"},
    {"median_high_s", csv, time<&Summary::median_high>},
    {"min_s", both, time<&Summary::min>, {"min"}, seconds},
    {"p95_s", csv, time<&Summary::p95>, {"p95"}, seconds},
    {"max_s", csv, time<&Summary::max>, {"max"}, seconds},
    {"first_use_s", csv, timed<&Record::first_use_s>, {"first use"}, seconds},
    {"warmups", csv, timed<&Record::warmups>},
    {"warmup_s", csv, timed<&Record::warmup_s>},
    {"rounds", both, plain<&Record::rounds>, {}, nullptr, "rounds"},
    {"fastest_round_s", csv, timed<&Record::fastest_round_s>},
    {"slowest_round_s", csv, timed<&Record::slowest_round_s>},
    {"imbalance", csv, timed<&Record::imbalance>, {"imbalance"}, ratio, "imbalance"},
    {"slowest_rank", csv, slowest_rank, {"slowest rank"}},
    {"rate", both, work_rate, {"rate"}, rate, "rate"},
    {"unit", both, plain<&Record::unit>},
    {"rate_per_rank", both, rank_rate, {"per rank"}, rate},
    {"amount", both, plain<&Record::amount>},
    {"message_bytes", both, message_bytes, {"message"}, bytes},
    {"latency_us", both, latency_us, {"latency us"}, microseconds},
    {"percent_of_peak", both, peak_share, {"% peak"}, percent, "peak"},
    {"percent_of_peak_at_clock", both, peak_share_at_clock, {"% at clock"}, percent, "at clock"},
    {"intensity", both, intensity_of, {"FLOP/B"}, three_digits, "intensity"},
    {"ceiling", both, ceiling, {"ceiling"}, rate, "ceiling"},
    {"percent_of_ceiling", both, ceiling_share, {"% reached"}, percent, "reached"},
    {"roof", both, roof, {"roof", 0, left}, nullptr, "roof"},
    {"limit", both, limit, {"limit", 0, left}, nullptr, "limit"},
    {.key = "ceiling_is_measured",
     .in = both,
     .value = ceiling_is_measured,
     .heading = {"peak is", 0, left},
     .text = peak_source},
    {"ratio_to_vendor",
     both,
     timed<&Record::ratio_to_vendor>,
     {"vs vendor"},
     vendor_ratio,
     "vendor"},
    {"ratio_to_vendor_low", csv, timed<&Record::ratio_to_vendor_low>},
    {"ratio_to_vendor_high", csv, timed<&Record::ratio_to_vendor_high>},
    {"vendor_is_suspect", both, plain<&Record::vendor_is_suspect>},
    {"ratio_to_copy", both, timed<&Record::ratio_to_copy>, {"vs copy"}, copy_ratio, "copy"},
    {"copy_is_suspect", both, plain<&Record::copy_is_suspect>},
    {"share_of_local",
     both,
     timed<&Record::share_of_local>,
     {"share of local"},
     local_share,
     "local"},
    {"share_of_local_low", csv, timed<&Record::share_of_local_low>},
    {"share_of_local_high", csv, timed<&Record::share_of_local_high>},
    {"local_is_suspect", both, plain<&Record::local_is_suspect>},
    {"published_rate", csv, published_rate, {"published"}, rate_or_call},
    {"published_on", csv, plain<&Record::published_on>, {"on", 0, left}},
    {.key = "error",
     .in = both,
     .value = checked<&CheckResult::error>,
     .heading = {"error/bound"},
     .metric = "error",
     .text = error_text},
    {"bound", both, checked<&CheckResult::bound>},
    {"wrong_count", csv, of_check<&CheckResult::wrong>},
    {"first_wrong", csv, of_check<&CheckResult::first_wrong>},
    {"digest", json, of_check<&CheckResult::digest>},
    {"compute_s", legs, leg<&LegSummary::compute_s>, {"compute"}, seconds},
    {"communicate_s", legs, leg<&LegSummary::communicate_s>, {"communicate"}, seconds},
    {"serial_s", legs, leg<&LegSummary::serial_s>, {"serial"}, seconds},
    {"overlapped_s", legs, leg<&LegSummary::overlapped_s>, {"overlapped"}, seconds},
    {"hidden", legs, leg<&LegSummary::hidden>, {}, nullptr, "hidden"},
    {"hidden_low", legs, leg<&LegSummary::hidden_low>},
    {"hidden_high", legs, leg<&LegSummary::hidden_high>},
    {"overlapped_over_max",
     legs,
     leg<&LegSummary::overlapped_over_max>,
     {"overlapped/max"},
     ratio,
     "overlapped"},
    {"slowdown_compute", legs, leg<&LegSummary::slowdown_compute>, {"overlapped/compute"}, ratio},
    {"slowdown_communicate",
     legs,
     leg<&LegSummary::slowdown_communicate>,
     {"overlapped/communicate"},
     ratio},
    {"energy_j", both, timed<&Record::energy_j>, {"energy"}, joules, "energy"},
    {"rate_per_watt",
     both,
     timed<&Record::rate_per_watt>,
     {"rate/W"},
     rate_per_watt,
     "rate per watt"},
    {"clock_hz", both, told<&Record::clock_hz>},
    {"power_w", both, told<&Record::power_w>},
    {"clock_limits", both, plain<&Record::clock_limits>, {}, nullptr, "lowered by"},
    {"timing", none, plain<&Record::timing>, {"timing", 0, left}},
    {"batch", none, plain<&Record::batch>, {"batch"}},
    {"buffer_sets", none, plain<&Record::buffer_sets>, {"buffer sets"}},
    {"source", none, plain<&Record::source>, {"source", 0, left}},
    {"kernels", none, plain<&Record::kernels>},
    {"implementation", none, plain<&Record::implementation>, {"call", 0, left}},
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

Value finite(std::optional<double> value) {
  return value && std::isfinite(*value) ? Value{*value} : Value{};
}

Value speed(Record const& record, std::optional<double> value) {
  return has_speed(record) ? finite(value) : Value{};
}

std::string size_text(std::span<std::int64_t const> size) {
  std::vector<std::string> extents;
  for (std::int64_t const n : size) extents.push_back(core::format_count(n));
  return fmt::format("{}", fmt::join(extents, ","));
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

namespace {

/// "k/16", "9k/8", "2k".
std::string multiple_of_k(double value) {
  for (int denominator = 1; denominator <= 1024; denominator *= 2) {
    double const numerator = value * denominator;
    if (numerator != std::round(numerator)) continue;
    std::string const multiple = numerator == 1 ? "k" : fmt::format("{}k", numerator);
    return denominator == 1 ? multiple : fmt::format("{}/{}", multiple, denominator);
  }
  return fmt::format("{:.3g}k", value);
}

}  // namespace

ExtraText extra_text(measure::SecondaryMetric const& extra, Record const& record) {
  double const rate = rate_of(extra, record);
  if (extra.unit == "s") return {core::format_seconds(rate), ""};
  if (extra.unit == "k") return {multiple_of_k(rate), ""};
  if (extra.unit == "B") return {core::format_bytes(rate), ""};
  if (extra.unit == "%") return {fmt::format("{:.1f} %", rate), ""};
  if (extra.unit.ends_with("/s")) return {core::format_rate(rate, extra.unit), ""};
  bool const is_small = std::abs(rate) < 100;
  return {is_small ? fmt::format("{:.3g}", rate) : fmt::format("{:.0f}", rate), extra.unit};
}

}  // namespace quadrille::report
