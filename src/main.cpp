// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/world.hpp"
#include "commands/build_info.hpp"
#include "commands/commands.hpp"
#include "commands/help.hpp"
#include "core/error.hpp"
#include "core/options.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "report/terminal.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <sstream>

namespace core = quadrille::core;
using core::Exit;
namespace commands = quadrille::commands;

namespace {

/// An option that takes a value of one of the kinds that --help, checks and completion know.
CLI::Option* of_kind(CLI::Option* option, std::string const& value) {
  return option->type_name(value);
}
/// One whose value is one of the words of its kind.
CLI::Option* one_of(CLI::Option* option, std::string const& value) {
  return option->type_name(value)->check(
      [value](std::string const& word) { return commands::word_problem(word, value); });
}

}  // namespace

int main(int argc, char** argv) {
  core::set_up_process();
  CLI::App app{
      "Quadrille measures whether a machine computes, moves and overlaps as it should, and checks "
      "every number it prints."};
  app.footer(
      "Example: mpirun -n 2 quadrille run inputs/quickstart.toml\n"
      "`quadrille COMMAND --help` shows options and an example, `quadrille explain NAME` what a "
      "word\n"
      "of the output means.");
  app.set_version_flag("--version", commands::version());
  app.require_subcommand(1);
  std::function<Exit()> command;

  commands::RunArguments run;
  CLI::App* const run_app =
      app.add_subcommand("run", "Measure the cases of an input file, or one case");
  auto* const file = of_kind(run_app->add_option("file", run.file, "Input file (TOML)"), "FILE");
  of_kind(run_app->add_option("--case", run.workload, "One case of this workload without a file"),
          "WORKLOAD")
      ->excludes(file);
  of_kind(run_app->add_option("--set", run.sets,
                              "run.KEY=VALUE, NAME.KEY=VALUE; with --case also KEY=VALUE"),
          "KEY=VALUE")
      ->allow_extra_args(false);
  run_app->add_option("--only", run.only, "Names of cases or workloads to run")
      ->delimiter(',')
      ->allow_extra_args(false);
  auto* const run_id = run_app->add_option(
      "--run-id", run.run_id, "Name of the run's directory under run.output (default: unique)");
  auto* const fault =
      of_kind(run_app->add_option(
                  "--inject-fault", run.fault,
                  "Damage results on purpose: the run must fail; see `quadrille list faults`"),
              "FAULT");
  of_kind(run_app->add_option(
              "--trace", run.trace,
              "Write timelines of all ranks and streams to this file, of one more repetition "
              "of each measurement; ui.perfetto.dev shows it"),
          "FILE");
  auto* const dry_run =
      run_app->add_flag("--dry-run", run.dry_run, "Show what would run and what fits in memory");
  auto* const as = one_of(
      run_app->add_option("--as", run.as,
                          "As --dry-run, for ranks with such a device, which need not be here; "
                          "\"list\" shows all"),
      "DEVICE");
  run_app->add_option("--ranks", run.as_ranks, "Ranks for --as (default: those of the input)")
      ->check(CLI::Range(1, 100'000))
      ->needs(as);
  run_app->add_flag("--json", run.json, "The plan of --dry-run or --as as JSON");
  run_app->add_flag("--print-config", run.print_config, "Print the resolved configuration");
  auto* const force = run_app->add_flag(
      "--force", run.force,
      "Overwrite the run of this --run-id, unless it still runs, and an earlier trace");
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
  run_app->footer([] { return "Keys of [run] and [[case]]:\n" + core::options_help(); });
  run_app->footer(
      "Examples: mpirun -n 2 quadrille run inputs/quickstart.toml --only summa --set "
      "summa.panel=64\n"
      "          quadrille run --case gemm --set size=[1Ki,2Ki] --set variant=best");
  run_app->callback([&] { command = [&] { return commands::run(run, argc, argv); }; });

  commands::RunArguments rerun;
  CLI::App* const rerun_app =
      app.add_subcommand("rerun", "Repeat the run of a result as it was, and say what differs now");
  of_kind(
      rerun_app->add_option("result", rerun.rerun, "result.h5 or result.jsonl, or their directory"),
      "FILE")
      ->required();
  of_kind(rerun_app->add_option("--case", rerun.rerun_case,
                                "One measurement (summa.2:kokkos) or one case (summa.2) of it"),
          "ID");
  of_kind(rerun_app->add_option("--set", rerun.sets, "run.KEY=VALUE or NAME.KEY=VALUE to override"),
          "KEY=VALUE")
      ->allow_extra_args(false);
  rerun_app->add_flag("--force", rerun.force,
                      "Overwrite the run of this --run-id, unless it still runs");
  rerun_app->add_option("--run-id", rerun.run_id,
                        "Name of the new run's directory under run.output (default: unique)");
  rerun_app->add_flag("--dry-run", rerun.dry_run, "Show what differs and what would run");
  rerun_app->add_flag("--print-config", rerun.print_config, "Print the configuration");
  rerun_app->footer("Example: mpirun -n 2 quadrille rerun results/RUN --case summa:host_simd");
  rerun_app->callback([&] { command = [&] { return commands::run(rerun, argc, argv); }; });

  CLI::App* const doctor =
      app.add_subcommand("doctor", "Show placement and capabilities, without a benchmark");
  commands::DoctorArguments examined;
  doctor->add_flag("--allow-shared-gpu", examined.allow_shared_gpu,
                   "Let several ranks drive one GPU");
  doctor->add_option("--device-map", examined.device_map,
                     "GPU of each local rank, such as 0,2,4,6: index, UUID or PCI address");
  doctor->add_flag("--json", examined.json, "As one JSON document");
  doctor->footer("Example: mpirun -n 2 quadrille doctor");
  doctor->callback([&] { command = [&] { return commands::doctor(examined, argc, argv); }; });

  commands::SelftestArguments selftest;
  CLI::App* const selftest_app =
      app.add_subcommand("selftest", "Inject every fault into every workload: each must be found");
  of_kind(selftest_app->add_option("--set", selftest.sets, "run.KEY=VALUE, as of `quadrille run`"),
          "KEY=VALUE")
      ->allow_extra_args(false);
  selftest_app->add_option("--only", selftest.only, "Names of workloads or cases to test")
      ->delimiter(',')
      ->allow_extra_args(false);
  selftest_app->add_flag("--json", selftest.json, "As one JSON document");
  selftest_app->footer("Example: mpirun -n 2 quadrille selftest --only gemm,summa");
  selftest_app->callback(
      [&] { command = [&] { return commands::selftest(selftest, argc, argv); }; });

  commands::TuneArguments tune;
  CLI::App* const tune_app = app.add_subcommand(
      "tune", "Find and keep the fastest configurations of an operation on this device");
  of_kind(tune_app->add_option("operation", tune.operation,
                               "A workload with tunable variants, such as gemm"),
          "OPERATION")
      ->required();
  of_kind(
      tune_app->add_option("--set", tune.sets,
                           "KEY=VALUE of the case, such as size=[1Ki,4Ki], type=f32, layout=nn, "
                           "or run.KEY=VALUE; each case of a sweep is tuned"),
      "KEY=VALUE")
      ->allow_extra_args(false);
  of_kind(tune_app->add_option(
              "--output", tune.output,
              "The table to write, instead of tuned.toml in $XDG_CACHE_HOME/quadrille"),
          "FILE");
  tune_app->add_flag(
      "--exhaustive", tune.exhaustive,
      "Time every configuration `repetitions` times instead of halving their number");
  tune_app->add_flag("--restart", tune.restart,
                     "Start over where an earlier search was interrupted");
  tune_app->footer("Example: quadrille tune gemm --set type=f32 --set size=[2Ki,8Ki]");
  tune_app->callback([&] { command = [&] { return commands::tune(tune, argc, argv); }; });

  commands::ListArguments list;
  CLI::App* const list_app =
      app.add_subcommand("list", "List workloads, variants, inputs, transports, metrics or faults");
  one_of(list_app->add_option("what", list.what,
                              "workloads | variants | inputs | transports | metrics | faults"),
         "TABLE");
  auto* const list_json = list_app->add_flag("--json", list.json, "As JSON");
  list_app
      ->add_flag("--here", list.here,
                 "Of inputs those for the devices here: lines of ranks, device and file with tabs "
                 "between")
      ->excludes(list_json);
  list_app->footer("Example: quadrille list variants");
  list_app->callback([&] { command = [&] { return commands::list(list); }; });

  std::vector<std::string> name;
  CLI::App* const explain = app.add_subcommand(
      "explain", "Say what a word of the output, a key, a workload or a kernel is");
  of_kind(explain->add_option("name", name, "Its name; without one, all that there is"), "NAME");
  explain->footer("Examples: quadrille explain hidden; quadrille explain vs vendor");
  explain->callback([&] {
    command = [&] { return commands::explain(fmt::format("{}", fmt::join(name, " "))); };
  });

  commands::ReportArguments report;
  CLI::App* const report_app = app.add_subcommand("report", "Show results that were written");
  of_kind(report_app->add_option("result", report.files,
                                 "result.h5 or result.jsonl, or their directory"),
          "FILE")
      ->required();
  auto* const formats = report_app->add_option_group("format");
  for (std::string const format : {"json", "csv", "markdown"}) {
    formats->add_flag_callback(
        "--" + format, [&report, format] { report.format = format; }, "As " + format);
  }
  formats->add_flag_callback(
      "--details", [&report] { report.format = "details"; }, "Every column, however wide");
  formats->add_flag_callback(
      "--ladder", [&report] { report.format = "ladder"; },
      "What each technique of a case gains over the fastest before it, in Markdown");
  auto* const html = of_kind(
      formats->add_option("--html", report.html,
                          "Write one page of charts and tables, which needs no network, to this "
                          "file, or to standard output (-)"),
      "FILE");
  formats->require_option(0, 1);
  auto* const scaling = report_app->add_flag(
      "--scaling", report.scaling,
      "Join results of different numbers of ranks: efficiency and fits, as text and with --html");
  for (CLI::Option* const format : formats->get_options()) {
    if (format != html) scaling->excludes(format);
  }
  report_app->footer(
      "Examples: quadrille report results/RUN --html report.html\n"
      "          quadrille report --scaling results/RUN-1 results/RUN-2 results/RUN-4\n"
      "Tables fit the terminal, or COLUMNS, else 80. NO_COLOR and CLICOLOR_FORCE are respected.");
  report_app->callback([&] { command = [&] { return commands::report(report); }; });

  commands::PredictArguments predict;
  CLI::App* const predict_app = app.add_subcommand(
      "predict", "Time, efficiency and hidden communication on more ranks, from measured rates");
  predict_app->add_option("--ranks", predict.ranks, "Rank counts: 64, or 8:4096:*2")->required();
  predict_app->add_option("--ranks-per-node", predict.ranks_per_node,
                          "Ranks of a full node (default: as many as were measured)");
  predict_app->add_option("--between-nodes", predict.between_nodes,
                          "Network of a node: rate of all its ranks together and latency of a "
                          "message, such as \"100 GB/s, 2us\" (default: as within a node)");
  predict_app->add_flag("--weak", predict.weak,
                        "Let matrices grow with the ranks, so that each keeps as much memory");
  of_kind(
      predict_app->add_option("result", predict.files,
                              "The run to predict from, then runs on other ranks to check against"),
      "FILE")
      ->required();
  predict_app->footer("Example: quadrille predict --ranks 8:4096:*2 results/RUN");
  predict_app->callback([&] { command = [&] { return commands::predict(predict); }; });

  commands::CompareArguments compare;
  CLI::App* const compare_app =
      app.add_subcommand("compare", "Say what became faster, slower or broken since other runs");
  of_kind(compare_app->add_option(
              "result", compare.files,
              "The base, one run or several, then the new run: result.h5 or result.jsonl, or "
              "their directory"),
          "FILE")
      ->required();
  compare_app->add_flag("--gate", compare.gate,
                        "End with 6 where something is slower, or broken: passed and fails now");
  compare_app->add_option("--margin", compare.margin,
                          "By how much a time may change and be the same (default: 1%)");
  compare_app->add_flag("--details", compare.details, "Also list what is the same");
  auto* const compare_json = compare_app->add_flag("--json", compare.json, "As JSON");
  of_kind(compare_app->add_option(
              "--junit", compare.junit,
              "Also write JUnit's XML to this file, or it alone to standard output (-)"),
          "FILE")
      ->excludes(compare_json);
  of_kind(compare_app->add_option("--html", compare.html,
                                  "Also write one page with a chart of all ratios, which needs no "
                                  "network, to this file, or it alone to standard output (-)"),
          "FILE");
  compare_app->footer(
      "Example: quadrille compare results/monday results/tuesday results/RUN --gate\n"
      "SLOWER, FASTER: the 95 % interval of the ratio of median times is beyond the\n"
      "margin; SAME: within it; AMBIGUOUS: neither, so that it takes more repetitions\n"
      "or a wider margin. Several base runs show how much runs differ by themselves.");
  compare_app->callback([&] { command = [&] { return commands::compare(compare); }; });

  commands::SlurmArguments slurm;
  CLI::App* const slurm_app =
      app.add_subcommand("slurm", "Print a job script for Slurm that runs an input");
  of_kind(
      slurm_app->add_option("input", slurm.input, "Input file (default: inputs/quickstart.toml)"),
      "FILE");
  slurm_app->add_option("--nodes", slurm.nodes, "Nodes (default: 1)")
      ->check(CLI::Range(1, 100'000));
  slurm_app->add_option("--gpus-per-node", slurm.gpus_per_node, "GPUs of a node, a rank on each")
      ->check(CLI::Range(0, 1024));
  slurm_app
      ->add_option("--ranks-per-node", slurm.ranks_per_node, "Ranks of a node (default: its GPUs)")
      ->check(CLI::Range(1, 100'000));
  slurm_app
      ->add_option("--cpus-per-rank", slurm.cpus_per_rank,
                   "CPUs of a rank (default: an even share of the node's)")
      ->check(CLI::Range(1, 100'000));
  slurm_app->add_option("--time", slurm.time,
                        "Limit of the job: 2h, 90min, or as sbatch takes it (default: 1h)");
  slurm_app->add_option("--partition", slurm.partition, "Partition of the cluster");
  slurm_app->add_option("--account", slurm.account, "Account to charge");
  slurm_app->add_option("--job-name", slurm.name, "Name of the job (default: quadrille)");
  slurm_app->add_option("--mpi", slurm.mpi,
                        "What starts MPI, one of `srun --mpi=list` (default: pmix)");
  slurm_app->add_option("--module", slurm.modules, "Modules to load, in this order")
      ->delimiter(',')
      ->allow_extra_args(false);
  of_kind(slurm_app->add_option("--container", slurm.container, "Image that holds the program"),
          "FILE");
  one_of(slurm_app->add_option("--container-runtime", slurm.runtime,
                               "What runs the image (default: apptainer)"),
         "RUNTIME");
  of_kind(slurm_app->add_option("--program", slurm.program,
                                "The program (default: this one; in a container: quadrille)"),
          "FILE");
  of_kind(slurm_app->add_option("--set", slurm.sets, "As of `quadrille run`"), "KEY=VALUE")
      ->allow_extra_args(false);
  slurm_app->footer(
      "Example: quadrille slurm --nodes 4 --gpus-per-node 8 --partition gpu --time 2h > "
      "job.sbatch\n"
      "         sbatch job.sbatch");
  slurm_app->callback([&] { command = [&] { return commands::slurm(slurm); }; });

  std::string shell;
  CLI::App* const completion = app.add_subcommand(
      "completion", "Print what makes a shell complete commands, options and their values");
  one_of(completion->add_option("shell", shell, "bash | zsh"), "SHELL")->required();
  completion->footer("Example: source <(quadrille completion bash)");
  completion->callback([&] { command = [&] { return commands::print_completion(app, shell); }; });
  CLI::App* const manual = app.add_subcommand("man", "Print the manual page");
  manual->footer("Example: quadrille man | man -l -");
  manual->callback([&] { command = [&] { return commands::print_manual(app); }; });

  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    // Started by a launcher, one rank speaks for all. Help and version end with 0; whatever
    // cannot be understood is a usage error.
    bool const speaks = quadrille::comm::read_launcher().rank <= 0;
    bool const is_question = error.get_exit_code() == 0;
    if (speaks && is_question) {
      std::ostringstream text;
      app.exit(error, text, text);
      core::print("{}",
                  commands::fitted_help(text.str(), quadrille::report::terminal_of_output().width));
    } else if (speaks) {
      core::print_error("quadrille: {}\n",
                        core::one_line(commands::usage_problem(app, error.what())));
    }
    core::flush_output();
    return static_cast<int>(is_question ? Exit::pass : Exit::bad_config);
  }
  Exit const code = command();
  core::flush_output();
  return static_cast<int>(code);
}
