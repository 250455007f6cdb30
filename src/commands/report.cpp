// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/help.hpp"
#include "commands/report_form.hpp"
#include "core/files.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "io/trace_file.hpp"
#include "io/whole_file.hpp"
#include "report/exchange.hpp"
#include "report/html.hpp"
#include "report/ladder.hpp"
#include "report/open.hpp"
#include "report/profile.hpp"
#include "report/scaling.hpp"
#include "report/screen.hpp"
#include "report/table.hpp"
#include "run/input.hpp"
#include "run/output.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace quadrille::commands {
namespace {

using run::refuse;

struct ReportArguments {
  std::vector<std::string> files;
  std::vector<std::string> only;  ///< cases or workloads to show; all where there are none
  ReportForm form = ReportForm::table;
  std::string html;      ///< file to write in place of printing; "": none
  std::string trace;     ///< file of timelines that the page draws; "": none
  bool scaling = false;  ///< join results of different numbers of ranks
  std::string profile;   ///< counters of Nsight Compute to show; "": none
};

using Text = core::Parsed<std::string>;

/// As a form that has one document for each result; or why it has none of this.
Text render(measure::RunResult const& result, std::string const& file, ReportForm form,
            report::Terminal const& terminal) {
  switch (form) {
    case ReportForm::ladder: {
      std::string const ladders = report::render_ladders(result);
      return ladders.empty() ? Text::error("no case has two techniques of our own that passed")
                             : ladders;
    }
    case ReportForm::osu: return report::render_osu(result);
    case ReportForm::nccl_tests: return report::render_nccl_tests(result);
    case ReportForm::markdown: return report::render_markdown(result);
    case ReportForm::details:
      return core::printable(
                 fmt::format("{}\n{}\n", report::render_run_header(result.info, terminal),
                             report::render_details(result, {.width = terminal.width}))) +
             report::shown_result(result, file, terminal);
    default: break;
  }
  return fmt::format("{}\n{}\n{}", report::render_short_header(result.info, terminal),
                     report::render_screen(result, terminal),
                     report::render_end(result, file, terminal));
}

bool takes_only(ReportForm form) {
  return form == ReportForm::ladder || form == ReportForm::osu || form == ReportForm::nccl_tests;
}

constexpr std::size_t kMaxProfileBytes = 64 << 20;

/// Of at most one result, whose kernels were profiled.
core::Exit report_profile(std::string const& path, std::vector<measure::RunResult> const& results) {
  core::Parsed<std::string> const text = core::read_file(path, kMaxProfileBytes);
  if (!text) return refuse(fmt::format("--profile: {}: {}", path, text.why()));
  core::Parsed<std::vector<report::ProfiledLaunch>> const launches = report::read_profile(*text);
  if (!launches) return refuse(fmt::format("--profile: {}: {}", path, launches.why()));
  if (results.size() > 1)
    return refuse("--profile: takes one result, of the input that was profiled");
  core::print("{}", report::render_profile(*launches, results.empty() ? nullptr : results.data(),
                                           report::terminal_of_output()));
  bool const is_unfinished = !results.empty() && results.front().info.status == "running";
  return is_unfinished ? core::Exit::interrupted : core::Exit::pass;
}

core::Exit report(ReportArguments const& arguments) {
  if (!arguments.only.empty() && !takes_only(arguments.form)) {
    return refuse("--only: ladders, osu and nccl-tests show some of the cases, other forms all");
  }
  if (arguments.files.empty() && arguments.profile.empty()) {
    return refuse("no result is named; `quadrille report results/RUN` shows one");
  }
  // Anything but an earlier report is there by mistake: `--html RESULT` lacks its file.
  if (!arguments.html.empty()) {
    std::string const why = io::unwritable_reason(arguments.html, report::html_begin());
    if (!why.empty()) return refuse("--html: " + why);
  }
  std::vector<measure::RunResult> results;
  for (std::string const& path : arguments.files) {
    core::Parsed<measure::RunResult> const opened = report::open_result(path);
    if (!opened) return refuse(opened.why());
    measure::RunResult result = *opened;
    std::string const why = run::keep_only<measure::Record>(
        result.records, arguments.only, [](measure::Record const& record) {
          return run::CaseName{record.name, record.workload};
        });
    if (!why.empty()) return refuse(why);
    results.push_back(std::move(result));
  }
  if (!arguments.profile.empty()) return report_profile(arguments.profile, results);
  std::vector<io::TracedSpan> trace;
  if (!arguments.trace.empty()) {
    auto const read = io::read_trace(arguments.trace);
    if (!read) return refuse("--trace: " + read.why());
    trace = *read;
    bool const is_of_these = std::ranges::any_of(trace, [&](io::TracedSpan const& span) {
      return std::ranges::any_of(results, [&](measure::RunResult const& result) {
        return std::ranges::find(result.records, span.of, &measure::Record::id) !=
               result.records.end();
      });
    });
    if (!is_of_these) {
      return refuse(
          fmt::format("--trace: '{}' has no measurement of these results; name the trace "
                      "of their run",
                      arguments.trace));
    }
  }
  // Standard output has the page alone where that goes there.
  bool const is_page_output = !arguments.html.empty() && io::is_standard_output(arguments.html);
  std::optional<report::Scaling> scaling;
  if (arguments.scaling) {
    core::Parsed<report::Scaling> const joined = report::join_scaling(results);
    if (!joined) return refuse(joined.why());
    scaling = *joined;
    if (!is_page_output) {
      core::print("{}", core::printable(report::render_scaling(
                            *scaling, {.width = report::terminal_of_output().width})));
    }
  }
  if (!arguments.html.empty()) {
    std::string const why = io::replace_whole_file(
        arguments.html, report::render_html(results, arguments.files, scaling, trace));
    if (!why.empty()) return refuse("--html: " + why, core::Exit::runtime);
    if (!is_page_output) core::print("wrote {}\n", core::one_line(arguments.html));
  }
  // One document for all.
  bool const is_json = arguments.form == ReportForm::json;
  bool const is_joined = is_json || arguments.form == ReportForm::csv;
  if (is_joined) {
    core::print("{}", is_json ? report::render_json(results) + '\n'
                              : core::printable(report::render_csv(results)));
  }
  report::Terminal const terminal = report::terminal_of_output();
  core::Exit code = core::Exit::pass;
  for (std::size_t i = 0; i < results.size(); ++i) {
    measure::RunResult const& result = results[i];
    if (result.info.status == "running") code = core::Exit::interrupted;
    if (is_joined || scaling || !arguments.html.empty()) continue;
    if (i > 0) core::print("\n");
    Text const text = render(result, arguments.files[i], arguments.form, terminal);
    if (!text) {
      return refuse(fmt::format("{}: {}", arguments.files[i], text.why()),
                    core::Exit::nothing_executed);
    }
    bool const has_colours =
        arguments.form == ReportForm::table || arguments.form == ReportForm::details;
    core::print("{}", has_colours ? *text : core::printable(*text));
  }
  return code;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  auto const arguments = std::make_shared<ReportArguments>();
  CLI::App* const command = app.add_subcommand("report", "Show results that were written");
  command
      ->add_option("result", arguments->files,
                   "result.h5 or result.jsonl, or their directory; none is needed with --profile")
      ->type_name("FILE");
  CLI::Option_group* const formats = command->add_option_group("format");
  auto const add_form = [&](ReportForm form, std::string const& text) {
    formats->add_flag_callback(
        fmt::format("--{}", core::to_text(form)), [arguments, form] { arguments->form = form; },
        text);
  };
  for (ReportForm const form : {ReportForm::json, ReportForm::csv, ReportForm::markdown}) {
    add_form(form, fmt::format("As {}", core::to_text(form)));
  }
  add_form(ReportForm::details, "Every column, in as many tables as the terminal takes");
  add_form(ReportForm::ladder,
           "What each technique of a case gains over the fastest before it, in Markdown");
  one_of(formats->add_option_function<std::string>(
             "--format",
             [arguments](std::string const& word) {
               arguments->form = *core::parse_enum<ReportForm>(word);
             },
             "One of these by its name, or exchanges as another program's table: osu, nccl-tests"),
         "FORM");
  add_only(*command, arguments->only,
           "Of ladders, osu and nccl-tests: names of cases or workloads to show");
  CLI::Option* const html =
      formats
          ->add_option("--html", arguments->html,
                       "Write one page of charts and tables, which needs no network, to this "
                       "file, or to standard output (-)")
          ->type_name("FILE");
  command
      ->add_option("--trace", arguments->trace,
                   "With --html: draw the timelines that run --trace wrote to this file")
      ->type_name("FILE")
      ->needs(html);
  formats
      ->add_option("--profile", arguments->profile,
                   "What Nsight Compute counted of kernels (jobs/profile.sh), beside what their "
                   "accesses predict and what documents have")
      ->type_name("FILE");
  formats->require_option(0, 1);
  CLI::Option* const scaling = command->add_flag(
      "--scaling", arguments->scaling,
      "Join results of different numbers of ranks: efficiency and fits, as text and with --html");
  for (CLI::Option* const format : formats->get_options()) {
    if (format != html) scaling->excludes(format);
  }
  command->footer(
      "Examples: quadrille report results/RUN --html report.html\n"
      "          quadrille report --profile profile.csv results/RUN\n"
      "          quadrille report --scaling results/RUN-1 results/RUN-2 results/RUN-4\n"
      "Tables fit the terminal, or COLUMNS, else 80. NO_COLOR and CLICOLOR_FORCE are respected.");
  command->callback(
      [&action, arguments] { action = [arguments](int&, char**&) { return report(*arguments); }; });
}

}  // namespace quadrille::commands
