// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/former_names.hpp"
#include "measure/record.hpp"

#include <concepts>
#include <string>
#include <type_traits>

/// The members of a result under the names they have in files, said once: JSON and HDF5, reader and
/// writer all visit them as visit(name, member). A name that a file lacks leaves its member alone,
/// so files from before a member was added can be read. Those of comm::Placement and
/// comm::TransportTime stand beside them.
namespace quadrille::io {

/// For readers: as a result of this version would say it.
inline void take_present_names(measure::RunInfo& info) {
  info.config = core::with_present_names(info.config);
}
inline void take_present_names(measure::Record& record) {
  record.config = core::with_present_names(record.config);
  record.variant = core::with_present_variants("variant", record.variant);
  record.id = core::with_present_id(record.id);
  record.reason = core::with_present_variants("variant", record.reason);
}

/// A struct, or the same read only.
template <class T, class Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;

template <class Info, class Visit>
void visit_run(Info& info, Visit&& visit) {
  visit("run_id", info.run_id);
  visit("started", info.started);
  visit("finished", info.finished);
  visit("status", info.status);
}

/// What is more than an attribute of a run.
template <class Info, class Visit>
void visit_run_parts(Info& info, Visit&& visit) {
  visit("config", info.config);
  visit("build", info.build);
  visit("environment", info.environment);
  visit("ranks", info.ranks);
  visit("transport_times", info.transport_times);
  visit("events", info.events);
}

template <class Record, class Visit>
void visit_case(Record& record, Visit&& visit) {
  visit("id", record.id);
  visit("name", record.name);
  visit("workload", record.workload);
  visit("sizes", record.size);
  visit("type", record.type);
  visit("variant", record.variant);
  visit("backend", record.backend);
  visit("role", record.role);
  visit("transport", record.transport);
  visit("grid", record.grid);
  visit("ranks", record.ranks);
  visit("device", record.device);
  visit("source", record.source);
  visit("seed", record.seed);
  visit("data", record.data);
  visit("config", record.config);
  visit("named", record.is_named);
  visit("best", record.is_best);
  visit("verdict", record.outcome);
  visit("reason", record.reason);
  visit("suspect", record.suspect);
  visit("transport_is_chosen", record.transport_is_chosen);
  visit("modelled_link", record.modelled_link);
  visit("host_timed", record.is_host_timed);
  visit("amount", record.amount);
  visit("unit", record.unit);
  visit("peak", record.peak);
  visit("peak_clock_hz", record.peak_clock_hz);
  visit("suspect_percent", record.suspect_percent);
  visit("flop", record.roofline.flop);
  visit("device_bytes", record.roofline.bytes);
  visit("hot_cache", record.roofline.is_hot);
  visit("compute_peak", record.roofline.compute_peak);
  visit("compute_peak_measured", record.roofline.compute_is_measured);
  visit("memory_peak", record.roofline.memory_peak);
  visit("memory_peak_measured", record.roofline.memory_is_measured);
  visit("pcie_bytes", record.roofline.pcie_bytes);
  visit("pcie_peak", record.roofline.pcie_peak);
  visit("measures", record.measures);
  visit("extras", record.extras);
  visit("timing", record.timing);
  visit("batch", record.batch);
  visit("buffer_sets", record.buffer_sets);
  visit("clock_limits", record.clock_limits);
  visit("kernels", record.kernels);
  visit("implementation", record.implementation);
  visit("searched_s", record.searched_s);
  visit("published", record.published);
  visit("published_on", record.published_on);
}

template <Is<measure::CheckResult> Check, class Visit>
void visit_members(Check& check, Visit&& visit) {
  visit("error", check.error);
  visit("bound", check.bound);
  visit("wrong_count", check.wrong);
  visit("first_wrong", check.first_wrong);
  visit("digest", check.digest);
}

template <class Record, class Visit>
void visit_summary(Record& record, Visit&& visit) {
  visit("n", record.time.n);
  visit("min_s", record.time.min);
  visit("median_s", record.time.median);
  visit("p95_s", record.time.p95);
  visit("max_s", record.time.max);
  visit("mean_s", record.time.mean);
  visit("cv", record.time.cv);
  visit("median_low_s", record.time.median_low);
  visit("median_high_s", record.time.median_high);
  visit("first_use_s", record.first_use_s);
  visit("warmups", record.warmups);
  visit("warmup_s", record.warmup_s);
  visit("rounds", record.rounds);
  visit("fastest_round_s", record.fastest_round_s);
  visit("slowest_round_s", record.slowest_round_s);
  visit("rate", record.rate);
  visit("imbalance", record.imbalance);
  visit("slowest_rank", record.slowest_rank);
  visit("ratio_to_vendor", record.ratio_to_vendor);
  visit("ratio_to_vendor_low", record.ratio_to_vendor_low);
  visit("ratio_to_vendor_high", record.ratio_to_vendor_high);
  visit("vendor_is_suspect", record.vendor_is_suspect);
  visit("ratio_to_copy", record.ratio_to_copy);
  visit("copy_is_suspect", record.copy_is_suspect);
  visit("share_of_local", record.share_of_local);
  visit("share_of_local_low", record.share_of_local_low);
  visit("share_of_local_high", record.share_of_local_high);
  visit("local_is_suspect", record.local_is_suspect);
  visit("legs", record.leg_summary);
  visit("energy_j", record.energy_j);
  visit("rate_per_watt", record.rate_per_watt);
}

template <Is<measure::LegSummary> Legs, class Visit>
void visit_members(Legs& legs, Visit&& visit) {
  visit("compute_s", legs.compute_s);
  visit("communicate_s", legs.communicate_s);
  visit("serial_s", legs.serial_s);
  visit("overlapped_s", legs.overlapped_s);
  visit("hidden", legs.hidden);
  visit("hidden_low", legs.hidden_low);
  visit("hidden_high", legs.hidden_high);
  visit("overlapped_over_max", legs.overlapped_over_max);
  visit("slowdown_compute", legs.slowdown_compute);
  visit("slowdown_communicate", legs.slowdown_communicate);
}

template <Is<measure::SecondaryMetric> SecondaryMetric, class Visit>
void visit_members(SecondaryMetric& metric, Visit&& visit) {
  visit("name", metric.name);
  visit("amount", metric.amount);
  visit("unit", metric.unit);
  visit("seconds", metric.seconds);
  visit("is_detail", metric.is_detail);
  visit("series", metric.series);
}

template <Is<measure::LegSamples> Samples, class Visit>
void visit_members(Samples& samples, Visit&& visit) {
  visit("leg", samples.leg);
  visit("seconds", samples.seconds);
}

template <Is<measure::PairTimes> Pair, class Visit>
void visit_members(Pair& pair, Visit&& visit) {
  visit("from", pair.from);
  visit("to", pair.to);
  visit("link", pair.link);
  visit("bytes", pair.bytes);
  visit("latency_s", pair.latency_s);
  visit("transfer_s", pair.transfer_s);
}

}  // namespace quadrille::io
