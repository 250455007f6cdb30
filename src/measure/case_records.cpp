// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/case_records.hpp"

#include "device/kernel_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace quadrille::measure {
namespace {

using kernels::Role;

/// Who computed it, as a result names it.
std::string_view backend_of(kernels::VariantInfo const& variant) {
  switch (variant.role) {
    case Role::reference: return "reference";
    case Role::vendor:
    case Role::peer: return "vendor";
    default: break;
  }
  return variant.where == kernels::Where::any ? "host" : core::to_text(variant.where);
}

double peak_of(CaseFacts const& of) {
  device::Facts const& facts = of.world.device().facts();
  bool const is_memory_bound = of.description.unit == "B/s" && of.description.device_bytes > 0 &&
                               (of.entry.local || of.world.size() == 1) &&
                               of.spec.cache == core::Cache::cold;
  core::Compute const compute = core::compute_for(of.spec.type, of.spec.compute);
  double const of_one = is_memory_bound                   ? facts.peak_bandwidth
                        : of.description.unit != "FLOP/s" ? 0
                                                          : facts.peaks.of(of.spec.type, compute);
  return of_one * of.world.size();
}

Roofline roofline_of(CaseFacts const& of) {
  device::Device const& device = of.world.device();
  Roofline roofline{.pcie_peak = device.pcie_link().peak_bandwidth() * of.world.size()};
  core::Compute const compute = core::compute_for(of.spec.type, of.spec.compute);
  bool const is_gpu = device.kind() == device::Kind::cuda;
  roofline.flop = of.description.flop + (is_gpu ? of.description.gpu_flop : 0);
  roofline.bytes = of.description.device_bytes;
  roofline.is_hot = of.spec.cache != core::Cache::cold;
  device::Peaks const& peaks = device.facts().peaks;
  // Matrix units do products alone.
  bool const is_product = of.description.unit == "FLOP/s";
  double const on_cores =
      is_product ? 0 : peaks.of(device::Unit::cuda_cores, of.spec.type, compute);
  double const of_one = on_cores > 0 ? on_cores : peaks.of(of.spec.type, compute);
  roofline.compute_peak = of_one * of.world.size();
  roofline.memory_peak = device.facts().peak_bandwidth * of.world.size();
  return roofline;
}

void set_published(core::Case const& spec, Record& record) {
  for (std::string const& text : spec.published) {
    std::size_t const colon = text.find(": ");
    if (text.substr(0, colon) != record.variant) continue;
    record.published = *core::parse_figure(text.substr(colon + 2), record.amount);
    record.published_on = spec.published_on;
  }
}

/// All ranks' samples as [repetition * ranks + rank] on rank 0, nothing on others; none where a rank
/// lacks some, as devices may fail to tell of themselves. Collective.
std::vector<double> gather(comm::World const& world, std::vector<double> const& local) {
  auto const count = static_cast<double>(local.size());
  std::array<double, 2> max_and_min{count, -count};
  world.group().max(max_and_min);
  if (max_and_min[0] != -max_and_min[1]) return {};
  std::vector<double> const all = world.group().gather(local);
  std::size_t const n = local.size();
  auto const ranks = static_cast<std::size_t>(world.size());
  std::vector<double> ordered(all.size());
  for (std::size_t at = 0; at < all.size(); ++at) ordered[at % n * ranks + at / n] = all[at];
  return ordered;
}

/// Whether no two ranks of the job drive one GPU, whose energy would count twice.
bool has_device_of_its_own(comm::World const& world) {
  std::set<std::string> devices;
  for (comm::Placement const& rank : world.placements()) devices.insert(rank.uuid);
  return devices.size() == world.placements().size();
}

}  // namespace

Record record_of_case(comm::World const& world, core::Case const& spec, std::string_view variant) {
  Record record;
  record.name = spec.name;
  record.id = fmt::format("{}:{}", spec.name, variant);
  record.workload = spec.workload->name;
  record.type = core::to_text(spec.type);
  record.variant = variant;
  if (spec.grid.rows > 0) record.grid = fmt::format("{}x{}", spec.grid.rows, spec.grid.cols);
  record.device = world.device().facts().name;
  record.size.assign(spec.size.value.begin(), spec.size.value.begin() + spec.size.count);
  record.config = core::to_toml(spec);
  record.spec = std::make_shared<core::Case>(spec);
  record.data = core::to_text(spec.data);
  record.seed = spec.seed;
  record.ranks = world.size();
  return record;
}

Record record_of_variant(CaseFacts const& of, Selected const& choice) {
  core::Case const& spec = of.spec;
  Traits const& traits = of.description.traits;
  Record record = record_of_case(of.world, spec, choice.info->name);
  record.is_named = std::ranges::find(spec.variants, record.variant) != spec.variants.end();
  record.is_best = choice.is_best;
  record.backend = backend_of(*choice.info);
  record.role = core::to_text(choice.info->role);
  record.source = choice.info->source;
  bool const is_ceiling = choice.info->role == Role::ceiling;
  bool const communicates = traits.communicates && !is_ceiling;
  record.transport =
      communicates ? of.world.transport_entry(spec.transport, spec.throttle).name : "none";
  record.transport_is_chosen = spec.transport_is_chosen && communicates;
  record.modelled_link = spec.throttle > 0 && communicates;
  record.amount = of.description.amount;
  record.unit = of.description.unit;
  record.peak = peak_of(of);
  if (record.unit == "FLOP/s") record.peak_clock_hz = of.world.device().facts().clock_hz;
  record.roofline = roofline_of(of);
  if (choice.info->role != Role::reference) record.measures = of.description.measures;
  if (!is_ceiling) record.extras = of.description.extras;
  record.timing = core::to_text(of.timing);
  record.is_host_timed =
      of.timing == core::Timing::synchronised && of.world.device().kind() == device::Kind::cuda;
  record.suspect_percent = suspect_percent(spec, communicates && record.is_host_timed);
  if (of.timing == core::Timing::launch_only) {
    record.suspect.emplace_back(
        "the clock stopped when the work was launched, not when it was done: no time of this "
        "device");
  }
  set_published(spec, record);
  if (!choice.unsupported.empty()) {
    record.outcome = choice.is_left_out ? Outcome::skip : Outcome::unsupported;
    record.reason = choice.unsupported;
  } else if (of.world.size() < traits.min_ranks) {
    record.outcome = Outcome::unsupported;
    record.reason = fmt::format("needs {0} ranks: mpirun -n {0}", traits.min_ranks);
  }
  return record;
}

void add_published_metrics(core::Case const& spec, Record& record) {
  std::vector<SecondaryMetric> const measured = record.extras;
  for (std::string const& text : spec.published) {
    std::size_t const colon = text.find(": ");
    for (SecondaryMetric const& metric : measured) {
      if (text.substr(0, colon) != record.variant + " " + metric.name) continue;
      double const rate = *core::parse_figure(text.substr(colon + 2), metric.amount);
      record.extras.push_back({"published " + metric.name, rate, metric.unit, 1});
    }
  }
}

void record_kernels(comm::World& world, Workload& workload, Traits const& traits,
                    kernels::VariantInfo const& variant, Record& record) {
  // What Kokkos enqueues is not on a stream that can be recorded.
  bool const is_recorded = variant.graph_capturable && variant.where != kernels::Where::kokkos;
  if (!traits.graph_capturable || !is_recorded) return;
  auto const found = device::recorded_kernels(
      world.stream(), [&] { workload.run(world, Leg::overlapped, variant); });
  for (device::KernelFacts const& kernel : found) {
    record.kernels.push_back(device::to_text(kernel, world.device().facts()));
    if (kernel.modelled_blocks == kernel.resident_blocks || kernel.modelled_blocks == 0) continue;
    record.suspect.push_back(
        fmt::format("{}: the occupancy model says {} blocks for each multiprocessor, the driver {}",
                    kernel.name, kernel.modelled_blocks, kernel.resident_blocks));
  }
}

void record_samples(comm::World& world, Description const& description,
                    std::vector<device::Link> const& links, VariantRun const& run, Record& record) {
  record.batch = run.batch;
  record.buffer_sets = run.buffer_sets;
  record.warmups = run.warmups;
  record.warmup_s = run.warmup_s;
  record.clock_hz = gather(world, run.clock_hz);
  record.power_w = gather(world, run.power_w);
  record.clock_limits.clear();
  for (auto const& [limit, word] : enum_names(device::ClockLimit{})) {
    if (world.group().agree(run.clock_limits.contains(limit)) >= 0) {
      record.clock_limits.emplace_back(word);
    }
  }
  if (has_device_of_its_own(world)) record.energy_counter_j = gather(world, run.energy_j);
  for (std::size_t l = 0; l < run.seconds.size(); ++l) {
    std::vector<double> samples = gather(world, run.seconds[l]);
    if (run.legs[l] == Leg::overlapped) record.seconds = samples;
    if (run.legs.size() > 1) {
      record.legs.push_back({std::string{core::to_text(run.legs[l])}, std::move(samples)});
    }
  }
  if (description.pairs) {
    record.pairs = pair_times(*description.pairs, run.pair_seconds, links, world.size());
  }
}

}  // namespace quadrille::measure
