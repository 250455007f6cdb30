// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/help.hpp"
#include "commands/run.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace quadrille::commands {

void add_rerun(CLI::App& app, Action& action) {
  auto const arguments = std::make_shared<RunArguments>();
  CLI::App* const command =
      app.add_subcommand("rerun", "Repeat the run of a result as it was, and say what differs now");
  command->add_option("result", arguments->rerun, "result.h5 or result.jsonl, or their directory")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--case", arguments->rerun_case,
                   "One measurement (summa.2:kokkos) or one case (summa.2) of it")
      ->type_name("ID");
  add_sets(*command, arguments->sets, "run.KEY=VALUE or NAME.KEY=VALUE to override");
  command->add_flag("--force", arguments->force,
                    "Overwrite the run of this --run-id, unless it still runs");
  command->add_option("--run-id", arguments->run_id,
                      "Name of the new run's directory under run.output (default: unique)");
  command->add_flag("--dry-run", arguments->dry_run, "Show what differs and what would run");
  command->add_flag("--print-config", arguments->print_config, "Print the configuration");
  command->footer("Example: mpirun -n 2 quadrille rerun results/RUN --case summa:host_simd");
  command->callback([&action, arguments] {
    action = [arguments](int& argc, char**& argv) { return run(*arguments, argc, argv); };
  });
}

}  // namespace quadrille::commands
