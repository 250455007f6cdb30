// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/world.hpp"
#include "commands/build_info.hpp"
#include "commands/commands.hpp"
#include "core/options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <sstream>

using quadrille::core::Exit;
namespace commands = quadrille::commands;

namespace {

/// For the commands that only read: one that measures ends its job by itself.
[[noreturn]] void leave(std::string const& why) {
  fmt::print(stderr, "quadrille: {}\n", why);
  std::_Exit(static_cast<int>(Exit::runtime));
}

/// fmt throws where standard output takes no more.
[[noreturn]] void leave_on_exception() {
  try {
    if (std::exception_ptr const thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (std::exception const& error) {
    leave(error.what());
  } catch (...) {
  }
  leave("uncaught exception of an unknown type");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Quadrille measures whether a machine computes, moves and overlaps as it should, and checks "
      "every number it prints."};
  app.set_version_flag("--version", commands::version());
  app.require_subcommand(1);
  std::function<Exit()> command;

  commands::RunArguments run;
  CLI::App* const run_app =
      app.add_subcommand("run", "Measure the cases of an input file, or one case");
  auto* const file = run_app->add_option("file", run.file, "Input file (TOML)");
  run_app->add_option("--case", run.workload, "One case of this workload without a file")
      ->excludes(file);
  run_app
      ->add_option("--set", run.sets, "run.KEY=VALUE, NAME.KEY=VALUE; with --case also KEY=VALUE")
      ->allow_extra_args(false);
  run_app->add_option("--only", run.only, "Names of cases or workloads to run")
      ->delimiter(',')
      ->allow_extra_args(false);
  auto* const run_id = run_app->add_option(
      "--run-id", run.run_id, "Name of the run's directory under run.output (default: unique)");
  auto* const fault = run_app->add_option(
      "--inject-fault", run.fault,
      "Damage results on purpose: the run must fail; see `quadrille list faults`");
  auto* const dry_run =
      run_app->add_flag("--dry-run", run.dry_run, "Show what would run and what fits in memory");
  run_app->add_flag("--print-config", run.print_config, "Print the resolved configuration");
  auto* const force =
      run_app->add_flag("--force", run.force, "Overwrite a run directory that exists");
  run_app
      ->add_option("--resume", run.resume,
                   "Go on with the run of this name, or the \"latest\" of run.output: same input, "
                   "options, ranks and build; finished cases stay")
      ->excludes(run_id, fault, dry_run, force);
  run_app->add_flag_callback(
      "--allow-shared-gpu", [&run] { run.sets.emplace_back("run.allow_shared_gpu=true"); },
      "Let several ranks drive one GPU");
  run_app->add_option_function<std::string>(
      "--device-map",
      [&run](std::string const& map) { run.sets.emplace_back("run.device_map=" + map); },
      "GPU of each local rank, such as 0,2,4,6: index, UUID or PCI address");
  run_app->add_option_function<std::string>(
      "--fake-nodes",
      [&run](std::string const& parts) { run.sets.emplace_back("run.fake_nodes=" + parts); },
      "Count each node as so many, to try what joins nodes on one");
  run_app->add_option_function<std::string>(
      "--duration",
      [&run](std::string const& time) { run.sets.emplace_back("run.duration=" + time); },
      "Burn-in: repeat all cases until so much time is over, such as 1h");
  run_app->footer([] { return "Keys of [run] and [[case]]:\n" + quadrille::core::options_help(); });
  run_app->callback([&] { command = [&] { return commands::run(run, argc, argv); }; });

  CLI::App* const doctor =
      app.add_subcommand("doctor", "Show placement and capabilities, without a benchmark");
  commands::DoctorArguments examined;
  doctor->add_flag("--allow-shared-gpu", examined.allow_shared_gpu,
                   "Let several ranks drive one GPU");
  doctor->add_option("--device-map", examined.device_map,
                     "GPU of each local rank, such as 0,2,4,6: index, UUID or PCI address");
  doctor->add_flag("--json", examined.json, "As one JSON document");
  doctor->callback([&] { command = [&] { return commands::doctor(examined, argc, argv); }; });

  commands::SelftestArguments selftest;
  CLI::App* const selftest_app =
      app.add_subcommand("selftest", "Inject every fault into every workload: each must be found");
  selftest_app->add_option("--set", selftest.sets, "run.KEY=VALUE, as of `quadrille run`")
      ->allow_extra_args(false);
  selftest_app->add_option("--only", selftest.only, "Names of workloads or cases to test")
      ->delimiter(',')
      ->allow_extra_args(false);
  selftest_app->add_flag("--json", selftest.json, "As one JSON document");
  selftest_app->callback(
      [&] { command = [&] { return commands::selftest(selftest, argc, argv); }; });

  commands::TuneArguments tune;
  CLI::App* const tune_app = app.add_subcommand(
      "tune", "Find and keep the fastest configurations of an operation on this device");
  tune_app
      ->add_option("operation", tune.operation, "A workload with tunable variants, such as gemm")
      ->required();
  tune_app
      ->add_option("--set", tune.sets,
                   "KEY=VALUE of the case, such as size=[1Ki,4Ki], type=f32, layout=nn, or "
                   "run.KEY=VALUE; each case of a sweep is tuned")
      ->allow_extra_args(false);
  tune_app->add_option("--output", tune.output,
                       "The table to write, instead of tuned.toml in $XDG_CACHE_HOME/quadrille");
  tune_app->add_flag(
      "--exhaustive", tune.exhaustive,
      "Time every configuration `repetitions` times instead of halving their number");
  tune_app->add_flag("--restart", tune.restart,
                     "Begin anew where an earlier search was interrupted");
  tune_app->callback([&] { command = [&] { return commands::tune(tune, argc, argv); }; });

  commands::ListArguments list;
  CLI::App* const list_app =
      app.add_subcommand("list", "List workloads, variants, transports, metrics or faults");
  list_app->add_option("what", list.what, "workloads | variants | transports | metrics | faults")
      ->check(CLI::IsMember({"workloads", "variants", "transports", "metrics", "faults"}));
  list_app->add_flag("--json", list.json, "As JSON");
  list_app->callback([&] { command = [&] { return commands::list(list); }; });

  std::string name;
  CLI::App* const explain =
      app.add_subcommand("explain", "Say what a metric, workload or variant means");
  explain->add_option("name", name, "Its name")->required();
  explain->callback([&] { command = [&] { return commands::explain(name); }; });

  commands::ReportArguments report;
  CLI::App* const report_app = app.add_subcommand("report", "Show results that were written");
  report_app->add_option("result", report.files, "result.h5 or result.jsonl, or their directory")
      ->required();
  auto* const formats = report_app->add_option_group("format");
  for (std::string const format : {"json", "csv", "markdown"}) {
    formats->add_flag_callback(
        "--" + format, [&report, format] { report.format = format; }, "As " + format);
  }
  formats->require_option(0, 1);
  report_app->callback([&] { command = [&] { return commands::report(report); }; });

  commands::CompareArguments compare;
  CLI::App* const compare_app =
      app.add_subcommand("compare", "Say what became faster, slower or broken since other runs");
  compare_app
      ->add_option("result", compare.files,
                   "The base, one run or several, then the new run: result.h5 or result.jsonl, or "
                   "their directory")
      ->required();
  compare_app->add_flag("--gate", compare.gate,
                        "End with 6 where something is slower, or broken: passed and fails now");
  compare_app->add_option("--margin", compare.margin,
                          "By how much a time may change and be the same (default: 1%)");
  compare_app->add_flag("--details", compare.details, "Also list what is the same");
  auto* const compare_json = compare_app->add_flag("--json", compare.json, "As JSON");
  compare_app->add_option("--junit", compare.junit, "Also write JUnit's XML to this file")
      ->excludes(compare_json);
  compare_app->footer(
      "Example: quadrille compare results/monday results/tuesday results/RUN --gate\n"
      "SLOWER, FASTER: the 95 % interval of the ratio of median times is beyond the\n"
      "margin; SAME: within it; AMBIGUOUS: neither, so that it takes more repetitions\n"
      "or a wider margin. Several base runs show how much runs differ by themselves.");
  compare_app->callback([&] { command = [&] { return commands::compare(compare); }; });

  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    // Started by a launcher, one rank speaks for all. Help and version end with 0; whatever
    // cannot be understood is a usage error.
    bool const speaks = quadrille::comm::read_launcher().rank <= 0;
    std::ostringstream nowhere;
    int const code = speaks ? app.exit(error) : app.exit(error, nowhere, nowhere);
    return code == 0 ? 0 : static_cast<int>(Exit::bad_config);
  }
  std::set_terminate(leave_on_exception);
  Exit const code = command();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    leave(fmt::format("standard output: {}", std::strerror(errno)));
  }
  return static_cast<int>(code);
}
