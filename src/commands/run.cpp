// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/run.hpp"

#include "commands/build_info.hpp"
#include "commands/commands.hpp"
#include "commands/help.hpp"
#include "commands/plan_text.hpp"
#include "core/options.hpp"
#include "core/process.hpp"
#include "measure/fault.hpp"
#include "run/measure_all.hpp"
#include "run/output.hpp"
#include "run/rerun.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>
#include <optional>

namespace quadrille::commands {
namespace {

using run::refuse;

/// Seconds for MPI to start and for the configuration to be read. The input file is not known yet;
/// what is wrong with a --set is told when it is applied.
double start_limit(RunArguments const& arguments) {
  constexpr std::string_view kKey = "run.timeout.init=";
  double limit = core::Timeouts{}.init_s;
  for (std::string_view const set : arguments.sets) {
    if (!set.starts_with(kKey)) continue;
    if (auto const seconds = core::parse_seconds(set.substr(kKey.size()))) limit = *seconds;
  }
  return limit;
}

measure::RunInfo describe_run(comm::World const& world, core::Config const& config,
                              RunArguments const& arguments, measure::Fault fault) {
  measure::RunInfo info;
  info.started = run::now_utc();
  info.status = "running";
  info.config = core::to_toml(config);
  info.settings = std::make_shared<core::RunSettings>(config.run);
  info.build = build_facts();
  info.environment = environment_facts();
  info.ranks = world.placements();
  if (fault != measure::Fault::none) {
    info.events.push_back(
        fmt::format("--inject-fault {}: results were damaged on purpose", core::to_text(fault)));
  }
  if (!arguments.rerun.empty()) {
    info.events.push_back(fmt::format("rerun of {}", arguments.rerun));
  }
  if (config.run.fake_nodes > 1) {
    info.events.push_back(
        fmt::format("fake_nodes = {}: messages between parts of a node went as between nodes",
                    config.run.fake_nodes));
  }
  for (core::Case const& spec : config.cases) {
    if (spec.throttle <= 0) continue;
    info.events.push_back(fmt::format("{}: modelled link, all messages of a rank leave at {}",
                                      spec.name, core::format_rate(spec.throttle, "B/s")));
  }
  return info;
}

/// Options that are settings of [run], as --set is.
void add_settings(CLI::App& command, std::shared_ptr<RunArguments> const& arguments) {
  command.add_flag_callback(
      "--allow-shared-gpu",
      [arguments] { arguments->sets.emplace_back("run.allow_shared_gpu=true"); },
      "Let several ranks drive one GPU");
  auto const add_setting = [&](std::string const& option, std::string const& key,
                               std::string const& text) {
    command.add_option_function<std::string>(
        option,
        [arguments, key](std::string const& value) {
          arguments->sets.push_back(fmt::format("run.{}={}", key, value));
        },
        text);
  };
  add_setting("--device-map", "device_map",
              "GPU of each local rank, such as 0,2,4,6: index, UUID or PCI address");
  add_setting("--fake-nodes", "fake_nodes",
              "Count each node as so many, to try what joins nodes on one");
  add_setting("--duration", "duration",
              "Burn-in: repeat all cases until so much time is over, such as 1h");
}

}  // namespace

core::Exit run(RunArguments const& arguments, int& argc, char**& argv) {
  if (!arguments.as.empty()) return plan_as(arguments);
  double const limit = start_limit(arguments);
  comm::World world{argc, argv, limit};
  world.require_launcher();
  world.enter_phase("read the configuration", limit);
  std::optional<measure::Fault> const fault =
      arguments.fault.empty() ? measure::Fault::none
                              : core::parse_enum<measure::Fault>(arguments.fault);
  if (!fault) {
    return refuse(world, fmt::format("--inject-fault: {}", word_problem(arguments.fault, "FAULT")),
                  core::Exit::bad_config);
  }
  for (std::string const& why : {run::name_problem("--run-id", arguments.run_id),
                                 run::name_problem("--resume", arguments.resume),
                                 std::string{arguments.run_id == run::kLatestRun
                                                 ? "--run-id 'latest': --resume needs this word"
                                                 : ""}}) {
    if (!why.empty()) return refuse(world, why, core::Exit::bad_config);
  }
  core::Parsed<core::Config> const parsed = run::read_config(world, arguments);
  if (!parsed) return refuse(world, parsed.why(), core::Exit::bad_config);
  core::Config config = *parsed;
  for (core::Case& spec : config.cases) spec = measure::with_fault(std::move(spec), *fault);
  if (arguments.print_config) {
    if (world.rank() == 0) core::print("{}", core::to_toml(config));
    return core::Exit::pass;
  }

  std::string const why = run::file_problem(world, config.run.output, arguments);
  if (!why.empty()) return refuse(world, why, core::Exit::bad_config);
  world.enter_phase("open the device", config.run.timeout.init_s);
  std::string const unusable = world.choose_devices(config.run);
  if (!unusable.empty()) return refuse(world, unusable, core::Exit::environment);
  world.open(config.run);
  run::Plan plan = run::make_plan(world, config);
  if (world.interrupted()) return run::refuse_interrupted(world);
  if (!arguments.rerun.empty() && world.rank() == 0) {
    core::print("{}\n", run::render_changes(arguments.rerun,
                                            describe_run(world, config, arguments, *fault)));
    core::flush_output();
  }
  if (arguments.dry_run && world.rank() == 0) {
    core::print("{}", arguments.json ? plan_as_json(plan, world.device().facts(), world.size())
                                     : render_plan(plan, world.size()));
  }
  for (run::Planned const& planned : plan.cases) {
    if (!planned.problem.empty()) return refuse(world, planned.problem, planned.code);
  }
  if (arguments.dry_run) return core::Exit::pass;
  return run::measure_all(world, config, plan, arguments,
                          describe_run(world, config, arguments, *fault), *fault);
}

void add_run(CLI::App& app, Action& action) {
  auto const arguments = std::make_shared<RunArguments>();
  CLI::App* const command =
      app.add_subcommand("run", "Measure the cases of an input file, or one case");
  CLI::Option* const file =
      command->add_option("file", arguments->file, "Input file (TOML)")->type_name("FILE");
  command->add_option("--case", arguments->workload, "One case of this workload without a file")
      ->type_name("WORKLOAD")
      ->excludes(file);
  add_sets(*command, arguments->sets, "run.KEY=VALUE, NAME.KEY=VALUE; with --case also KEY=VALUE");
  add_only(*command, arguments->only, "Names of cases or workloads to run");
  CLI::Option* const run_id =
      command->add_option("--run-id", arguments->run_id,
                          "Name of the run's directory under run.output (default: unique)");
  CLI::Option* const fault =
      command
          ->add_option("--inject-fault", arguments->fault,
                       "Damage results on purpose: the run must fail; see `quadrille list faults`")
          ->type_name("FAULT");
  command
      ->add_option("--trace", arguments->trace,
                   "Write timelines of all ranks and streams to this file, of one more repetition "
                   "of each measurement; ui.perfetto.dev shows it")
      ->type_name("FILE");
  command
      ->add_option("--junit", arguments->junit,
                   "Also write JUnit's XML to this file, a test case for each measurement")
      ->type_name("FILE");
  CLI::Option* const dry_run = command->add_flag("--dry-run", arguments->dry_run,
                                                 "Show what would run and what fits in memory");
  CLI::Option* const as = one_of(
      command->add_option("--as", arguments->as,
                          "As --dry-run, for ranks with such a device, which need not be here; "
                          "\"list\" shows all"),
      "DEVICE");
  command
      ->add_option("--ranks", arguments->as_ranks, "Ranks for --as (default: those of the input)")
      ->check(CLI::Range(1, 100'000))
      ->needs(as);
  command->add_flag("--json", arguments->json, "The plan of --dry-run or --as as JSON");
  command->add_flag("--print-config", arguments->print_config, "Print the resolved configuration");
  command->add_flag("--quiet", arguments->quiet, "Show the line RESULT and errors alone");
  CLI::Option* const force = command->add_flag(
      "--force", arguments->force,
      "Overwrite the run of this --run-id, unless it still runs, and an earlier trace");
  command
      ->add_option("--resume", arguments->resume,
                   "Go on with the run of this name, or the \"latest\" of run.output: same input, "
                   "options, ranks and build; finished cases stay")
      ->excludes(run_id, fault, dry_run, force);
  add_settings(*command, arguments);
  command->footer([] { return "Keys of [run] and [[case]]:\n" + core::options_help(); });
  command->footer(
      "Examples: mpirun -n 2 quadrille run inputs/quickstart.toml --only summa --set "
      "summa.panel=64\n"
      "          quadrille run --case gemm --set size=[1Ki,2Ki] --set variant=best");
  command->callback([&action, arguments] {
    action = [arguments](int& argc, char**& argv) { return run(*arguments, argc, argv); };
  });
}

}  // namespace quadrille::commands
