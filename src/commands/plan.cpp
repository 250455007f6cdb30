// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/plan.hpp"

#include "commands/aligned.hpp"
#include "commands/rerun.hpp"
#include "commands/tuned.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "measure/best_rows.hpp"
#include "measure/estimate.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

namespace quadrille::commands {
namespace {

/// The text of the input, or why there is none.
core::Parsed<std::string> read_text(RunArguments const& arguments) {
  using Result = core::Parsed<std::string>;
  if (!arguments.rerun.empty()) return earlier_config(arguments.rerun, arguments.rerun_case);
  if (!arguments.workload.empty())
    return fmt::format("[[case]]\nworkload = {}\n", core::quote(arguments.workload));
  if (arguments.file.empty()) return Result::error("run needs an input file, or --case WORKLOAD");
  std::ifstream file{arguments.file};
  // As much as resolve() takes and a bit more, of which it says so: /dev/zero has no end.
  std::string text;
  for (std::string part(1 << 16, '\0'); file && text.size() <= core::kMaxConfigBytes;) {
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    text.append(part, 0, static_cast<std::size_t>(file.gcount()));
  }
  if (text.empty()) {
    return Result::error(fmt::format(
        "cannot read '{}'; name a TOML file, for example inputs/quickstart.toml", arguments.file));
  }
  return text;
}

/// "sizes" for "sizes.3", one of the cases that a sweep makes.
std::string_view name_in_file(core::Case const& spec) {
  std::string_view const name = spec.name;
  std::size_t const dot = name.rfind('.');
  bool const swept = dot != name.npos && name.find_first_not_of("0123456789", dot + 1) == name.npos;
  return swept ? name.substr(0, dot) : name;
}

/// "1.5 GiB of device memory and 64 MiB of host memory"; without the host's where nobody knows it.
std::string format_memory(measure::Memory const& memory) {
  if (!std::isfinite(memory.host)) {
    return core::format_bytes(memory.device) + " of device memory";
  }
  std::string const host = core::format_bytes(memory.host) + " of host memory";
  if (memory.device <= 0) return host;
  return fmt::format("{} of device memory and {}", core::format_bytes(memory.device), host);
}

double seconds_of(core::Case const& spec, measure::Description const& description,
                  measure::Selection const& selected, comm::Machine const& machine) {
  measure::AssumedRates const rates = measure::assumed_rates(
      spec, machine.device().facts(), machine.device().kind(), machine.placement().threads);
  return measure::estimated_seconds(spec, description, selected, rates, machine.size());
}

/// Why none of the variants runs that a case asks for: what one says that would take its type.
std::string reason_of_none(core::Case const& spec, measure::Workload const& workload,
                           measure::WorkloadEntry const& entry, device::Device const& device) {
  std::vector<std::string> const reasons =
      measure::unsupported_reasons(workload, entry, spec, device);
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    kernels::VariantInfo const& row = *entry.variants[i];
    bool const is_near = row.runs_on(device.kind()) && row.supports(spec.type) &&
                         row.role != kernels::Role::demonstration;
    if (is_near && !reasons[i].empty()) {
      return fmt::format("{}: variant '{}' {}", spec.name, row.name, reasons[i]);
    }
  }
  return fmt::format(
      "{}: no variant of '{}' has type {} on this device; see `quadrille list variants`", spec.name,
      spec.workload->name, core::to_text(spec.type));
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

void check_case(Planned& planned, measure::Workload const& workload, comm::Machine const& machine,
                measure::Memory const& memory) {
  core::Case const& spec = planned.spec;
  planned.code = core::Exit::bad_config;
  if (!planned.memory.fits(memory)) {
    core::Extents const fits = measure::largest_fitting(spec, *planned.entry, machine, memory);
    planned.code = core::Exit::environment;
    std::string const remedy =
        fits[0] > 0 ? fmt::format("the largest size that fits is {} (or \"auto:70%\")", fits[0])
                    : "no size fits; start fewer ranks on a node, or allow more memory";
    planned.problem = fmt::format("{}: needs {} per rank, and {} are free; {}", spec.name,
                                  format_memory(planned.memory), format_memory(memory), remedy);
  } else if (planned.variants.empty()) {
    planned.problem = reason_of_none(spec, workload, *planned.entry, machine.device());
  } else {
    planned.code = core::Exit::pass;
  }
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
  std::vector<std::unique_ptr<measure::Workload>> parts;
  for (int const rank : machine.planned_ranks()) {
    parts.push_back(planned.entry->make(planned.spec, machine.size(), rank));
  }
  measure::Workload const& workload = *parts.front();
  auto const memory_of = [&](measure::Selection const& selected) {
    measure::Memory most;
    for (auto const& part : parts) {
      measure::Memory const one =
          measure::memory_of(*part, selected, planned.spec, *planned.entry, machine);
      most = {std::max(most.device, one.device), std::max(most.host, one.host)};
    }
    return measure::Memory{machine.max(most.device), machine.max(most.host)};
  };
  planned.memory = memory_of({});
  if (planned.memory.fits(plan.memory)) {
    std::vector<std::string> const reasons =
        measure::agreed_reasons(machine, parts, *planned.entry, planned.spec);
    planned.variants = measure::select_variants(*planned.entry, planned.spec, machine.device(),
                                                workload.describe({}), machine.size(), reasons);
    measure::Selection const running = measure::running(planned.variants);
    // What "best" may turn out to be takes memory, too.
    measure::Selection with_candidates =
        measure::candidates_for_best(workload, *planned.entry, planned.spec, run.tuned, reasons);
    with_candidates.insert(with_candidates.end(), running.begin(), running.end());
    planned.memory = memory_of(with_candidates);
    measure::Description const description = workload.describe(running);
    planned.seconds = machine.max(seconds_of(planned.spec, description, running, machine));
    planned.traffic = description.traffic;
    if (machine.size() < description.traits.min_ranks) {
      planned.too_few_ranks = fmt::format("needs {} ranks", description.traits.min_ranks);
    }
  }
  check_case(planned, workload, machine, plan.memory);
}

}  // namespace

core::Parsed<core::Config> read_input(RunArguments const& arguments) {
  core::Parsed<std::string> const text = read_text(arguments);
  if (!text) return core::Parsed<core::Config>::error(text.why());
  bool const bare = !arguments.workload.empty();
  std::string const origin = bare                       ? "--case"
                             : !arguments.rerun.empty() ? "configuration of " + arguments.rerun
                                                        : arguments.file;
  std::vector<std::string> notes;
  core::Parsed<core::Config> config =
      core::resolve(*text, origin, arguments.sets, workloads::name_table(), bare, &notes);
  for (std::string const& note : notes) core::print_error("note: {}\n", note);
  return config;
}

core::Parsed<core::Config> cases_for(core::Config const& input, RunArguments const& arguments,
                                     int ranks) {
  core::Parsed<core::Config> config = core::expand_grids(input, ranks);
  if (!config) return config;
  config = keep_only(*config, arguments.only);
  if (!config) return config;
  for (core::Case const& spec : config->cases) {
    auto const file_problem = workloads::entry_of(*spec.workload).file_problem;
    std::string const why = file_problem == nullptr ? "" : file_problem(spec);
    if (!why.empty()) {
      return core::Parsed<core::Config>::error(fmt::format("case '{}': {}", spec.name, why));
    }
  }
  return config;
}

core::Exit refuse(comm::Machine const& machine, std::string const& why, core::Exit code) {
  if (machine.rank() == 0) core::print_error("quadrille: {}\n", core::one_line(why));
  return code;
}

core::Exit refuse_interrupted(comm::Machine const& machine) {
  return refuse(machine, "interrupted by a signal before anything was measured",
                core::Exit::interrupted);
}

core::Parsed<core::Config> keep_only(core::Config config, std::vector<std::string> const& only) {
  if (only.empty()) return config;
  std::vector<std::string> names;
  for (core::Case const& spec : config.cases) {
    names.push_back(spec.name);
    names.emplace_back(name_in_file(spec));
    names.emplace_back(spec.workload->name);
  }
  std::vector<core::Case> kept;
  for (std::string const& name : only) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return core::Parsed<core::Config>::error(
          fmt::format("--only: no case or workload of this input is called '{}'{}", name,
                      core::suggestion(name, names)));
    }
  }
  for (core::Case const& spec : config.cases) {
    bool const named = std::any_of(only.begin(), only.end(), [&](std::string const& name) {
      return name == spec.name || name == name_in_file(spec) || name == spec.workload->name;
    });
    if (named) kept.push_back(spec);
  }
  config.cases = std::move(kept);
  return config;
}

core::Parsed<core::Config> read_config(comm::World const& world, RunArguments const& arguments) {
  // The resolved text is an input file itself, so it is what travels.
  std::string text, error;
  if (world.rank() == 0) {
    core::Parsed<core::Config> config = read_input(arguments);
    if (config) config = cases_for(*config, arguments, world.size());
    (config ? text : error) = config ? core::to_toml(*config) : config.why();
  }
  world.group().broadcast(error);
  world.group().broadcast(text);
  if (!error.empty()) return core::Parsed<core::Config>::error(error);
  return core::resolve(text, "resolved configuration", {}, workloads::name_table());
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
    auto const workload = planned.entry->make(planned.spec, world.size(), world.rank());
    planned.variants = measure::select_variants(world, *workload, *planned.entry, planned.spec);
  }
  return choice.times();
}

std::string format_duration(double seconds) {
  if (seconds < 1) return "under 1 s";
  if (seconds < 100) return fmt::format("about {:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("about {:.0f} min", seconds / 60);
  return fmt::format("about {:.1f} h", seconds / 3600);
}

std::vector<NamedProblem> named_problems(Plan const& plan) {
  std::vector<NamedProblem> found;
  for (Planned const& planned : plan.cases) {
    std::vector<std::string> const& named = planned.spec.variants;
    for (measure::Selected const& selected : planned.variants) {
      std::string const& reason =
          selected.unsupported.empty() ? planned.too_few_ranks : selected.unsupported;
      if (reason.empty() || std::ranges::find(named, selected.info->name) == named.end()) continue;
      found.push_back({planned.spec.name, selected.info->name, reason});
    }
  }
  return found;
}

std::string render_plan(Plan const& plan, int ranks) {
  std::vector<Row> rows{{"case", "workload", "type", "size", "device", "host", "time", "variants"}};
  for (Planned const& planned : plan.cases) {
    std::vector<std::string_view> running, left_out, unsupported;
    for (measure::Selected const& selected : planned.variants) {
      auto& names = selected.unsupported.empty() ? running
                    : selected.is_left_out       ? left_out
                                                 : unsupported;
      names.push_back(selected.info->name);
    }
    std::string variants = fmt::format("{}", fmt::join(running, " "));
    if (!planned.unsupported.empty()) variants = "unsupported: " + planned.unsupported;
    if (!planned.too_few_ranks.empty()) variants = planned.too_few_ranks;
    if (!left_out.empty()) variants += fmt::format("; left out: {}", fmt::join(left_out, " "));
    if (!unsupported.empty()) {
      variants += fmt::format("; unsupported: {}", fmt::join(unsupported, " "));
    }
    core::Extents const& size = planned.spec.size;
    std::string const& problem = planned.problem;
    rows.push_back(
        {planned.spec.name, std::string{planned.spec.workload->name},
         std::string{core::to_text(planned.spec.type)},
         fmt::format("{}", fmt::join(size.value.begin(), size.value.begin() + size.count, ",")),
         planned.memory.device > 0 ? core::format_bytes(planned.memory.device) : "-",
         core::format_bytes(planned.memory.host), format_duration(planned.seconds),
         problem.empty() ? variants : "cannot run: " + problem});
  }
  double seconds = 0;
  for (Planned const& planned : plan.cases) seconds += planned.seconds;
  std::string text =
      fmt::format("{} for each of {} ranks; {} in all, if rates are usual\n{}",
                  format_memory(plan.memory), ranks, format_duration(seconds), aligned(rows));
  std::vector<NamedProblem> const problems = named_problems(plan);
  if (!problems.empty()) text += "variants that cases name and that cannot run here:\n";
  for (NamedProblem const& problem : problems) {
    text += fmt::format("  {} {}: {}\n", problem.name, problem.variant, problem.reason);
  }
  return text;
}

std::string plan_as_json(Plan const& plan, device::Facts const& device, int ranks) {
  using Json = nlohmann::ordered_json;
  auto const json_of = [](measure::Memory const& memory) {
    return Json{{"device", memory.device}, {"host", memory.host}};
  };
  double seconds = 0;
  Json cases = Json::array();
  for (Planned const& planned : plan.cases) {
    core::Extents const& size = planned.spec.size;
    Json variants = Json::array();
    for (measure::Selected const& selected : planned.variants) {
      variants.push_back(
          {{"name", selected.info->name},
           {"reason", selected.unsupported.empty() ? Json{} : Json(selected.unsupported)},
           {"left_out", selected.is_left_out}});
    }
    std::string const& why = !planned.problem.empty()         ? planned.problem
                             : !planned.too_few_ranks.empty() ? planned.too_few_ranks
                                                              : planned.unsupported;
    cases.push_back({{"name", planned.spec.name},
                     {"workload", planned.spec.workload->name},
                     {"type", core::to_text(planned.spec.type)},
                     {"size", std::vector(size.value.begin(), size.value.begin() + size.count)},
                     {"memory", json_of(planned.memory)},
                     {"seconds", planned.seconds},
                     {"reason", why.empty() ? Json{} : Json(why)},
                     {"variants", variants}});
    seconds += planned.seconds;
  }
  Json cannot_run = Json::array();
  for (auto const& [name, variant, reason] : named_problems(plan)) {
    cannot_run.push_back({{"case", name}, {"variant", variant}, {"reason", reason}});
  }
  Json const whole{{"device", device.name}, {"ranks", ranks}, {"memory", json_of(plan.memory)},
                   {"seconds", seconds},    {"cases", cases}, {"cannot_run", cannot_run}};
  return whole.dump(2) + "\n";
}

}  // namespace quadrille::commands
