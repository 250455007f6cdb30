// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/selection.hpp"

#include "measure/best_rows.hpp"
#include "measure/sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace quadrille::measure {
namespace {

using kernels::Role;
using kernels::VariantInfo;

/// The first row that `config` names and that runs, as tuning orders them; else the own row of the
/// highest preference that runs; else that of the highest preference that the
/// device runs with this type, so that the reason is told; nullptr where there is none.
VariantInfo const* best_of(WorkloadEntry const& entry, core::Case const& spec,
                           device::Device const& device, std::vector<std::string> const& reasons) {
  for (core::NamedConfiguration const& named : core::configurations_of(spec)) {
    for (std::size_t i = 0; i < reasons.size(); ++i) {
      VariantInfo const* const row = entry.variants[i];
      if (row->name == named.variant && row->role == Role::own && reasons[i].empty()) return row;
    }
  }
  VariantInfo const* best = nullptr;
  VariantInfo const* any = nullptr;
  auto const prefer = [](VariantInfo const*& chosen, VariantInfo const* row) {
    if (chosen == nullptr || row->preference > chosen->preference) chosen = row;
  };
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    VariantInfo const* const row = entry.variants[i];
    bool const fits =
        row->role == Role::own && row->runs_on(device.kind()) && row->supports(spec.type);
    if (!fits) continue;
    prefer(any, row);
    if (reasons[i].empty()) prefer(best, row);
  }
  return best != nullptr ? best : any;
}

/// Work of one repetition on a rank that takes one thread and the textbook's loops about two seconds.
struct ReferenceWork {
  std::string_view unit;
  double amount;
};
constexpr ReferenceWork kReferenceWorkLimits[] = {{"FLOP/s", 2e9}, {"B/s", 1e10}, {"eval/s", 5e7}};

/// Why "all" leaves a row out that could run; empty where it does not.
std::string too_slow_reason(VariantInfo const& row, Description const& description, int ranks) {
  if (row.role != Role::reference || row.where != kernels::Where::host) return {};
  for (ReferenceWork const& limit : kReferenceWorkLimits) {
    double const share = description.amount / ranks;
    if (limit.unit != description.unit || share <= limit.amount) continue;
    return fmt::format(
        "variant '{}' is left out of \"all\", since its one thread would take seconds "
        "for each repetition; name it to measure it",
        row.name);
  }
  return {};
}

core::Extents scaled(core::Extents const& shape, std::int64_t first) {
  core::Extents result = shape;
  result.auto_fraction = 0;
  for (int i = 0; i < result.count; ++i) result.value[static_cast<std::size_t>(i)] = first;
  return result;
}

}  // namespace

std::vector<std::string> unsupported_reasons(Workload const& workload, WorkloadEntry const& entry,
                                             core::Case const& spec, device::Device const& device) {
  std::vector<std::string> reasons;
  Traits const traits = workload.describe({}).traits;
  for (VariantInfo const* row : entry.variants) {
    std::string& reason =
        reasons.emplace_back(kernels::unsupported_reason(*row, device.kind(), device.facts()));
    if (reason.empty() && !row->supports(spec.type)) {
      reason = fmt::format("has no type {}", core::to_text(spec.type));
    }
    if (reason.empty()) reason = workload.unsupported_reason(*row, device);
    if (reason.empty() && spec.clock == core::Clock::sustained && !is_repeatable(traits, *row)) {
      reason = "needs a reset before each execution, for which clock = \"sustained\" has no pause";
    }
    if (reason.empty() && row->role == Role::demonstration && !spec.demonstrate) {
      reason = "shows a mistake and gives wrong results; set demonstrate = true to see it";
    }
  }
  return reasons;
}

void agree(comm::Machine const& machine, std::vector<std::string>& reasons) {
  std::vector<double> lowest(reasons.size());  // rank with a reason
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    lowest[i] = reasons[i].empty() ? machine.size() : machine.rank();
  }
  machine.min(std::span{lowest});
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    auto const from = static_cast<int>(lowest[i]);
    if (from < machine.size()) machine.broadcast(reasons[i], from);
  }
}

std::vector<Selected> select_variants(WorkloadEntry const& entry, core::Case const& spec,
                                      device::Device const& device, Description const& description,
                                      int ranks, std::vector<std::string> const& reasons,
                                      VariantInfo const* best) {
  Selection const& rows = entry.variants;
  Traits const& traits = description.traits;
  if (best == nullptr) best = best_of(entry, spec, device, reasons);
  auto const place = std::ranges::find(rows, best) - rows.begin();
  bool const best_runs = best != nullptr && reasons[static_cast<std::size_t>(place)].empty();
  std::vector<Selected> selected;
  auto const add = [&](std::size_t i, bool has_name) {
    VariantInfo const* const row = rows[i];
    if (std::ranges::find(selected, row, &Selected::info) != selected.end()) return;
    if (reasons[i].empty()) {
      selected.push_back({row, ""});
    } else if (has_name) {
      bool const has_way_out = best_runs && row->role != Role::demonstration;
      selected.push_back(
          {row, fmt::format("variant '{}' {}{}", row->name, reasons[i],
                            has_way_out ? fmt::format("; use variant '{}'", best->name) : "")});
    }
  };
  auto const is_named = [&](VariantInfo const* row) {
    return std::ranges::find(spec.variants, row->name) != spec.variants.end();
  };
  auto const add_of_all = [&](std::size_t i) {
    std::string reason = is_named(rows[i]) ? "" : too_slow_reason(*rows[i], description, ranks);
    if (reason.empty() || !reasons[i].empty()) {
      add(i, false);
    } else {
      selected.push_back({rows[i], std::move(reason), true});
    }
  };
  for (std::string const& name : spec.variants) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (name == "all") add_of_all(i);
      if (name == "best" && rows[i] == best) add(i, true);
      if (name != rows[i]->name) continue;
      // A name may have a row for each kind of device.
      bool const other_runs = std::ranges::any_of(rows, [&](VariantInfo const* other) {
        return other != rows[i] && other->name == name && other->runs_on(device.kind());
      });
      add(i, !other_runs || rows[i]->runs_on(device.kind()));
    }
  }
  if (spec.vendor == core::VendorLine::automatic) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      bool const is_ceiling = traits.has_local_ceiling && rows[i]->role == Role::ceiling;
      if (rows[i]->role == traits.bar || is_ceiling) add(i, false);
    }
  }
  bool const asks_for_best = std::ranges::find(spec.variants, "best") != spec.variants.end();
  for (Selected& choice : selected) choice.is_best = asks_for_best && choice.info == best;
  return selected;
}

std::vector<std::string> agreed_reasons(comm::Machine const& machine,
                                        std::span<std::unique_ptr<Workload> const> parts,
                                        WorkloadEntry const& entry, core::Case const& spec) {
  std::vector<std::string> reasons(entry.variants.size());
  for (auto const& part : parts) {
    // Those of a rank, where an earlier one has none.
    std::vector<std::string> const its = unsupported_reasons(*part, entry, spec, machine.device());
    for (std::size_t i = 0; i < reasons.size(); ++i) {
      if (reasons[i].empty()) reasons[i] = its[i];
      if (reasons[i].empty()) reasons[i] = part->unavailable_reason(*entry.variants[i], machine);
    }
  }
  agree(machine, reasons);
  return reasons;
}

SelectedCase select_case(comm::Machine const& machine, core::Case const& spec,
                         WorkloadEntry const& entry) {
  SelectedCase selected{entry.make(spec, machine.size(), machine.rank()), {}, {}};
  selected.reasons = agreed_reasons(machine, std::span{&selected.workload, 1}, entry, spec);
  selected.variants =
      select_variants(entry, spec, machine.device(), selected.workload->describe({}),
                      machine.size(), selected.reasons);
  return selected;
}

Selection running(std::vector<Selected> const& selected) {
  Selection variants;
  for (Selected const& choice : selected) {
    if (choice.unsupported.empty()) variants.push_back(choice.info);
  }
  return variants;
}

Memory memory_per_rank(comm::Machine const& machine) {
  comm::Placement const& here = machine.placement();
  auto const free = static_cast<double>(machine.device().free_memory());
  if (machine.device().kind() == device::Kind::host) {
    return {0, machine.min(free / here.local_size)};
  }
  auto const sharers = static_cast<double>(
      std::ranges::count(machine.placements(), here.uuid, &comm::Placement::uuid));
  return {machine.min(free / sharers), machine.min(machine.free_host_memory() / here.local_size)};
}

/// Of a GPU's memory that a channel of the case takes at most: by any transport that "auto" may be.
double channel_bytes(core::Case const& spec, comm::Machine const& machine) {
  std::size_t most = machine.transport_entry(spec.transport, spec.throttle).device_bytes;
  if (spec.transport == "auto") {
    for (comm::TransportEntry const* entry : comm::transports()) {
      if (entry->serves(machine, spec.throttle)) most = std::max(most, entry->device_bytes);
    }
  }
  return static_cast<double>(most);
}

Memory overhead_of(core::Case const& spec, WorkloadEntry const& entry,
                   comm::Machine const& machine) {
  constexpr double kMiB = 1 << 20;
  Memory memory{0, 64 * kMiB};  // HDF5, BLAS, MPI, the journal
  if (spec.check != core::Check::off) memory.host += 64 * kMiB;
  if (spec.save) memory.host += 2 * static_cast<double>(kSaveBytes);
  if (entry.schema.keys.transport && machine.size() > 1) {
    memory.host += 32 * kMiB;
    // Workloads on grids have a channel along rows and one along columns.
    if (machine.device().kind() == device::Kind::cuda)
      memory.device += 2 * channel_bytes(spec, machine);
  }
  // Samples, in numbers and as text, on the rank that writes them. They come one by one: a run of
  // more is there to be stopped.
  double const repetitions = std::min(1e5, static_cast<double>(spec.repetitions));
  memory.host += repetitions * machine.size() * (spec.legs ? 4 : 1) * 32 *
                 static_cast<double>(entry.variants.size());
  return memory;
}

Memory memory_of(Workload const& workload, Selection const& selected, core::Case const& spec,
                 WorkloadEntry const& entry, comm::Machine const& machine) {
  Description const d = workload.describe(selected);
  device::Facts const& facts = machine.device().facts();
  double const device = d.memory_bytes + workload.scratch_bytes(selected, facts);
  Memory extra = overhead_of(spec, entry, machine);
  if (d.pairs) {
    double samples = 0;
    for (std::vector<Pair> const& round : d.pairs->rounds) {
      samples += 2 * static_cast<double>(round.size());
    }
    // Samples, in numbers and as text.
    extra.host += 64 * samples * static_cast<double>(spec.repetitions * std::ssize(selected));
  }
  if (machine.device().kind() == device::Kind::host) {
    return Memory{0, device + d.host_bytes} + extra;
  }
  // Of what is smaller than the caches, batches rotate over several sets.
  double const sets = 2 * Sampler::kColdCaches * static_cast<double>(facts.l2_bytes);
  return Memory{std::max(device, sets), d.host_bytes} + extra;
}

core::Extents largest_fitting(core::Case spec, WorkloadEntry const& entry,
                              comm::Machine const& machine, Memory const& memory) {
  auto const fits = [&](core::Extents const& size) {
    spec.size = size;
    // Rank 0's, so that all ranks find the same.
    auto const workload = entry.make(spec, machine.size(), 0);
    // Before anybody looks at each of its parts.
    if (!memory_of(*workload, {}, spec, entry, machine).fits(memory)) return false;
    std::vector<std::string> const reasons =
        unsupported_reasons(*workload, entry, spec, machine.device());
    Selection rows = running(select_variants(entry, spec, machine.device(), workload->describe({}),
                                             machine.size(), reasons));
    std::ranges::copy(
        candidates_for_best(*workload, entry, spec, machine.settings().tuned, reasons),
        std::back_inserter(rows));
    return memory_of(*workload, rows, spec, entry, machine).fits(memory);
  };
  core::Extents const shape = spec.size;
  std::int64_t low = 0;
  std::int64_t high = std::min(std::int64_t{1} << 40, entry.schema.max_extent) + 1;
  while (low + 1 < high) {
    std::int64_t const middle = low + (high - low) / 2;
    (fits(scaled(shape, middle)) ? low : high) = middle;
  }
  // Devices differ in what they run, and in the scratch memory that it takes.
  low = static_cast<std::int64_t>(machine.min(static_cast<double>(low)));
  // Round large sizes down to a multiple of 64, as people would choose them.
  return scaled(shape, low >= 1024 ? low / 64 * 64 : low);
}

void resolve_auto_size(core::Case& spec, WorkloadEntry const& entry, comm::Machine const& machine,
                       Memory const& memory) {
  if (spec.size.auto_fraction <= 0) return;
  Memory const share = memory * spec.size.auto_fraction;
  if (spec.size.count == 0) spec.size.count = 1;
  core::Extents const fitting = largest_fitting(spec, entry, machine, share);
  // Of a size that is still too large people are told.
  spec.size = fitting[0] > 0 ? fitting : scaled(fitting, 1);
}

}  // namespace quadrille::measure
