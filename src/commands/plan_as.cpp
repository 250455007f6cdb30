// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/machine.hpp"
#include "commands/plan_text.hpp"
#include "commands/run.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "device/code_architecture.hpp"
#include "device/known_devices.hpp"
#include "report/document.hpp"
#include "run/output.hpp"
#include "run/plan.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace quadrille::commands {
namespace {

using device::KnownDevice;
using run::refuse;

/// How many of a kind this process sees.
int count_here(KnownDevice const& known) {
  int const count = device::cuda_device_count();
  if (known.kind() == device::Kind::host) return 1;
  int here = 0;
  for (int i = 0; i < count; ++i) {
    here += device::known_device_like(device::cuda_device_facts(i)) == &known ? 1 : 0;
  }
  return here;
}

bool has_code(KnownDevice const& known) {
  return known.kind() == device::Kind::host || known.facts.code.compute_capability > 0;
}

nlohmann::ordered_json json_of(KnownDevice const& known) {
  device::Facts const& facts = known.facts;
  return {{"name", known.name},
          {"is_gpu", known.kind() == device::Kind::cuda},
          {"architecture", known.architecture},
          {"multiprocessors", facts.multiprocessors},
          {"memory", facts.memory_bytes},
          {"bandwidth", facts.peak_bandwidth},
          {"has_code", has_code(known)},
          {"here", count_here(known)}};
}

/// Whether this program has kernels of GPUs at all.
bool has_cuda() {
  kernels::VariantInfo gpu;
  gpu.where = kernels::Where::cuda;
  return gpu.is_built();
}

/// Whether there are kernels for it, in the words of the build's option.
std::string code_text(KnownDevice const& known) {
  if (known.kind() == device::Kind::host) return "yes";
  if (!has_code(known)) {
    return fmt::format("no, build {}for {}", has_cuda() ? "" : "with nvcc ", known.architecture);
  }
  device::CodeArchitecture const& code = known.facts.code;
  return fmt::format("yes, for {}{}", code.compute_capability, code.exact ? "a" : "");
}

core::Exit list_devices(bool as_json) {
  if (as_json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (KnownDevice const& known : device::known_devices()) all.push_back(json_of(known));
    core::print("{}\n", all.dump(2));
    return core::Exit::pass;
  }
  report::Table table = report::text_table(
      {"device", "SMs or cores", "memory", "bandwidth", "here", "kernels in this program"});
  for (KnownDevice const& known : device::known_devices()) {
    device::Facts const& facts = known.facts;
    table.add_row({std::string{known.name}, fmt::format("{}", facts.multiprocessors),
                   core::format_bytes(static_cast<double>(facts.memory_bytes)),
                   facts.peak_bandwidth > 0 ? core::format_rate(facts.peak_bandwidth, "B/s") : "-",
                   fmt::format("{}", count_here(known)), code_text(known)});
  }
  core::print("{}", write_text(table, report::terminal_of_output()));
  return core::Exit::pass;
}

/// Why there can be no plan for such a device; empty where there can.
std::string no_plan_reason(KnownDevice const& known, core::RunSettings const& run) {
  bool const is_gpu = known.kind() == device::Kind::cuda;
  if (is_gpu && run.device == core::DeviceChoice::host) {
    return fmt::format("the input asks for device = \"host\", which is no {}", known.name);
  }
  if (!is_gpu && run.device == core::DeviceChoice::cuda) {
    return "the input asks for device = \"cuda\", which is no host";
  }
  return {};
}

}  // namespace

core::Exit plan_as(RunArguments const& arguments) {
  if (arguments.as == "list") return list_devices(arguments.json);
  KnownDevice const& known = *device::known_device(arguments.as);
  core::Parsed<core::Config> const input = run::read_input(arguments);
  if (!input) return refuse(input.why(), core::Exit::bad_config);
  std::optional<core::About> const& about = input->about;
  int const ranks = arguments.as_ranks > 0 ? arguments.as_ranks
                    : about                ? static_cast<int>(about->ranks.front())
                                           : 1;
  core::Parsed<core::Config> const config = run::cases_for(*input, arguments, ranks);
  if (!config) return refuse(config.why(), core::Exit::bad_config);
  std::string const why = no_plan_reason(known, config->run);
  bool const is_for_it =
      !about || std::ranges::find(about->devices, known.name) != about->devices.end();
  if (!why.empty()) {
    return refuse(fmt::format("--as {}: {}", known.name, why),
                  is_for_it ? core::Exit::bad_config : core::Exit::pass);
  }
  comm::PlannedMachine const machine{known, ranks, config->run};
  run::Plan const plan = run::make_plan(machine, *config);
  if (arguments.json) {
    core::print("{}", plan_as_json(plan, machine.device().facts(), ranks));
  } else {
    if (!has_code(known)) {
      core::print(
          "this program has no kernels for {}: as if built with {}"
          "-DQUADRILLE_CUDA_ARCHITECTURES={}\n",
          known.name, has_cuda() ? "" : "nvcc and ", known.architecture);
    }
    core::print("{}", render_plan(plan, ranks));
  }
  if (!is_for_it) return core::Exit::pass;
  for (run::Planned const& planned : plan.cases) {
    if (!planned.problem.empty()) return refuse(planned.problem, planned.code);
  }
  return run::named_problems(plan).empty() ? core::Exit::pass : core::Exit::environment;
}

}  // namespace quadrille::commands
