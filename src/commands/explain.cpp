// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/explain.hpp"

#include "comm/transport.hpp"
#include "commands/commands.hpp"
#include "commands/explain_launches.hpp"
#include "commands/help.hpp"
#include "common/header_blocks.hpp"
#include "core/former_names.hpp"
#include "core/process.hpp"
#include "core/text.hpp"
#include "measure/fault.hpp"
#include "report/document.hpp"
#include "report/glossary.hpp"
#include "workloads/registry.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <memory>
#include <optional>
#include <set>

namespace quadrille::commands {
namespace {

using core::Option;
using measure::WorkloadEntry;

bool is_same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, {}, [](unsigned char c) { return std::tolower(c); },
      [](unsigned char c) { return std::tolower(c); });
}

/// Receives kind, name and what makes the text.
using Visit = std::function<void(std::string_view, std::string_view, std::function<std::string()>)>;

std::string text_of_unit(report::ExplainedMetric const& metric) {
  return fmt::format("{} [{}]\n{}\n", metric.name, metric.unit, metric.meaning);
}

void visit_numbers(Visit const& visit) {
  for (report::ExplainedMetric const& metric : report::metrics()) {
    bool const is_flag = metric.unit == "flag";
    visit(is_flag ? "flag" : "metric", metric.name, [=] { return text_of_unit(metric); });
  }
  for (report::Column const& column : report::columns()) {
    auto const text = [&column] {
      std::string heading;
      if (!column.heading.text.empty() && column.heading.text != column.key)
        heading = fmt::format(", \"{}\" on screen", column.heading.text);
      return fmt::format("column {}{}\n{}\n", column.key, heading, report::meaning_of(column));
    };
    visit("column", column.key, text);
    bool const has_heading = !column.heading.text.empty() && column.heading.text != column.key;
    if (has_heading) visit("column", column.heading.text, text);
  }
}

/// Behind `begin` the name and the meaning.
void visit_terms(std::string_view kind, std::string const& begin, Visit const& visit) {
  for (report::Term const* term : report::terms_of(kind)) {
    visit(kind, term->name,
          [=] { return fmt::format("{}{}\n{}\n", begin, term->name, term->meaning); });
  }
}

/// "  panel     a count, elements; default 256; sweeps" and its help.
std::string text_of(Option const& option, std::string_view where, std::string const& preset) {
  std::string text = fmt::format("key {} of {}\n{}", option.key, where, option.type);
  if (!option.unit.empty()) text += fmt::format(", {}", option.unit);
  if (!preset.empty()) text += fmt::format("; default {}", core::written(option, preset));
  if (option.sweeps) text += "; a list of values gives a case for each";
  return text + fmt::format("\n{}\n", option.help);
}

void visit_keys(Visit const& visit) {
  for (Option const& option : core::common_options()) {
    visit("key", option.key, [&option] {
      core::OptionTarget target;
      std::string_view const where = option.scope == Option::Scope::run ? "[run]"
                                     : option.scope == Option::Scope::only_case
                                         ? "[[case]]"
                                         : "[run] and [[case]]";
      return text_of(option, where, option.get(target));
    });
  }
  for (WorkloadEntry const* entry : workloads::workloads()) {
    for (Option const& option : entry->schema.options) {
      visit("key", option.key, [&option, entry] {
        return text_of(option, entry->schema.name, core::default_of(option, entry->schema));
      });
    }
  }
}

std::string text_of(WorkloadEntry const& entry) {
  std::vector<std::string_view> keys;
  for (Option const& option : core::common_options()) {
    if (core::accepts(option, entry.schema)) keys.push_back(option.key);
  }
  std::string text = fmt::format(
      "{}: {}\n  work      {} (s: bytes of an element)\n  size      {}\n  ranks     {}\n"
      "  keys      {}\n",
      entry.schema.name, entry.summary, entry.work, fmt::join(entry.schema.extents, ", "),
      entry.local ? "each does the whole work at once" : "work together", fmt::join(keys, " "));
  text += core::options_help(entry.schema);
  for (kernels::VariantInfo const* row : entry.variants) {
    text += fmt::format("  variant   {:<13} {}\n", row->name, row->summary);
  }
  return text;
}

/// `workloads` have this row in their tables.
std::string text_of(kernels::VariantInfo const& row,
                    std::vector<std::string_view> const& workloads) {
  std::vector<std::string> types;
  for (kernels::Types const& one : row.types) types.push_back(kernels::to_text(one));
  std::string const reason = unavailable_reason(row);
  std::string text = fmt::format(
      "{} of {}: {}\n  role      {}\n  where     {}\n  types     {}\n  needs     {}\n"
      "  source    {}\n  here      {}\n",
      row.name, fmt::join(workloads, ", "), row.summary, core::to_text(row.role),
      core::to_text(row.where), fmt::join(types, " "), kernels::to_text(row.needs), row.source,
      reason.empty() ? "available" : "unavailable: " + reason);
  if (!row.caveat.empty()) text += fmt::format("  caveat    {}\n", row.caveat);
  if (std::string_view const block = header_block_of(row); !block.empty()) {
    text += fmt::format("\n{}", block);
  }
  return text;
}

void visit_variants(Visit const& visit) {
  std::vector<std::pair<kernels::VariantInfo const*, std::vector<std::string_view>>> rows;
  for (WorkloadEntry const* entry : workloads::workloads()) {
    for (kernels::VariantInfo const* row : entry->variants) {
      auto found = std::ranges::find(rows, row, [](auto const& known) { return known.first; });
      if (found == rows.end()) found = rows.insert(rows.end(), {row, {}});
      found->second.push_back(entry->schema.name);
    }
  }
  for (auto const& [row, owners] : rows) {
    visit("variant", row->name, [row = row, owners = owners] { return text_of(*row, owners); });
  }
}

void visit_all(Visit const& visit) {
  visit_numbers(visit);
  for (std::string_view const kind : {"verdict", "comparison", "answer", "limit", "role"}) {
    visit_terms(kind, fmt::format("{} ", kind), visit);
  }
  visit_terms("word", "", visit);
  visit_keys(visit);
  for (WorkloadEntry const* entry : workloads::workloads()) {
    visit("workload", entry->schema.name, [entry] { return text_of(*entry); });
  }
  visit_variants(visit);
  for (comm::TransportEntry const* entry : comm::transports()) {
    visit("transport", entry->name, [entry] {
      std::string const reason = entry->unavailable_reason(nullptr);
      return fmt::format("transport {}\n{}\n  moves     {}\n  here      {}\n", entry->name,
                         entry->summary,
                         entry->moves_host && entry->moves_gpu ? "memory of hosts and of GPUs"
                         : entry->moves_gpu                    ? "memory of GPUs"
                                                               : "memory of hosts",
                         reason.empty() ? "available" : "unavailable: " + reason);
    });
  }
  for (auto const& [fault, word] : enum_names(measure::Fault{})) {
    if (fault == measure::Fault::none) continue;
    visit("fault", word, [fault = fault, word = word] {
      return fmt::format("fault {}\n{}\n", word, measure::summary_of(fault));
    });
  }
  visit_terms("subject", "", visit);
}

/// The kinds with what they consist of, subjects with what they are about.
std::string overview() {
  std::vector<std::pair<std::string, std::vector<std::string>>> kinds;
  for (Topic const& topic : topics()) {
    if (topic.kind == "variant" || topic.kind == "subject") continue;
    if (kinds.empty() || kinds.back().first != topic.kind)
      kinds.emplace_back(topic.kind, std::vector<std::string>{});
    auto& names = kinds.back().second;
    if (std::ranges::find(names, topic.name) == names.end()) names.push_back(topic.name);
  }
  report::Table words = report::text_table({"", ""}), subjects = words;
  for (auto const& [kind, names] : kinds)
    words.add_row({kind, fmt::format("{}", fmt::join(names, ", "))});
  words.add_row({"variant", "see `quadrille list variants`"});
  for (report::Term const* subject : report::terms_of("subject"))
    subjects.add_row({std::string{subject->name}, std::string{subject->note}});
  report::Document page;
  page.add_text("quadrille explain NAME says what one of these is:");
  page.add_gap();
  page.add_table(words);
  page.add_gap();
  page.add_text("or tells of a subject:");
  page.add_gap();
  page.add_table(subjects);
  return write_text(page, report::terminal_of_output());
}

}  // namespace

std::vector<Topic> topics() {
  std::vector<Topic> all;
  visit_all([&](std::string_view kind, std::string_view name, auto const&) {
    all.push_back({kind, std::string{name}});
  });
  return all;
}

std::string explanation_of(std::string_view name) {
  // With the table that it stands in, as --set has it.
  std::string_view const bare = name.starts_with("run.") ? name.substr(4) : name;
  std::vector<std::string> texts;
  visit_all([&](std::string_view kind, std::string_view known, auto const& text_of_it) {
    if (!is_same_word(known, name) && !(kind == "key" && known == bare)) return;
    std::string text = text_of_it();
    // A metric is named by its column; one column says what another does.
    bool const is_new =
        std::ranges::none_of(texts, [&](std::string const& had) { return had == text; });
    if (is_new) texts.push_back(std::move(text));
  });
  if (texts.empty()) {
    // A number of several, such as "TTFT p50", "write, raw" and "used 3/10".
    visit_all([&](std::string_view kind, std::string_view known, auto const& text_of_it) {
      bool const begins = kind == "metric" && name.size() > known.size() &&
                          is_same_word(known, name.substr(0, known.size()));
      if (begins && (name[known.size()] == ' ' || name[known.size()] == ','))
        texts.push_back(text_of_it());
    });
  }
  // One workload's former name may be another's own.
  std::set<std::string_view> present;
  for (core::FormerName const& former : core::former_names()) {
    if (!is_same_word(former.former, bare)) continue;
    std::string const whose =
        former.workload.empty() ? "" : fmt::format("of {}: ", former.workload);
    texts.push_back(whose + core::note_of(former) + "\n");
    present.insert(former.present);
  }
  for (std::string_view const now : present) texts.push_back(explanation_of(now));
  return fmt::format("{}", fmt::join(texts, "\n"));
}

std::string_view header_block_of(kernels::VariantInfo const& variant) {
  for (WorkloadEntry const* entry : workloads::workloads()) {
    if (std::ranges::find(entry->variants, &variant) == entry->variants.end()) continue;
    // A library's rows for host and GPU have one name, and so have two files.
    kernels::HeaderBlock const* found = nullptr;
    bool const is_cuda = variant.where == kernels::Where::cuda;
    for (kernels::HeaderBlock const& block : kernels::header_blocks()) {
      bool const defines =
          block.operation == entry->schema.name &&
          block.variants.find(fmt::format(" {} ", variant.name)) != block.variants.npos;
      if (!defines) continue;
      bool const is_of_cuda = block.file.ends_with(".cu") || block.file.ends_with("_cuda.cpp");
      if (found == nullptr || is_of_cuda == is_cuda) found = &block;
    }
    if (found != nullptr) return found->text;
  }
  return {};
}

namespace {

// Wider lines are hard to read.
constexpr std::size_t kWidest = 110;

/// With paragraphs of such a width. A line of kFull or more goes on in the next one, unless that is
/// indented, or either has columns.
std::string fitted_explanation(std::string_view text, std::size_t width) {
  constexpr std::size_t kFull = 70;
  std::string joined;
  std::size_t last = 0;  // width of the line before, 0 where nothing goes on
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const end = std::min(text.find('\n', at), text.size());
    std::string_view const line = text.substr(at, end - at);
    bool const is_prose = !line.empty() && line.front() != ' ' && line.find("  ") == line.npos;
    if (at > 0) joined += is_prose && last >= kFull ? ' ' : '\n';
    joined += line;
    last = is_prose ? line.size() : 0;
    at = end + 1;
  }
  return fitted_help(joined + '\n', width);
}

/// What a command says of itself; empty for other words.
std::string explanation_of_command(CLI::App const& app, std::string const& name) {
  for (CLI::App const* command : app.get_subcommands([](CLI::App const*) { return true; })) {
    if (command->get_name().empty() || command->get_name() != name) continue;
    return fmt::format("command {0}\n{1}; see `quadrille {0} --help`\n", name,
                       command->get_description());
  }
  return {};
}

/// Subjects that have arguments: what they print, or why not. Nothing for other words.
std::optional<core::Parsed<std::string>> explain_subject(std::vector<std::string> const& words) {
  std::vector<std::string> const others{words.empty() ? words.end() : words.begin() + 1,
                                        words.end()};
  if (words.empty()) return {};
  if (is_same_word(words[0], "occupancy")) {
    return explain_occupancy(fmt::format("{}", fmt::join(others, " ")));
  }
  if (is_same_word(words[0], "indices")) return explain_indices(others);
  return {};
}

/// Without a name: what there is to be explained.
core::Exit explain(CLI::App const& app, std::vector<std::string> const& words) {
  if (auto const subject = explain_subject(words)) {
    if (*subject) {
      core::print("{}", **subject);
      return core::Exit::pass;
    }
    core::print_error("quadrille: explain {}: {}\n", core::one_line(words[0]), subject->why());
    return core::Exit::bad_config;
  }
  std::string const name = fmt::format("{}", fmt::join(words, " "));
  if (name.empty()) {
    core::print("{}", overview());
    return core::Exit::pass;
  }
  std::string text = explanation_of(name);
  if (text.empty()) text = explanation_of_command(app, name);
  if (!text.empty()) {
    std::size_t const width = std::min(report::terminal_of_output().width, kWidest);
    core::print("{}", fitted_explanation(text, width));
    return core::Exit::pass;
  }
  std::vector<std::string> names;
  for (Topic const& topic : topics()) names.push_back(topic.name);
  core::print_error(
      "quadrille: nothing is called '{}'{}; `quadrille explain` alone says what there is\n",
      core::one_line(name), core::suggestion(name, names));
  return core::Exit::bad_config;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto const name = std::make_shared<std::vector<std::string>>();
  CLI::App* const command = app.add_subcommand(
      "explain", "Say what a word of the output, a key, a workload or a kernel is");
  command->add_option("name", *name, "Its name; without one, all that there is")->type_name("NAME");
  command->footer(
      "Examples: quadrille explain hidden; quadrille explain vs vendor\n"
      "          quadrille explain occupancy H200; quadrille explain occupancy results/RUN\n"
      "          quadrille explain indices 2x2 32x4");
  command->callback(
      [&, name] { action = [&app, name](int&, char**&) { return explain(app, *name); }; });
}

}  // namespace quadrille::commands
