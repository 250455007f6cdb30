// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/compare.hpp"

#include "commands/commands.hpp"
#include "commands/help.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "io/whole_file.hpp"
#include "report/html.hpp"
#include "report/junit.hpp"
#include "report/open.hpp"
#include "run/output.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

namespace quadrille::commands {
namespace {

using measure::RunResult;
using run::refuse;

struct CompareArguments {
  std::vector<std::string> files;  ///< of the base runs, then of the new one
  std::string margin = "1%";
  std::string junit, html;  ///< files to write; "": none
  bool json = false;
  bool gate = false;
  bool details = false;
  report::Across across = report::Across::nothing;
};

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

/// The code that the command ends with, which it explains where it is no verdict: Exit::nothing_executed
/// without a baseline, Exit::undecided where of nothing can be said whether it changed; with `gate`
/// Exit::regression where something is slower or broken.
core::Exit conclude(report::Comparison const& comparison, bool gate) {
  core::Exit code = core::Exit::pass;
  if (!comparison.is_comparable()) {
    code = refuse("no baseline: nothing was measured alike in the base and in the new run",
                  core::Exit::nothing_executed);
  }
  if (comparison.is_undecided()) {
    code = refuse(
        "nothing could be decided: too few samples, times that vary by more than the "
        "margin, or SUSPECT ones; take more repetitions (9 or more)",
        core::Exit::undecided);
  }
  bool const fails = gate && comparison.is_regression();
  return fails ? core::worse(code, core::Exit::regression) : code;
}

core::Exit compare(CompareArguments const& arguments) {
  auto const percent = core::parse_percent(arguments.margin);
  if (!percent) return refuse("--margin: " + percent.why());
  if (arguments.files.size() < 2) {
    return refuse("no baseline: give the results to compare with before the new one",
                  core::Exit::nothing_executed);
  }
  struct Form {
    std::string_view option;
    std::string const& file;
    std::string_view begin;  ///< what makes a file one of its kind
    std::string (*render)(report::Comparison const&);
  };
  Form const forms[]{{"--junit", arguments.junit, report::kJunitBegin, report::render_junit},
                     {"--html", arguments.html, report::html_begin(), report::render_html}};
  // Anything but an earlier report is there by mistake: `--junit BASE NEW` lacks its file.
  for (Form const& form : forms) {
    if (form.file.empty()) continue;
    std::string const why = io::unwritable_reason(form.file, form.begin);
    if (!why.empty()) {
      return refuse(fmt::format("{}: {}", form.option, why));
    }
  }
  if (!arguments.html.empty() && !arguments.junit.empty() &&
      io::name_same_place(arguments.html, arguments.junit)) {
    return refuse("--html and --junit name one file; give each its own");
  }
  // Standard output has one document alone.
  bool const is_document_output = std::ranges::any_of(
      forms, [](Form const& form) { return io::is_standard_output(form.file); });
  if (arguments.json && is_document_output) {
    return refuse("--html is standard output, as --json is; give the page a file");
  }
  std::vector<RunResult> results;
  for (std::string const& path : arguments.files) {
    core::Parsed<RunResult> const result = report::open_result(path);
    if (!result) return refuse(result.why());
    results.push_back(*result);
  }
  std::span<RunResult const> const base{results.data(), results.size() - 1};
  if (std::string const run = repeated_run(results); !run.empty()) {
    return refuse(fmt::format("the run '{}' is given twice", run));
  }

  report::Comparison const comparison =
      report::compare(base, results.back(), *percent / 100, arguments.across);
  for (Form const& form : forms) {
    if (form.file.empty()) continue;
    std::string const why = io::replace_whole_file(form.file, form.render(comparison));
    if (!why.empty()) return refuse(fmt::format("{}: {}", form.option, why), core::Exit::runtime);
  }
  if (!is_document_output) {
    core::print("{}", arguments.json ? report::render_json(comparison) + '\n'
                                     : report::render_text(comparison, arguments.details,
                                                           report::terminal_of_output()));
  }
  return conclude(comparison, arguments.gate);
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto const arguments = std::make_shared<CompareArguments>();
  CLI::App* const command =
      app.add_subcommand("compare", "Say what became faster, slower or broken since other runs");
  command
      ->add_option("result", arguments->files,
                   "The base, one run or several, then the new run: result.h5 or result.jsonl, or "
                   "their directory")
      ->type_name("FILE")
      ->required();
  CLI::Option* const gate =
      command->add_flag("--gate", arguments->gate,
                        "End with 6 where something is slower, or broken: passed and fails now");
  one_of(command->add_option_function<std::string>(
             "--across",
             [arguments](std::string const&) { arguments->across = report::Across::devices; },
             "device: also compare what other devices measured, and their best variants"),
         "CONDITION")
      ->excludes(gate);
  command->add_option("--margin", arguments->margin,
                      "By how much a time may change and be the same (default: 1%)");
  command->add_flag("--details", arguments->details, "Also list what is the same");
  CLI::Option* const json = command->add_flag("--json", arguments->json, "As JSON");
  command
      ->add_option("--junit", arguments->junit,
                   "Also write JUnit's XML to this file, or it alone to standard output (-)")
      ->type_name("FILE")
      ->excludes(json);
  command
      ->add_option("--html", arguments->html,
                   "Also write one page with a chart of all ratios, which needs no network, to "
                   "this file, or it alone to standard output (-)")
      ->type_name("FILE");
  command->footer(
      "Example: quadrille compare results/monday results/tuesday results/RUN --gate\n"
      "SLOWER, FASTER: the 95 % interval of the ratio of median times is beyond the\n"
      "margin; SAME: within it; AMBIGUOUS: neither, so that it takes more repetitions\n"
      "or a wider margin. Several base runs show how much runs differ by themselves.");
  command->callback([&action, arguments] {
    action = [arguments](int&, char**&) { return compare(*arguments); };
  });
}

}  // namespace quadrille::commands
