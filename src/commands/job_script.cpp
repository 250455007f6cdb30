// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
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

struct SlurmArguments {
  int nodes = 1;
  int gpus_per_node = 0;
  int ranks_per_node = 0;  ///< 0: one per GPU
  int cpus_per_rank = 0;   ///< 0: an even share of the node's
  std::string time = "1h";
  std::string partition, account, constraint;
  std::string name = "quadrille";
  std::string mpi = "pmix";  ///< one of "srun --mpi=list"
  std::vector<std::string> modules;
  std::string container;              ///< an image that holds the program; "": none
  std::string runtime = "apptainer";  ///< apptainer | pyxis
  std::string program;                ///< "": this one, in a container "quadrille"
  std::string input;                  ///< "": the quickstart
  std::vector<std::string> sets;
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

std::string problem_of(SlurmArguments const& wanted) {
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
  if (wanted.container.empty() && wanted.runtime != SlurmArguments{}.runtime) {
    return "--container-runtime: name the image, too, by --container";
  }
  for (auto const& [option, value] :
       {std::pair{"--partition", &wanted.partition}, std::pair{"--account", &wanted.account},
        std::pair{"--constraint", &wanted.constraint}, std::pair{"--job-name", &wanted.name},
        std::pair{"--mpi", &wanted.mpi}}) {
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
core::Parsed<std::string> input_of(SlurmArguments const& wanted) {
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
  void remark(std::string_view text) { text_ += fmt::format("# {}\n", text); }
  void option(std::string const& name, std::string const& value = {}) {
    text_ += fmt::format("#SBATCH --{}{}{}\n", name, value.empty() ? "" : "=", value);
  }
  void line(std::string_view text = {}) { text_ += fmt::format("{}\n", text); }
  std::string const& text() const { return text_; }

 private:
  std::string text_;
};

std::string plural(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void add_options(Script& script, SlurmArguments const& wanted, int ranks, std::int64_t seconds) {
  script.option("job-name", wanted.name);
  script.remark("The job's name and number.");
  script.option("output", "%x-%j.out");
  if (!wanted.partition.empty()) script.option("partition", wanted.partition);
  if (!wanted.account.empty()) script.option("account", wanted.account);
  if (!wanted.constraint.empty()) script.option("constraint", wanted.constraint);
  script.option("nodes", fmt::format("{}", wanted.nodes));
  script.remark(wanted.gpus_per_node == ranks ? "One rank per GPU." : "Ranks on each node.");
  script.option("ntasks-per-node", fmt::format("{}", ranks));
  if (wanted.gpus_per_node > 0) {
    script.option("gpus-per-node", fmt::format("{}", wanted.gpus_per_node));
  }
  if (wanted.cpus_per_rank > 0) {
    script.option("cpus-per-task", fmt::format("{}", wanted.cpus_per_rank));
  }
  script.remark("No other job on these nodes: it would be measured too.");
  script.option("exclusive");
  script.remark("All their memory: without it a job gets the cluster's default, exclusive or not.");
  script.option("mem", "0");
  script.option("time", slurm_time(seconds));
  std::int64_t const warning = std::min(kWarningSeconds, std::max<std::int64_t>(1, seconds / 4));
  script.remark(
      fmt::format("{} s before that limit the run is told: it writes what is finished and ends "
                  "with exit code 7.",
                  warning));
  script.remark("`quadrille run ... --resume latest` continues after the last finished case.");
  script.option("signal", fmt::format("USR1@{}", warning));
}

void add_environment(Script& script, SlurmArguments const& wanted, int ranks) {
  if (!wanted.modules.empty()) {
    script.line();
    script.remark("What the program was built with.");
    std::string words;
    for (std::string const& name : wanted.modules) words += ' ' + shell_word(name);
    script.line("module load" + words);
  }
  script.line("set -euo pipefail");
  script.line();
  script.remark(
      "Two streams of one rank compute at once: OpenMP would bind the threads of both to the");
  script.remark("same cores.");
  script.line("export OMP_PROC_BIND=false");
  script.line();
  if (wanted.cpus_per_rank > 0) {
    script.remark("srun does not take it over from the options above.");
    script.line(fmt::format("cpus={}", wanted.cpus_per_rank));
  } else {
    script.remark("The CPUs of a node, shared evenly by its ranks.");
    script.line(fmt::format("cpus=$((SLURM_CPUS_ON_NODE / {}))", ranks));
    script.line(R"([ "$cpus" -ge 1 ] || cpus=1)");
  }
}

void add_launch(Script& script, SlurmArguments const& wanted, std::string const& input) {
  bool const is_contained = !wanted.container.empty();
  bool const is_pyxis = is_contained && wanted.runtime == "pyxis";
  bool const has_gpus = wanted.gpus_per_node > 0;
  std::string command = wanted.program;
  if (command.empty()) command = is_contained ? "quadrille" : program_path();
  command = shell_word(command);

  script.line();
  if (has_gpus) {
    script.remark(
        "Every rank sees all GPUs of its node and takes that of its local rank: NCCL and copies");
    script.remark("between GPUs need to see the others.");
  }
  script.remark("A rank that fails ends the others, at once; one that just leaves, after 60 s.");
  std::string line =
      fmt::format(R"(srun --mpi={} --cpus-per-task="$cpus" --cpu-bind=cores)", wanted.mpi);
  if (has_gpus) line += " --gpu-bind=none";
  line += " --kill-on-bad-exit=1 -W 60";
  if (is_pyxis) {
    line += fmt::format(
        " \\\n  --container-image={} --container-mounts=\"$PWD:$PWD\" --container-workdir=\"$PWD\"",
        shell_word(wanted.container));
  } else if (is_contained) {
    line += fmt::format(" \\\n  apptainer exec{} --bind \"$PWD\" --pwd \"$PWD\" {}",
                        has_gpus ? " --nv" : "", shell_word(wanted.container));
  }
  line += fmt::format(" \\\n  {} run {}", command, shell_word(input));
  for (std::string const& set : wanted.sets) line += " --set " + shell_word(set);
  script.line("log=$(mktemp) status=0");
  script.line(line + " | tee \"$log\" || status=$?");
  script.remark("Without a RESULT line the exit code is srun's, whose 1 is no wrong result.");
  script.line(R"(if [ "$status" -le 1 ] && ! grep -q "^RESULT " "$log"; then)");
  script.line(R"(  echo "quadrille: no RESULT line: it was srun that ended with $status" >&2)");
  script.line("  status=4");
  script.line("fi");
  script.line("rm -f \"$log\"");
  script.line("exit \"$status\"");
}

/// Prints a job script for Slurm.
core::Exit slurm(SlurmArguments const& arguments) {
  core::Parsed<std::int64_t> const seconds = job_seconds(arguments.time);
  core::Parsed<std::string> const input = input_of(arguments);
  std::string const why = !seconds ? seconds.why() : !input ? input.why() : problem_of(arguments);
  if (!why.empty()) {
    core::print_error("quadrille: {}\n", why);
    return core::Exit::bad_config;
  }
  int const ranks =
      arguments.ranks_per_node > 0 ? arguments.ranks_per_node : arguments.gpus_per_node;
  Script script;
  // Where modules are, a login shell knows the command that loads them.
  script.line(arguments.modules.empty() ? "#!/bin/bash" : "#!/bin/bash -l");
  script.remark(
      fmt::format("Quadrille on {} with {} each. Submit it with sbatch; options that are given",
                  plural(arguments.nodes, "node"), plural(ranks, "rank")));
  script.remark("to sbatch take precedence over those in this file.");
  add_options(script, arguments, ranks, *seconds);
  add_environment(script, arguments, ranks);
  add_launch(script, arguments, *input);
  core::print("{}", script.text());
  return core::Exit::pass;
}

}  // namespace

void add_slurm(CLI::App& app, Action& action) {
  auto const arguments = std::make_shared<SlurmArguments>();
  CLI::App* const command =
      app.add_subcommand("slurm", "Print a job script for Slurm that runs an input");
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
                   "CPUs of a rank (default: an even share of the node's)")
      ->check(count);
  command->add_option("--time", arguments->time,
                      "Limit of the job: 2h, 90min, or as sbatch takes it (default: 1h)");
  command->add_option("--partition", arguments->partition, "Partition of the cluster");
  command->add_option("--account", arguments->account, "Account to charge");
  command->add_option("--constraint", arguments->constraint, "Features that nodes must have");
  command->add_option("--job-name", arguments->name, "Name of the job (default: quadrille)");
  command->add_option("--mpi", arguments->mpi,
                      "What starts MPI, one of `srun --mpi=list` (default: pmix)");
  command->add_option("--module", arguments->modules, "Modules to load, in this order")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--container", arguments->container, "Image that holds the program")
      ->type_name("FILE");
  one_of(command->add_option("--container-runtime", arguments->runtime,
                             "What runs the image (default: apptainer)"),
         "RUNTIME");
  command
      ->add_option("--program", arguments->program,
                   "The program (default: this one; in a container: quadrille)")
      ->type_name("FILE");
  add_sets(*command, arguments->sets, "As of `quadrille run`");
  command->footer(
      "Example: quadrille slurm --nodes 4 --gpus-per-node 8 --partition gpu --time 2h > "
      "job.sbatch\n"
      "         sbatch job.sbatch");
  command->callback(
      [&action, arguments] { action = [arguments](int&, char**&) { return slurm(*arguments); }; });
}

}  // namespace quadrille::commands
