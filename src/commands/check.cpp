// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "check/judges.hpp"
#include "check/measure.hpp"
#include "check/reference.hpp"
#include "check/report.hpp"
#include "check/simulate.hpp"
#include "comm/world.hpp"
#include "commands/commands.hpp"
#include "commands/help.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include "io/whole_file.hpp"
#include "measure/fault.hpp"
#include "report/document.hpp"
#include "run/directory.hpp"
#include "run/input.hpp"
#include "run/output.hpp"
#include "workloads/registry.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>

namespace quadrille::commands {
namespace {

using check::Depth;
using check::Subject;
using run::refuse;

constexpr std::size_t kMaxBytes = 256 << 20;  // of a file that is read

struct CheckArguments {
  bool quick = false, thorough = false;
  std::string reference;  ///< a table that is read
  std::string write_reference;
  std::vector<std::string> baselines;
  std::vector<std::string> without;  ///< judges
  bool only_these = false;           ///< fewer ranks than GPUs
  bool json = false;
  std::string output;  ///< a folder
  std::uint64_t seed = 1;
  double limit_s = 0;  ///< 0: that of the depth
  std::string fault;
  std::string simulate;  ///< samples
  std::int64_t machines = 100;
  std::vector<std::string> sets;
};

/// By which the subjects here are judged, or what is wrong with a file. Not collective: rank 0 reads.
core::Parsed<check::Criteria> read_criteria(CheckArguments const& arguments,
                                            std::vector<Subject> const& here) {
  using Result = core::Parsed<check::Criteria>;
  check::Criteria criteria{.reference = check::shipped_reference()};
  for (std::string const& judge : arguments.without) {
    criteria.without.insert(*core::parse_enum<check::Judge>(judge));
  }
  if (!arguments.reference.empty()) {
    core::Parsed<std::string> const text = core::read_file(arguments.reference, kMaxBytes);
    if (!text)
      return Result::error(fmt::format("--reference {}: {}", arguments.reference, text.why()));
    core::Parsed<check::Reference> const reference =
        check::read_reference(*text, arguments.reference);
    if (!reference) return Result::error(reference.why());
    bool const has_any = std::ranges::any_of(
        here, [&](Subject const& one) { return reference->contains(one.model); });
    if (!has_any) {
      return Result::error(fmt::format(
          "{}: has none of the devices here, such as \"{}\"; --write-reference writes their table",
          arguments.reference, here.back().model));
    }
    for (auto const& [model, expected] : *reference) criteria.reference[model] = expected;
  }
  for (std::string const& path : arguments.baselines) {
    core::Parsed<std::string> const text = core::read_file(path, kMaxBytes);
    if (!text) return Result::error(fmt::format("--baseline {}: {}", path, text.why()));
    core::Parsed<std::vector<Subject>> const earlier = check::read_document(*text, path);
    if (!earlier) return Result::error(earlier.why());
    bool has_any = false;
    for (Subject const& now : here) {
      auto const then = std::ranges::find(*earlier, now.name(), &Subject::name);
      if (then == earlier->end()) continue;
      has_any = true;
      if (then->model != now.model) {
        return Result::error(fmt::format("{}: {} was \"{}\" then and is \"{}\" now", path,
                                         now.name(), then->model, now.model));
      }
    }
    if (!has_any) {
      return Result::error(
          fmt::format("{}: has none of the nodes here, such as {}", path, here.front().name()));
    }
    criteria.baselines.push_back(*earlier);
  }
  return criteria;
}

/// Makes the folder of --output and says why something cannot be written; empty where all can.
std::string unwritable_reason(CheckArguments const& arguments, core::RunSettings const& run) {
  if (!arguments.quick) {  // which has no file_system
    std::string const why = io::unwritable_reason(run.output + "/file_system", "");
    if (!why.empty()) return why + "; --set run.output=FOLDER names another";
  }
  if (!arguments.write_reference.empty()) {
    std::string const why = io::unwritable_reason(arguments.write_reference, "");
    if (!why.empty()) return "--write-reference: " + why;
  }
  if (arguments.output.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(arguments.output, error);
  if (error) {
    return fmt::format("--output: {}: {}; name a folder that can be made", arguments.output,
                       error.message());
  }
  for (check::OutputFile const& file : check::files_of({})) {
    std::string const why =
        io::unwritable_reason(fmt::format("{}/{}", arguments.output, file.name), "");
    if (!why.empty()) return "--output: " + why;
  }
  return {};
}

void write(std::string const& path, std::string const& text) {
  std::string const why = io::replace_whole_file(path, text);
  if (!why.empty()) core::fail(why);
}

/// On rank 0.
void tell(CheckArguments const& arguments, check::Checked const& checked) {
  for (check::OutputFile const& file : check::files_of(checked)) {
    if (!arguments.output.empty())
      write(fmt::format("{}/{}", arguments.output, file.name), file.text);
  }
  std::vector<Subject> const& subjects = checked.measured.subjects;
  if (!arguments.write_reference.empty()) {
    write(arguments.write_reference,
          check::reference_of(subjects,
                              fmt::format("{}, {}", subjects.front().node, run::now_utc())));
  }
  if (arguments.json) {
    core::print("{}\n", check::document_of(checked).dump(2));
  } else {
    core::print("{}", check::render(checked, report::terminal_of_output()));
  }
  core::flush_output();
}

/// Why not every GPU of this rank's node has a rank; empty where each has.
std::string idle_gpu_problem(comm::World const& world) {
  int const gpus = device::cuda_device_count();
  int const ranks = world.placement().local_size;
  if (world.device().kind() == device::Kind::host || ranks >= gpus) return {};
  return fmt::format(
      "check: {} has {} GPUs and {} rank{}; start a rank for each, or pass --only-these",
      world.placement().node, gpus, ranks, ranks == 1 ? "" : "s");
}

core::Exit simulate(CheckArguments const& arguments) {
  if (comm::read_launcher().rank > 0) return core::Exit::pass;
  core::Parsed<std::string> const text = core::read_file(arguments.simulate, kMaxBytes);
  if (!text) return refuse(fmt::format("--simulate {}: {}", arguments.simulate, text.why()));
  core::Parsed<check::KeptSamples> const kept = check::read_samples(*text, arguments.simulate);
  if (!kept) return refuse(kept.why());
  check::Simulation const simulation = check::simulate(*kept, arguments.machines, arguments.seed);
  report::Table table = report::text_table({"fault", "planted", "found", "share", "must be found"});
  for (check::FaultCount const& count : simulation.faults) {
    table.add_row(
        {std::string{count.fault}, std::to_string(count.planted), std::to_string(count.found),
         count.planted == 0 ? "-"
                            : fmt::format("{:.1f} %", 100.0 * static_cast<double>(count.found) /
                                                          static_cast<double>(count.planted)),
         count.must_be_found ? "yes" : "no"});
  }
  core::print("{}", write_text(table, report::terminal_of_output()));
  core::print("SIMULATION {} machines={} found={:.2f} % false={:.3f} % of {} nodes\n",
              simulation.is_good() ? "PASS" : "FAIL", arguments.machines,
              100 * simulation.found_share(), 100 * simulation.false_share(), simulation.healthy);
  return simulation.is_good() ? core::Exit::pass : core::Exit::wrong_result;
}

core::Exit check_machine(CheckArguments const& arguments, int& argc, char**& argv) {
  if (!arguments.simulate.empty()) return simulate(arguments);
  auto const start = std::chrono::steady_clock::now();
  comm::World world{argc, argv};
  world.require_launcher();
  measure::Fault const fault = arguments.fault.empty()
                                   ? measure::Fault::none
                                   : *core::parse_enum<measure::Fault>(arguments.fault);
  Depth const depth = arguments.quick      ? Depth::quick
                      : arguments.thorough ? Depth::thorough
                                           : Depth::normal;
  double const limit_s = arguments.limit_s > 0 ? arguments.limit_s : check::limit_of(depth);
  core::Parsed<core::Config> const config = core::resolve(check::cases_of(depth, limit_s), "check",
                                                          arguments.sets, workloads::name_table());
  if (!config) return refuse(world, config.why(), core::Exit::bad_config);
  world.enter_phase("open the device", config->run.timeout.init_s);
  world.open(config->run);

  std::string problem = arguments.only_these ? "" : idle_gpu_problem(world);
  int const first = world.group().agree(!problem.empty());
  if (first >= 0) {
    world.broadcast(problem, first);
    return refuse(world, problem, core::Exit::bad_config);
  }
  check::Criteria criteria;
  if (world.rank() == 0) {
    core::Parsed<check::Criteria> const read = read_criteria(arguments, check::subjects_of(world));
    problem = read ? unwritable_reason(arguments, config->run) : read.why();
    if (read) criteria = *read;
  }
  world.broadcast(problem);
  if (!problem.empty()) return refuse(world, problem, core::Exit::bad_config);

  check::Request const request{*config, arguments.seed, fault, limit_s};
  return check::measure_nodes(world, request, [&](check::Measured measured) {
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - start;
    check::Checked checked{};
    checked.measured = std::move(measured);
    checked.seed = arguments.seed;
    checked.seconds = passed.count();
    checked.assessments = check::assess(checked.measured.subjects, criteria);
    tell(arguments, checked);
    return checked.exit();
  });
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto const arguments = std::make_shared<CheckArguments>();
  CLI::App* const command = app.add_subcommand(
      "check", "Say of each node and GPU whether it is all right, and what to do where not");
  CLI::Option* const quick =
      command->add_flag("--quick", arguments->quick, "In 20 s, with less to go by");
  command->add_flag("--thorough", arguments->thorough, "In up to 30 min")->excludes(quick);
  command
      ->add_option(
          "--reference", arguments->reference,
          "What devices should reach, beside the shipped table: one that --write-reference "
          "has written")
      ->type_name("FILE");
  command
      ->add_option("--write-reference", arguments->write_reference,
                   "Write what the devices here reach to this table")
      ->type_name("FILE");
  command
      ->add_option("--baseline", arguments->baselines,
                   "Earlier checks of these nodes: check.json of --output, or what --json printed")
      ->type_name("FILE");
  one_of(command->add_option("--without", arguments->without,
                             "Leave out what one judge says; may be given more than once"),
         "JUDGE")
      ->allow_extra_args(false);
  command->add_flag("--only-these", arguments->only_these,
                    "Check the GPUs that have a rank, though there are more");
  command->add_flag("--json", arguments->json, "As one JSON document");
  command
      ->add_option("--output", arguments->output,
                   "Write check.json, nodecheck.txt, metrics.txt and metrics.prom to this folder")
      ->type_name("FOLDER");
  command->add_option("--seed", arguments->seed, "Draws the pairs of nodes")->type_name("N");
  command
      ->add_option("--limit", arguments->limit_s,
                   "Give a node up that has not answered by then; 240, with --quick 120, with "
                   "--thorough 3600")
      ->type_name("SECONDS")
      ->check(CLI::Range(1.0, 1e6));
  one_of(command->add_option("--inject-fault", arguments->fault,
                             "Damage results of the first node on purpose: it must be BROKEN"),
         "FAULT");
  CLI::Option* const simulate =
      command
          ->add_option(
              "--simulate", arguments->simulate,
              "Let the judges assess made-up machines of such samples, in lines metric,value")
          ->type_name("FILE");
  command->add_option("--machines", arguments->machines, "Machines for --simulate")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}))
      ->needs(simulate);
  add_sets(*command, arguments->sets, "run.KEY=VALUE, as of `quadrille run`");
  command->footer("Example: mpirun -n 8 quadrille check --quick");
  command->callback([&action, arguments] {
    action = [arguments](int& argc, char**& argv) { return check_machine(*arguments, argc, argv); };
  });
}

}  // namespace quadrille::commands
