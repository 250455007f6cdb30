// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/version.hpp"
#include "commands/build_config.hpp"
#include "commands/commands.hpp"
#include "commands/help.hpp"
#include "commands/inputs.hpp"
#include "commands/launch_line.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "core/units.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <memory>

namespace quadrille::commands {
namespace {

struct JobArguments {
  int nodes = 1;
  int gpus_per_node = 0;
  int ranks_per_node = 0;  ///< 0: one per GPU
  int cpus_per_rank = 0;   ///< 0: an even share of the node's
  std::string time = "1h";
  std::string partition, account, constraint, hint;
  std::string name = "quadrille";
  std::string mpi = "pmix";  ///< one of "srun --mpi=list"
  std::vector<std::string> modules;
  std::string container;              ///< an image that holds the program; "": none
  std::string runtime = "apptainer";  ///< apptainer | pyxis
  std::string program;                ///< "": this one, in a container "quadrille"
  std::string input;                  ///< "": the quickstart
  std::vector<std::string> sets;
};

/// What a script is made of: what was asked for, and what follows from it.
struct Job : JobArguments {
  int ranks = 1;             ///< of a node
  std::int64_t seconds = 0;  ///< its limit
  std::int64_t warning = 0;  ///< so long before, it is told
  std::string command = {};  ///< that each rank runs, for a shell
};

class Script;

/// A batch system.
struct Scheduler {
  char const* name;
  char const* summary;
  char const* submit;
  char const* directive;  ///< what a line of options begins with
  std::string (*problem)(JobArguments const& wanted);
  void (*add_options)(Script& script, Job const& job);
  void (*add_environment)(Script& script, Job const& job);
  char const* launcher;  ///< whose exit code may be in place of the run's
  std::string (*launch)(Job const& job);
};

/// How long before its limit a job is told: enough to end a repetition and to write the result.
constexpr std::int64_t kWarningSeconds = 120;

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// Seconds of "30" (minutes, as Slurm has it), "1:30:00", "2-12:00:00", or "90min".
core::Parsed<std::int64_t> job_seconds(std::string_view text) {
  using Result = core::Parsed<std::int64_t>;
  std::string_view rest = text;
  std::int64_t days = 0;
  bool has_days = false;
  if (std::size_t const dash = rest.find('-');
      dash != rest.npos && is_digits(rest.substr(0, dash))) {
    auto const count = core::parse_count(rest.substr(0, dash));
    if (!count) return Result::error(count.why());
    days = *count;
    has_days = true;
    rest.remove_prefix(dash + 1);
  }
  std::vector<std::int64_t> parts;
  while (!rest.empty()) {
    std::size_t const colon = std::min(rest.find(':'), rest.size());
    std::string_view const part = rest.substr(0, colon);
    if (!is_digits(part) || part.size() > 6) break;
    parts.push_back(std::stoll(std::string{part}));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  std::int64_t seconds = 0;
  if (!rest.empty() || parts.empty() || parts.size() > 3 || days > 10'000) {
    auto const duration = core::parse_seconds(text);
    if (!duration || has_days) {
      return Result::error(
          fmt::format("--time: '{}' is no time; write minutes, H:M:S, D-H:M:S, or a number with "
                      "its unit such as 2h",
                      core::one_line(text)));
    }
    seconds = std::llround(std::min(*duration, 1e9));
  } else if (has_days || parts.size() == 3) {
    // With days the first number is hours, as it is before two others.
    parts.resize(3);
    seconds = ((days * 24 + parts[0]) * 60 + parts[1]) * 60 + parts[2];
  } else {
    parts.resize(2);
    seconds = parts[0] * 60 + parts[1];
  }
  if (seconds < 1) return Result::error("--time must be more than 0");
  return seconds;
}

/// "1-02:30:00"
std::string slurm_time(std::int64_t seconds) {
  std::int64_t const days = seconds / 86400;
  std::string const day = days > 0 ? fmt::format("{}-", days) : "";
  return fmt::format("{}{:02}:{:02}:{:02}", day, seconds / 3600 % 24, seconds / 60 % 60,
                     seconds % 60);
}

/// A value of a line of options, which ends at the first blank and knows '#' for a remark.
std::string problem_of(std::string_view option, std::string const& value) {
  bool const is_word = std::ranges::all_of(value, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view{"_-+./:,=@%[]&|*()"}.find(
                                       static_cast<char>(c)) != std::string_view::npos;
  });
  if (is_word) return {};
  return fmt::format("{} '{}': letters, digits and _-+./:,=@%[]&|*() alone", option,
                     core::one_line(value));
}

std::string problem_of(JobArguments const& wanted) {
  if (wanted.gpus_per_node == 0 && wanted.ranks_per_node == 0) {
    return "say how many ranks a node has: --gpus-per-node 4 for one on each GPU, or "
           "--ranks-per-node";
  }
  bool const may_share =
      std::ranges::find(wanted.sets, "run.allow_shared_gpu=true") != wanted.sets.end();
  if (wanted.gpus_per_node > 0 && wanted.ranks_per_node > wanted.gpus_per_node && !may_share) {
    return fmt::format(
        "--ranks-per-node {}: a node has {} GPUs; for several ranks on one GPU add --set "
        "run.allow_shared_gpu=true",
        wanted.ranks_per_node, wanted.gpus_per_node);
  }
  if (wanted.container.empty() && wanted.runtime != JobArguments{}.runtime) {
    return "--container-runtime: name the image, too, by --container";
  }
  for (auto const& [option, value] :
       {std::pair{"--partition", &wanted.partition}, std::pair{"--account", &wanted.account},
        std::pair{"--constraint", &wanted.constraint}, std::pair{"--hint", &wanted.hint},
        std::pair{"--job-name", &wanted.name}, std::pair{"--mpi", &wanted.mpi}}) {
    if (std::string const why = problem_of(option, *value); !why.empty()) return why;
  }
  for (std::string const& text : {wanted.input, wanted.container, wanted.program,
                                  fmt::format("{}", fmt::join(wanted.modules, "")),
                                  fmt::format("{}", fmt::join(wanted.sets, ""))}) {
    if (text.find_first_of("\n\r") != text.npos)
      return "a path, module or setting holds a line break";
  }
  return {};
}

/// The input as the job will find it from wherever it is submitted; in a container as it is called there.
core::Parsed<std::string> input_of(JobArguments const& wanted) {
  using Result = core::Parsed<std::string>;
  if (!wanted.container.empty()) {
    return wanted.input.empty() ? "inputs/quickstart.toml" : wanted.input;
  }
  if (wanted.input.empty()) {
    core::Parsed<std::vector<ShippedInput>> const inputs = shipped_inputs();
    if (!inputs) return Result::error(inputs.why());
    auto const found = std::ranges::find(*inputs, "quickstart", &ShippedInput::name);
    return found == inputs->end() ? Result::error("there is no quickstart; name an input")
                                  : Result{found->path};
  }
  std::error_code none;
  if (!std::filesystem::is_regular_file(wanted.input, none)) {
    return Result::error(fmt::format(
        "'{}' is no file; `quadrille list inputs --json` has the paths of those that are shipped",
        core::one_line(wanted.input)));
  }
  return std::filesystem::absolute(wanted.input).lexically_normal().string();
}

/// Lines of a script: options with the reason before them, then commands.
class Script {
 public:
  explicit Script(std::string directive) : directive_{std::move(directive)} {}
  void remark(std::string_view text) { text_ += fmt::format("# {}\n", text); }
  void option(std::string_view text) { text_ += fmt::format("{}{}\n", directive_, text); }
  /// Unless the value is empty.
  void option(std::string_view text, std::string const& value) {
    if (!value.empty()) option(fmt::format("{}{}", text, value));
  }
  void line(std::string_view text = {}) { text_ += fmt::format("{}\n", text); }
  std::string const& text() const { return text_; }

 private:
  std::string directive_, text_;
};

std::string plural(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// In front of the options that ask for it.
void remark_ranks(Script& script, Job const& job) {
  script.remark(job.gpus_per_node == job.ranks ? "One rank per GPU." : "Ranks on each node.");
}
void remark_exclusive(Script& script) {
  script.remark("No other job on these nodes: it would be measured too.");
}
void remark_warning(Script& script, Job const& job) {
  script.remark(
      fmt::format("{} s before that limit the run is told: it writes what is finished and ends "
                  "with exit code 7.",
                  job.warning));
  script.remark("`quadrille run ... --resume latest` continues after the last finished case.");
}

void add_slurm_options(Script& script, Job const& job) {
  script.option("--job-name=", job.name);
  script.remark("The job's name and number.");
  script.option("--output=%x-%j.out");
  script.option("--partition=", job.partition);
  script.option("--account=", job.account);
  script.option("--constraint=", job.constraint);
  script.option("--hint=", job.hint);
  script.option(fmt::format("--nodes={}", job.nodes));
  remark_ranks(script, job);
  script.option(fmt::format("--ntasks-per-node={}", job.ranks));
  if (job.gpus_per_node > 0) script.option(fmt::format("--gpus-per-node={}", job.gpus_per_node));
  if (job.cpus_per_rank > 0) script.option(fmt::format("--cpus-per-task={}", job.cpus_per_rank));
  remark_exclusive(script);
  script.option("--exclusive");
  script.remark("All their memory: without it a job gets the cluster's default, exclusive or not.");
  script.option("--mem=0");
  script.option(fmt::format("--time={}", slurm_time(job.seconds)));
  remark_warning(script, job);
  script.option(fmt::format("--signal=USR1@{}", job.warning));
}

void add_slurm_environment(Script& script, Job const& job) {
  if (job.cpus_per_rank > 0) {
    script.remark("srun does not take it over from the options above.");
    script.line(fmt::format("cpus={}", job.cpus_per_rank));
  } else {
    script.remark("The CPUs of a node, shared evenly by its ranks.");
    script.line(fmt::format("cpus=$((SLURM_CPUS_ON_NODE / {}))", job.ranks));
    script.line(R"([ "$cpus" -ge 1 ] || cpus=1)");
  }
  script.remark("A rank that fails ends the others, at once; one that just leaves, after 60 s.");
}

std::string launch_by_slurm(Job const& job) {
  std::string line = fmt::format(R"(srun --mpi={} --cpus-per-task="$cpus")", job.mpi);
  // A hint says how threads are bound, and Slurm takes either.
  if (job.hint.empty()) line += " --cpu-bind=cores";
  if (job.gpus_per_node > 0) line += " --gpu-bind=none";
  line += " --kill-on-bad-exit=1 -W 60";
  if (!job.container.empty() && job.runtime == "pyxis") {
    line += fmt::format(
        " \\\n  --container-image={} --container-mounts=\"$PWD:$PWD\" --container-workdir=\"$PWD\"",
        shell_word(job.container));
  }
  return line;
}

std::string slurm_problem(JobArguments const& wanted) {
  if (wanted.hint.empty() || wanted.cpus_per_rank > 0) return {};
  return "--hint: say by --cpus-per-rank how many CPUs a rank takes; without it the script shares "
         "all hardware threads of a node";
}

void add_pbs_options(Script& script, Job const& job) {
  script.option("-N ", job.name);
  script.remark("Output and errors in one file.");
  script.option("-j oe");
  script.option("-q ", job.partition);
  script.option("-A ", job.account);
  remark_ranks(script, job);
  std::string select = fmt::format("-l select={}:ncpus={}:mpiprocs={}", job.nodes,
                                   job.cpus_per_rank * job.ranks, job.ranks);
  if (job.gpus_per_node > 0) select += fmt::format(":ngpus={}", job.gpus_per_node);
  if (!job.constraint.empty()) select += ":" + job.constraint;
  script.option(select);
  remark_exclusive(script);
  script.option("-l place=scatter:exclhost");
  script.option(fmt::format("-l walltime={}:{:02}:{:02}", job.seconds / 3600, job.seconds / 60 % 60,
                            job.seconds % 60));
}

void add_pbs_environment(Script& script, Job const& job) {
  script.remark("PBS starts the script in the home folder.");
  script.line(R"(cd "${PBS_O_WORKDIR:?submit this script with qsub}")");
  script.line();
  remark_warning(script, job);
}

std::string launch_by_pbs(Job const& job) {
  LaunchFacts facts;
  std::error_code none;
  if (job.container.empty() && std::filesystem::exists(QUADRILLE_MPIRUN, none))
    facts.mpirun = QUADRILLE_MPIRUN;
  facts.is_open_mpi = !job.container.empty() || comm::is_open_mpi();
  // Also where it was built without PBS.
  if (facts.is_open_mpi) facts.mpirun += " --hostfile \"$PBS_NODEFILE\"";
  facts.nodes = job.nodes;
  facts.ranks_per_node = job.ranks;
  facts.cores_per_node = job.cpus_per_rank * job.ranks;
  facts.gpus_per_node = job.gpus_per_node;
  return fmt::format("timeout --preserve-status --signal=USR1 {} {}", job.seconds - job.warning,
                     launch_line(facts, "\\"));
}

std::string pbs_problem(JobArguments const& wanted) {
  if (wanted.cpus_per_rank > 0) return {};
  return "say by --cpus-per-rank how many CPUs a rank takes: PBS gives a node's by number alone";
}

void add_flux_options(Script& script, Job const& job) {
  script.option("--job-name=", job.name);
  script.option(fmt::format("--output={}-{{{{id}}}}.out", job.name));
  script.option("--queue=", job.partition);
  script.option("--bank=", job.account);
  script.option("--requires=", job.constraint);
  script.option(fmt::format("--nodes={}", job.nodes));
  remark_exclusive(script);
  script.option("--exclusive");
  script.option(fmt::format("--time-limit={}s", job.seconds));
}

void add_flux_environment(Script& script, Job const& job) {
  remark_ranks(script, job);
  script.remark("A rank that fails ends the others, at once; one that just leaves, after 60 s.");
  remark_warning(script, job);
}

std::string launch_by_flux(Job const& job) {
  std::string line = fmt::format("flux run --nodes={}", job.nodes);
  line += job.cpus_per_rank > 0 ? fmt::format(" --ntasks={} --cores-per-task={}",
                                              job.nodes * job.ranks, job.cpus_per_rank)
                                : fmt::format(" --tasks-per-node={}", job.ranks);
  line += " --exclusive -o cpu-affinity=per-task";
  if (job.gpus_per_node > 0) line += " -o gpu-affinity=off";
  // It must end before the job that it is a part of.
  std::int64_t const margin = job.warning / 4;
  return line +
         fmt::format(
             " \\\n  -o exit-on-error -o exit-timeout=60s --time-limit={}s --signal=USR1@{}s",
             job.seconds - margin, job.warning - margin);
}

constexpr Scheduler kSlurm{"slurm",
                           "Print a job script for Slurm that runs an input",
                           "sbatch",
                           "#SBATCH ",
                           slurm_problem,
                           add_slurm_options,
                           add_slurm_environment,
                           "srun",
                           launch_by_slurm};
constexpr Scheduler kPbs{"pbs",
                         "Print a job script for PBS that runs an input",
                         "qsub",
                         "#PBS ",
                         pbs_problem,
                         add_pbs_options,
                         add_pbs_environment,
                         "mpirun",
                         launch_by_pbs};
constexpr Scheduler kFlux{"flux",
                          "Print a job script for Flux that runs an input",
                          "flux batch",
                          "#flux: ",
                          nullptr,
                          add_flux_options,
                          add_flux_environment,
                          "flux run",
                          launch_by_flux};

void add_environment(Script& script, Job const& job, Scheduler const& scheduler) {
  if (!job.modules.empty()) {
    script.line();
    script.remark("What the program was built with.");
    std::string words;
    for (std::string const& name : job.modules) words += ' ' + shell_word(name);
    script.line("module load" + words);
  }
  script.line("set -euo pipefail");
  script.line();
  script.remark(
      "Two streams of one rank compute at once: OpenMP would bind the threads of both to the");
  script.remark("same cores.");
  script.line("export OMP_PROC_BIND=false");
  script.line();
  if (job.gpus_per_node > 0) {
    script.remark(
        "Every rank sees all GPUs of its node and takes that of its local rank: NCCL and copies");
    script.remark("between GPUs need to see the others.");
  }
  scheduler.add_environment(script, job);
}

/// What each rank runs.
std::string command_of(JobArguments const& wanted, std::string const& input) {
  bool const is_contained = !wanted.container.empty();
  std::string program = wanted.program;
  if (program.empty()) program = is_contained ? "quadrille" : program_path();
  std::string command;
  if (is_contained && wanted.runtime != "pyxis") {
    command = fmt::format("apptainer exec{} --bind \"$PWD\" --pwd \"$PWD\" {} \\\n  ",
                          wanted.gpus_per_node > 0 ? " --nv" : "", shell_word(wanted.container));
  }
  command += fmt::format("{} run {}", shell_word(program), shell_word(input));
  for (std::string const& set : wanted.sets) command += " --set " + shell_word(set);
  return command;
}

void add_launch(Script& script, Job const& job, Scheduler const& scheduler) {
  script.line("log=$(mktemp) status=0");
  std::string launch = scheduler.launch(job);
  if (!launch.ends_with('\\')) launch += " \\";
  script.line(fmt::format("{}\n  {} | tee \"$log\" || status=$?", launch, job.command));
  script.remark(
      fmt::format("Without a RESULT line the exit code is that of {}, whose 1 is no wrong result.",
                  scheduler.launcher));
  script.line(R"(if [ "$status" -le 1 ] && ! grep -q "^RESULT " "$log"; then)");
  script.line(
      fmt::format(R"(  echo "quadrille: no RESULT line: it was {} that ended with $status" >&2)",
                  scheduler.launcher));
  script.line("  status=4");
  script.line("fi");
  script.line("rm -f \"$log\"");
  script.line("exit \"$status\"");
}

core::Exit print_script(Scheduler const& scheduler, JobArguments const& arguments) {
  core::Parsed<std::int64_t> const seconds = job_seconds(arguments.time);
  core::Parsed<std::string> const input = input_of(arguments);
  std::string why = !seconds ? seconds.why() : !input ? input.why() : problem_of(arguments);
  if (why.empty() && scheduler.problem != nullptr) why = scheduler.problem(arguments);
  if (!why.empty()) {
    core::print_error("quadrille: {}\n", why);
    return core::Exit::bad_config;
  }
  Job job{arguments};
  job.ranks = arguments.ranks_per_node > 0 ? arguments.ranks_per_node : arguments.gpus_per_node;
  job.seconds = *seconds;
  job.warning = std::min(kWarningSeconds, std::max<std::int64_t>(1, job.seconds / 4));
  job.command = command_of(arguments, *input);
  Script script{scheduler.directive};
  // Where modules are, a login shell knows the command that loads them.
  script.line(job.modules.empty() ? "#!/bin/bash" : "#!/bin/bash -l");
  script.remark(
      fmt::format("Quadrille on {} with {} each. Submit it with `{}`; options that are given",
                  plural(job.nodes, "node"), plural(job.ranks, "rank"), scheduler.submit));
  script.remark("there take precedence over those in this file.");
  scheduler.add_options(script, job);
  add_environment(script, job, scheduler);
  add_launch(script, job, scheduler);
  core::print("{}", script.text());
  return core::Exit::pass;
}

void add_command(CLI::App& app, Action& action, Scheduler const& scheduler) {
  auto const arguments = std::make_shared<JobArguments>();
  CLI::App* const command = app.add_subcommand(scheduler.name, scheduler.summary);
  bool const is_slurm = &scheduler == &kSlurm;
  CLI::Range const count{1, 100'000};
  command->add_option("input", arguments->input, "Input file (default: inputs/quickstart.toml)")
      ->type_name("FILE");
  command->add_option("--nodes", arguments->nodes, "Nodes (default: 1)")->check(count);
  command->add_option("--gpus-per-node", arguments->gpus_per_node, "GPUs of a node, a rank on each")
      ->check(CLI::Range(0, 1024));
  command
      ->add_option("--ranks-per-node", arguments->ranks_per_node,
                   "Ranks of a node (default: its GPUs)")
      ->check(count);
  command
      ->add_option("--cpus-per-rank", arguments->cpus_per_rank,
                   &scheduler == &kPbs ? "CPUs of a rank"
                                       : "CPUs of a rank (default: an even share of the node's)")
      ->check(count);
  command->add_option("--time", arguments->time,
                      "Limit of the job: 2h, 90min, or as Slurm writes it (default: 1h)");
  command->add_option("--partition,--queue", arguments->partition, "Partition or queue");
  command->add_option("--account", arguments->account, "Account to charge");
  command->add_option("--constraint", arguments->constraint, "Features that nodes must have");
  command->add_option("--job-name", arguments->name, "Name of the job (default: quadrille)");
  if (is_slurm) {
    command->add_option("--hint", arguments->hint, "Use of threads, such as nomultithread");
    command->add_option("--mpi", arguments->mpi,
                        "What starts MPI, one of `srun --mpi=list` (default: pmix)");
  }
  command->add_option("--module", arguments->modules, "Modules to load, in this order")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--container", arguments->container, "Image that holds the program")
      ->type_name("FILE");
  if (is_slurm) {
    one_of(command->add_option("--container-runtime", arguments->runtime,
                               "What runs the image (default: apptainer)"),
           "RUNTIME");
  }
  command
      ->add_option("--program", arguments->program,
                   "The program (default: this one; in a container: quadrille)")
      ->type_name("FILE");
  add_sets(*command, arguments->sets, "As of `quadrille run`");
  command->footer(fmt::format(
      "Example: quadrille {} --nodes 4 --gpus-per-node 8{} --queue gpu --time 2h > job.sh\n"
      "         {} job.sh",
      scheduler.name, &scheduler == &kPbs ? " --cpus-per-rank 16" : "", scheduler.submit));
  command->callback([&action, arguments, &scheduler] {
    action = [arguments, &scheduler](int&, char**&) { return print_script(scheduler, *arguments); };
  });
}

}  // namespace

void add_job_scripts(CLI::App& app, Action& action) {
  for (Scheduler const* scheduler : {&kSlurm, &kPbs, &kFlux}) add_command(app, action, *scheduler);
}

}  // namespace quadrille::commands
