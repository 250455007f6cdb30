// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.hpp"

#include <functional>

namespace CLI {
class App;
}

namespace quadrille::commands {

/// What the command line asks for. Takes the arguments of main(), from which MPI removes its own.
using Action = std::function<core::Exit(int& argc, char**& argv)>;

// Each declares a command, which becomes the action where the command line names it.
void add_run(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_rerun(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_selftest(CLI::App& app, Action& action);
void add_tune(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_predict(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_job_scripts(CLI::App& app, Action& action);  // one for each batch system
void add_completion(CLI::App& app, Action& action);
void add_manual(CLI::App& app, Action& action);

}  // namespace quadrille::commands
