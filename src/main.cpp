// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/world.hpp"
#include "commands/build_info.hpp"
#include "commands/commands.hpp"
#include "commands/help.hpp"
#include "core/error.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "report/terminal.hpp"

#include <CLI/CLI.hpp>

#include <sstream>

namespace commands = quadrille::commands;
namespace core = quadrille::core;

namespace {

/// Help and version, which are no error, or what the command line lacks. Started by a launcher, one
/// rank speaks for all.
core::Exit end_without_action(CLI::App& app, CLI::ParseError const& error) {
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
  return is_question ? core::Exit::pass : core::Exit::bad_config;
}

core::Exit parse_and_act(int argc, char** argv) {
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
  commands::Action action;
  for (auto* const add :
       {commands::add_check, commands::add_run, commands::add_rerun, commands::add_doctor,
        commands::add_selftest, commands::add_tune, commands::add_list, commands::add_explain,
        commands::add_report, commands::add_predict, commands::add_compare,
        commands::add_job_scripts, commands::add_completion, commands::add_manual}) {
    add(app, action);
  }
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    return end_without_action(app, error);
  }
  return action(argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  core::set_up_process();
  core::Exit const code = parse_and_act(argc, argv);
  core::flush_output();
  return static_cast<int>(code);
}
