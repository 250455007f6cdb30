// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/compare.hpp"

#include "commands/commands.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "io/result_file.hpp"
#include "io/whole_file.hpp"
#include "report/html.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace quadrille::commands {
namespace {

using measure::RunResult;

core::Exit refuse(core::Exit code, std::string_view why) {
  core::print_error("quadrille: {}\n", core::one_line(why));
  return code;
}

/// A run that is given twice would look like two that agree in every sample: as the new one, as if
/// nothing had changed.
std::string repeated_run(std::span<RunResult const> results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      bool const is_same = results[i].info.run_id == results[j].info.run_id &&
                           results[i].info.started == results[j].info.started;
      if (is_same) return results[i].info.run_id;
    }
  }
  return {};
}

}  // namespace

core::Exit compare(CompareArguments const& arguments) {
  auto const percent = core::parse_percent(arguments.margin);
  if (!percent) return refuse(core::Exit::bad_config, "--margin: " + percent.why());
  if (arguments.files.size() < 2) {
    return refuse(core::Exit::nothing_executed,
                  "no baseline: give the results to compare with before the new one");
  }
  struct Form {
    std::string_view option;
    std::string const& file;
    std::string_view begin;  ///< what makes a file one of its kind
    std::string (*render)(report::Comparison const&);
  };
  Form const forms[]{{"--junit", arguments.junit, "<?xml", report::render_junit},
                     {"--html", arguments.html, report::html_begin(), report::render_html}};
  // Anything but an earlier report is there by mistake: `--junit BASE NEW` lacks its file.
  for (Form const& form : forms) {
    if (form.file.empty()) continue;
    std::string const why = io::unwritable_reason(form.file, form.begin);
    if (!why.empty()) {
      return refuse(core::Exit::bad_config, fmt::format("{}: {}", form.option, why));
    }
  }
  if (!arguments.html.empty() && !arguments.junit.empty() &&
      io::name_same_place(arguments.html, arguments.junit)) {
    return refuse(core::Exit::bad_config, "--html and --junit name one file; give each its own");
  }
  // Standard output has one document alone.
  bool const is_document_output = std::ranges::any_of(
      forms, [](Form const& form) { return io::is_standard_output(form.file); });
  if (arguments.json && is_document_output) {
    return refuse(core::Exit::bad_config,
                  "--html is standard output, as --json is; give the page a file");
  }
  std::vector<RunResult> results;
  for (std::string const& path : arguments.files) {
    core::Parsed<RunResult> const result = io::read_result(path);
    if (!result) return refuse(core::Exit::bad_config, result.why());
    results.push_back(*result);
  }
  std::span<RunResult const> const base{results.data(), results.size() - 1};
  if (std::string const run = repeated_run(results); !run.empty()) {
    return refuse(core::Exit::bad_config, fmt::format("the run '{}' is given twice", run));
  }

  report::Comparison const comparison =
      report::compare(base, results.back(), *percent / 100, workloads::name_table());
  for (Form const& form : forms) {
    if (form.file.empty()) continue;
    std::string const why = io::replace_whole_file(form.file, form.render(comparison));
    if (!why.empty()) core::fail(fmt::format("{}: {}", form.option, why));
  }
  if (!is_document_output) {
    core::print("{}", arguments.json ? report::render_json(comparison) + '\n'
                                     : report::render_text(comparison, arguments.details));
  }
  core::Exit code = core::Exit::pass;
  if (!comparison.is_comparable()) {
    code = refuse(core::Exit::nothing_executed,
                  "no baseline: nothing was measured alike in the base and in the new run");
  }
  if (comparison.is_undecided()) {
    code = refuse(core::Exit::undecided,
                  "nothing could be decided: too few samples, times that vary by more than the "
                  "margin, or SUSPECT ones; take more repetitions (9 or more)");
  }
  bool const fails = arguments.gate && comparison.is_regression();
  return fails ? core::worse(code, core::Exit::regression) : code;
}

}  // namespace quadrille::commands
