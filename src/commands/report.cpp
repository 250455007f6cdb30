// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "core/text.hpp"
#include "io/result_file.hpp"
#include "report/table.hpp"

#include <fmt/format.h>

namespace quadrille::commands {
core::Exit report(ReportArguments const& arguments) {
  std::vector<measure::RunResult> results;
  for (std::string const& path : arguments.files) {
    core::Parsed<measure::RunResult> result = io::read_result(path);
    if (!result) {
      fmt::print(stderr, "quadrille: {}\n", result.why());
      return core::Exit::bad_config;
    }
    results.push_back(*result);
  }
  core::Exit code = core::Exit::pass;
  for (std::size_t i = 0; i < results.size(); ++i) {
    measure::RunResult const& result = results[i];
    if (result.info.status == "running") code = core::Exit::interrupted;
    if (arguments.format == "json") {
      fmt::print("{}\n", report::render_json(result));
    } else if (arguments.format == "csv") {
      fmt::print("{}", core::printable(report::render_csv(result)));
    } else if (arguments.format == "markdown") {
      fmt::print("{}", core::printable(report::render_markdown(result)));
    } else {
      fmt::print("{}\n",
                 core::printable(fmt::format("{}\n{}\n{}", report::render_run_header(result.info),
                                             report::render_table(result),
                                             report::result_line(result, arguments.files[i]))));
    }
  }
  return code;
}

}  // namespace quadrille::commands
