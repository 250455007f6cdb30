// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "run/plan.hpp"

#include "measure/best_rows.hpp"
#include "measure/estimate.hpp"
#include "run/tuned.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace quadrille::run {
namespace {

double seconds_of(core::Case const& spec, measure::Description const& description,
                  measure::Selection const& selected, comm::Machine const& machine) {
  measure::AssumedRates const rates = measure::assumed_rates(
      spec, machine.device().facts(), machine.device().kind(), machine.placement().threads);
  return measure::estimated_seconds(spec, description, selected, rates, machine.size());
}

/// Why no variant takes the type of a case on this kind of device; empty where one does.
std::string type_error(Planned const& planned, device::Kind kind) {
  core::Case const& spec = planned.spec;
  std::vector<std::string_view> types;
  for (kernels::VariantInfo const* row : planned.entry->variants) {
    if (!row->runs_on(kind) || row->role == kernels::Role::demonstration) continue;
    if (row->supports(spec.type)) return {};
    for (kernels::Types const& one : row->types) {
      std::string_view const type = core::to_text(one.in);
      if (std::ranges::find(types, type) == types.end()) types.push_back(type);
    }
  }
  return fmt::format(
      "{}: no variant of '{}' has type {} on this device; take {}", spec.name, spec.workload->name,
      core::to_text(spec.type),
      types.empty() ? "another workload" : fmt::format("{}", fmt::join(types, ", ")));
}

/// Why none of the variants runs that a case asks for: what one says that would take its type.
std::string reason_of_none(Planned const& planned, device::Kind kind) {
  core::Case const& spec = planned.spec;
  std::vector<std::string> const& reasons = planned.selected.reasons;
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    kernels::VariantInfo const& row = *planned.entry->variants[i];
    bool const is_near =
        row.runs_on(kind) && row.supports(spec.type) && row.role != kernels::Role::demonstration;
    if (is_near && !reasons[i].empty()) {
      return fmt::format("{}: variant '{}' {}", spec.name, row.name, reasons[i]);
    }
  }
  return fmt::format("{}: none of its variants has type {} on this device; take variant = \"all\"",
                     spec.name, core::to_text(spec.type));
}

/// With transport = "all" a case for each that can be selected, called NAME.TRANSPORT.
std::vector<core::Case> over_transports(core::Case const& spec) {
  if (spec.transport != "all") return {spec};
  std::vector<core::Case> cases;
  for (std::string_view const name : comm::selectable_transports()) {
    core::Case& one = cases.emplace_back(spec);
    one.transport = name;
    one.name = fmt::format("{}.{}", spec.name, name);
  }
  return cases;
}

/// Why the transport of a case that wants all of them cannot serve; empty where it can.
std::string unsupported_transport(core::Case const& wanted, core::Case const& spec,
                                  comm::Machine const& machine) {
  if (wanted.transport != "all") return {};
  return machine.transport_entry(spec.transport).unsupported_reason(machine, spec.throttle);
}

void check_case(Planned& planned, comm::Machine const& machine, measure::Memory const& memory) {
  core::Case const& spec = planned.spec;
  device::Kind const kind = machine.device().kind();
  bool const fits_memory = planned.memory.fits(memory);
  planned.code = core::Exit::bad_config;
  if (fits_memory && !planned.selected.variants.empty()) {
    planned.code = core::Exit::pass;
  } else if (std::string error = type_error(planned, kind); !error.empty()) {
    planned.problem = std::move(error);
  } else if (!fits_memory) {
    planned.code = core::Exit::environment;
    std::string remedy = "take a smaller problem";
    if (spec.workload->has_auto) {
      core::Extents const fits = measure::largest_fitting(spec, *planned.entry, machine, memory);
      remedy = fits[0] > 0
                   ? fmt::format("the largest size that fits is {} (or \"auto:70%\")", fits[0])
                   : "no size fits; start fewer ranks on a node, or allow more memory";
    }
    planned.problem = fmt::format("{}: needs {} per rank, and {} are free; {}", spec.name,
                                  format_memory(planned.memory), format_memory(memory), remedy);
  } else {
    planned.problem = reason_of_none(planned, kind);
  }
}

/// Selects the variants of a case, and says what they take and whether they can run. Collective.
void plan_variants(comm::Machine const& machine, core::RunSettings const& run, Planned& planned,
                   measure::Memory const& available) {
  core::Case const& spec = planned.spec;
  measure::WorkloadEntry const& entry = *planned.entry;
  measure::SelectedCase& selected = planned.selected;
  std::vector<std::unique_ptr<measure::Workload>> parts;
  for (int const rank : machine.planned_ranks()) {
    parts.push_back(entry.make(spec, machine.size(), rank));
  }
  measure::Workload const& workload = *parts.front();
  auto const memory_of = [&](measure::Selection const& rows) {
    measure::Memory most;
    for (auto const& part : parts) {
      measure::Memory const one = measure::memory_of(*part, rows, spec, entry, machine);
      most = {std::max(most.device, one.device), std::max(most.host, one.host)};
    }
    return measure::Memory{machine.max(most.device), machine.max(most.host)};
  };
  planned.memory = memory_of({});
  if (planned.memory.fits(available)) {
    selected.reasons = measure::agreed_reasons(machine, parts, entry, spec);
    selected.variants = measure::select_variants(
        entry, spec, machine.device(), workload.describe({}), machine.size(), selected.reasons);
    measure::Selection const running = measure::running(selected.variants);
    // What "best" may turn out to be takes memory, too.
    measure::Selection with_candidates =
        measure::candidates_for_best(workload, entry, spec, run.tuned, selected.reasons);
    with_candidates.insert(with_candidates.end(), running.begin(), running.end());
    planned.memory = memory_of(with_candidates);
    measure::Description const description = workload.describe(running);
    planned.seconds = machine.max(seconds_of(spec, description, running, machine));
    planned.traffic = description.traffic;
    if (machine.size() < description.traits.min_ranks) {
      planned.too_few_ranks = fmt::format("needs {} ranks", description.traits.min_ranks);
    }
  }
  check_case(planned, machine, available);
  selected.workload = std::move(parts.front());
}

/// The size of a problem of which each rank holds as much as of one of spec's size alone. A share of
/// the memory is that already.
core::Extents for_all_ranks(core::Case const& spec, int ranks) {
  core::Extents size = spec.size;
  if (size.auto_fraction > 0) return size;
  double const factor = spec.workload->extents.size() == 1 ? ranks : std::sqrt(ranks);
  for (int i = 0; i < size.count; ++i) {
    auto& extent = size.value[static_cast<std::size_t>(i)];
    extent = std::llround(static_cast<double>(extent) * factor);
  }
  return size;
}

/// Appends a case as it will run, but for one more of equal size on hosts. Collective.
void plan_case(comm::Machine const& machine, core::RunSettings const& run, core::Case spec,
               std::string const& unsupported, Plan& plan) {
  bool const on_host = machine.device().kind() == device::Kind::host;
  if (on_host && spec.size_host.count > 0) {
    spec.size = std::exchange(spec.size_host, {});
    // A sweep over sizes may have made several cases of spec.
    bool const is_again = std::ranges::any_of(plan.cases, [&](Planned const& earlier) {
      core::Case named = spec;
      named.name = earlier.spec.name;
      return named == earlier.spec;
    });
    if (is_again) return;
  }
  if (std::exchange(spec.weak, false)) spec.size = for_all_ranks(spec, machine.size());
  bool const is_taken = std::ranges::any_of(
      plan.cases, [&](Planned const& earlier) { return earlier.spec.name == spec.name; });
  Planned& planned = plan.cases.emplace_back();
  planned.spec = spec;
  planned.entry = &workloads::entry_of(*spec.workload);
  planned.unsupported = unsupported;
  if (is_taken) {
    planned.code = core::Exit::bad_config;
    planned.problem = fmt::format(
        "two cases are called '{}' once transport = \"all\" is expanded; names must differ",
        spec.name);
  }
  if (is_taken || !unsupported.empty()) return;
  if (spec.workload->keys.transport && spec.transport != "auto") {
    comm::Unsupported const refusal = comm::unsupported(spec.transport, machine, spec.throttle);
    if (!refusal.why.empty()) {
      planned.problem = fmt::format("{}: {}", spec.name, refusal.why);
      planned.code = refusal.code;
      return;
    }
  }
  measure::resolve_auto_size(planned.spec, *planned.entry, machine, plan.memory);
  bool const takes_tuned = planned.entry->schema.keys.config && planned.spec.config == "auto" &&
                           run.tuned == core::Tuned::automatic;
  if (takes_tuned) planned.spec.config = tuned_config(machine, planned.spec, *planned.entry);
  plan_variants(machine, run, planned, plan.memory);
}

}  // namespace

std::string format_memory(measure::Memory const& memory) {
  if (!std::isfinite(memory.host)) {
    return core::format_bytes(memory.device) + " of device memory";
  }
  std::string const host = core::format_bytes(memory.host) + " of host memory";
  if (memory.device <= 0) return host;
  return fmt::format("{} of device memory and {}", core::format_bytes(memory.device), host);
}

Plan make_plan(comm::Machine const& machine, core::Config const& config) {
  Plan plan;
  plan.memory = measure::memory_per_rank(machine);
  for (core::Case const& wanted : config.cases) {
    for (core::Case const& spec : over_transports(wanted)) {
      if (machine.interrupted()) return plan;
      plan_case(machine, config.run, spec, unsupported_transport(wanted, spec, machine), plan);
    }
  }
  return plan;
}

std::vector<comm::TransportTime> choose_transports(comm::World& world, Plan& plan,
                                                   std::vector<comm::TransportTime> earlier) {
  comm::TransportChoice choice{world, std::move(earlier)};
  for (Planned& planned : plan.cases) {
    // Of those that model a link the preferred one is right, whatever they do without.
    bool const has_choice = planned.spec.transport == "auto" && planned.spec.throttle == 0;
    if (!has_choice || !planned.traffic) continue;
    planned.spec.transport = choice.best(*planned.traffic).name;
    planned.spec.transport_is_chosen = true;
    // By which the variants that run may change.
    planned.selected = measure::select_case(world, planned.spec, *planned.entry);
  }
  return choice.times();
}

std::vector<NamedProblem> named_problems(Plan const& plan) {
  std::vector<NamedProblem> found;
  for (Planned const& planned : plan.cases) {
    std::vector<std::string> const& named = planned.spec.variants;
    for (measure::Selected const& selected : planned.selected.variants) {
      std::string const& reason =
          selected.unsupported.empty() ? planned.too_few_ranks : selected.unsupported;
      if (reason.empty() || std::ranges::find(named, selected.info->name) == named.end()) continue;
      found.push_back({planned.spec.name, selected.info->name, reason});
    }
  }
  return found;
}

}  // namespace quadrille::run
