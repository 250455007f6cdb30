// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/help.hpp"

#include "check/judges.hpp"
#include "comm/transport.hpp"
#include "commands/build_info.hpp"
#include "commands/commands.hpp"
#include "commands/explain.hpp"
#include "commands/launch_line.hpp"
#include "commands/report_form.hpp"
#include "core/config.hpp"
#include "core/options.hpp"
#include "core/process.hpp"
#include "device/known_devices.hpp"
#include "measure/fault.hpp"
#include "report/glossary.hpp"
#include "report/text.hpp"
#include "workloads/registry.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

namespace quadrille::commands {
namespace {

using Words = std::vector<std::string>;

void add_new(Words& words, std::string_view word) {
  if (std::ranges::find(words, word) == words.end()) words.emplace_back(word);
}

/// "run.seed=", "size=": what --set begins with.
Words settings() {
  Words words;
  for (core::Option const& option : core::common_options()) {
    if (option.scope != core::Option::Scope::only_case)
      add_new(words, fmt::format("run.{}=", option.key));
    if (option.scope != core::Option::Scope::run) add_new(words, fmt::format("{}=", option.key));
  }
  for (measure::WorkloadEntry const* entry : workloads::workloads()) {
    for (core::Option const& option : entry->schema.options)
      add_new(words, fmt::format("{}=", option.key));
  }
  return words;
}

/// An option, or an argument without a name, of a command.
struct Argument {
  CLI::Option const* option;
  Words names;        ///< "--set", "-h"; empty: it has none
  std::string value;  ///< what it takes: "WORKLOAD"; empty: it is a flag
  bool repeats = false;
};

std::vector<Argument> arguments_of(CLI::App const& command) {
  std::vector<Argument> all;
  for (CLI::Option const* option : command.get_options()) {
    Argument& argument = all.emplace_back(Argument{option, {}, {}});
    for (std::string const& name : option->get_lnames()) argument.names.push_back("--" + name);
    for (std::string const& name : option->get_snames()) argument.names.push_back("-" + name);
    bool const is_flag = option->get_items_expected_max() == 0;
    if (!is_flag) argument.value = option->get_type_name();
    argument.repeats = option->get_items_expected_max() > 1;
    // What a check allows stands behind the name.
    argument.value = argument.value.substr(0, argument.value.find(':'));
  }
  for (CLI::App const* group : command.get_subcommands([](CLI::App const*) { return true; })) {
    if (!group->get_name().empty()) continue;
    for (Argument const& argument : arguments_of(*group)) all.push_back(argument);
  }
  return all;
}

std::vector<CLI::App const*> commands_of(CLI::App const& app) {
  std::vector<CLI::App const*> all;
  for (CLI::App const* command : app.get_subcommands([](CLI::App const*) { return true; })) {
    if (!command->get_name().empty()) all.push_back(command);
  }
  return all;
}

Words names_of(std::vector<Argument> const& arguments) {
  Words all;
  for (Argument const& argument : arguments)
    all.insert(all.end(), argument.names.begin(), argument.names.end());
  return all;
}

/// What a key may be set to, by what words_of() calls it; other keys have no words.
constexpr std::pair<std::string_view, std::string_view> kValues[]{
    {"variant", "VARIANT"}, {"type", "TYPE"}, {"transport", "TRANSPORT"}};

Words variants_of(measure::WorkloadEntry const& entry) {
  Words words{"best", "all"};
  for (std::string_view const name : entry.schema.variants) add_new(words, name);
  return words;
}

/// Words of a value, each a word of the shell: in quotes what has blanks.
std::string quoted_words(Words const& words) {
  Words quoted;
  for (std::string const& word : words) quoted.push_back(shell_word(word));
  return fmt::format("{}", fmt::join(quoted, " "));
}

// bash

/// The lines that offer what a value may be: words, else files.
std::string bash_offer(std::string_view value) {
  Words const words = words_of(value);
  if (words.empty())
    return "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")";
  std::string const space = value == "KEY=VALUE" ? "compopt -o nospace; " : "";
  Words plain;
  // One word of the shell each: what has blanks is not offered.
  std::ranges::copy_if(words, std::back_inserter(plain),
                       [](std::string const& word) { return word.find(' ') == word.npos; });
  return fmt::format("{}mapfile -t COMPREPLY < <(compgen -W {} -- \"$cur\")", space,
                     shell_word(fmt::format("{}", fmt::join(plain, " "))));
}

std::string bash_words(Words const& words) {
  return fmt::format("mapfile -t COMPREPLY < <(compgen -W {} -- \"$cur\")",
                     shell_word(fmt::format("{}", fmt::join(words, " "))));
}

/// The values of the key before "=", which is a word of its own for bash.
std::string bash_values() {
  std::string text = "    case ${key##*.}:$workload in\n";
  for (measure::WorkloadEntry const* entry : workloads::workloads()) {
    text += fmt::format("      variant:{}) {} ;;\n", entry->schema.name,
                        bash_words(variants_of(*entry)));
  }
  for (auto const& [key, value] : kValues) {
    text += fmt::format("      {}:*) {} ;;\n", key, bash_words(words_of(value)));
  }
  return text + "    esac\n";
}

/// What arguments without names may be, by their place.
std::string bash_places(std::vector<Argument> const& arguments) {
  std::string text;
  int place = 0;
  for (Argument const& argument : arguments) {
    if (!argument.names.empty()) continue;
    text += fmt::format("{}) {} ;; ", argument.repeats ? "*" : fmt::to_string(place++),
                        bash_offer(argument.value));
  }
  return text.empty() ? "" : fmt::format("case $place in {}esac", text);
}

std::string bash_completion(CLI::App const& app) {
  std::vector<CLI::App const*> const commands = commands_of(app);
  Words names;
  for (CLI::App const* command : commands) names.push_back(command->get_name());
  Words first = names;
  for (std::string const& name : names_of(arguments_of(app))) first.push_back(name);

  Words valued;        // patterns of options that take a value
  std::string offers;  // of these
  for (CLI::App const* command : commands) {
    for (Argument const& argument : arguments_of(*command)) {
      if (argument.names.empty() || argument.value.empty()) continue;
      Words patterns;
      for (std::string const& name : argument.names)
        patterns.push_back(command->get_name() + ":" + name);
      offers += fmt::format("    {}) {}; return ;;\n", fmt::join(patterns, "|"),
                            bash_offer(argument.value));
      valued.insert(valued.end(), patterns.begin(), patterns.end());
    }
  }

  std::string text =
      "# Completion of quadrille for bash; source it, or install it under "
      "bash-completion/completions.\n";
  text += "_quadrille() {\n";
  text +=
      "  local cur=${COMP_WORDS[COMP_CWORD]} last='' before='' option='' command='' workload='' "
      "key=''\n"
      "  local place=0 word\n";
  text += "  COMPREPLY=()\n";
  text += "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n";
  text += "    [[ $word != -* ]] || option=$word\n";
  text += "    [[ $option != --case || $word == [-=]* ]] || workload=$word\n";
  text += "    key=''\n";
  text += "    if [[ $word == = ]]; then key=$last; fi\n";
  text += "    if [[ $word == = || $last == = ]]; then before='' last=$word; continue; fi\n";
  text += "    case $command:$before in\n";
  text +=
      fmt::format("      :*) case $word in {}) command=$word ;; esac ;;\n", fmt::join(names, "|"));
  text += fmt::format("      {}) ;;\n", fmt::join(valued, "|"));
  text += "      *) [[ $word == -* ]] || ((place += 1)) ;;\n";
  text += "    esac\n    before=$word last=$word\n";
  text += "  done\n";
  text += "  if [[ $cur == = ]]; then cur='' key=$last; fi\n";
  text += "  if [[ $key == -* ]]; then\n    before=$key\n";
  text += "  elif [[ -n $key ]]; then\n" + bash_values() + "    return\n  fi\n";
  text += "  case $command:$before in\n" + offers + "  esac\n  case $command in\n";
  text += fmt::format("    '') {} ;;\n", bash_words(first));
  for (CLI::App const* command : commands) {
    std::vector<Argument> const arguments = arguments_of(*command);
    std::string const options = bash_words(names_of(arguments)), places = bash_places(arguments);
    text += fmt::format("    {}) if [[ $cur == -* ]]; then {}; ", command->get_name(), options);
    text += fmt::format("else {}; fi ;;\n", places.empty() ? options : places);
  }
  return text + "  esac\n}\ncomplete -F _quadrille quadrille\n";
}

// zsh

/// Within a specification of _arguments, in single quotes.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (char const c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (std::string_view{"[]:\\"}.find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string zsh_action(std::string_view value) {
  Words const words = words_of(value);
  if (words.empty()) return "_files";
  Words escaped;
  for (std::string const& word : words) {
    std::string one;
    for (char const c : word) {
      if (std::string_view{" :()\\'\"%"}.find(c) != std::string_view::npos)
        one += c == '\'' ? "'\\'" : "\\";
      one += c;
    }
    escaped.push_back(one);
  }
  bool const takes_more = value == "KEY=VALUE";  // the beginning of a word that continues
  return takes_more ? fmt::format("->settings") : fmt::format("({})", fmt::join(escaped, " "));
}

std::string zsh_completion(CLI::App const& app) {
  std::string text =
      "#compdef quadrille\n# Completion of quadrille for zsh; install it as _quadrille in a folder "
      "of $fpath.\n\n";
  text +=
      "_quadrille() {\n  local -a commands settings\n  local state context line\n  commands=(\n";
  for (CLI::App const* command : commands_of(app)) {
    text += fmt::format("    '{}:{}'\n", command->get_name(), zsh_text(command->get_description()));
  }
  text += "  )\n";
  text += fmt::format("  settings=({})\n", quoted_words(settings()));
  text +=
      "  if (( CURRENT == 2 )); then\n    _describe -t commands command commands\n    return\n  "
      "fi\n";
  text += "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n";
  for (CLI::App const* command : commands_of(app)) {
    text += fmt::format("    {}) _arguments", command->get_name());
    for (Argument const& argument : arguments_of(*command)) {
      std::string const help = zsh_text(argument.option->get_description());
      std::string const value =
          argument.value.empty()
              ? ""
              : fmt::format(":{}:{}", zsh_text(argument.value), zsh_action(argument.value));
      if (argument.names.empty()) {
        text += fmt::format(" \\\n      '{}{}'", argument.repeats ? "*" : "", value);
      }
      for (std::string const& name : argument.names) {
        text +=
            fmt::format(" \\\n      '{}{}[{}]{}'", argument.repeats ? "*" : "", name, help, value);
      }
    }
    text += " ;;\n";
  }
  text += "  esac\n  [[ $state == settings ]] || return\n";
  text += "  local workload=${words[${words[(I)--case]} + 1]}\n";
  text += "  if compset -P '(*.|)variant='; then\n    case $workload in\n";
  for (measure::WorkloadEntry const* entry : workloads::workloads()) {
    text += fmt::format("      {}) compadd {} ;;\n", entry->schema.name,
                        quoted_words(variants_of(*entry)));
  }
  text += fmt::format("      *) compadd {} ;;\n    esac\n", quoted_words(words_of("VARIANT")));
  for (auto const& [key, value] : kValues) {
    if (value == "VARIANT") continue;
    text += fmt::format("  elif compset -P '(*.|){}='; then\n    compadd {}\n", key,
                        quoted_words(words_of(value)));
  }
  text += "  else\n    compadd -S '' -a settings\n  fi\n}\n\n";
  return text + "compdef _quadrille quadrille\n";
}

// The manual

/// Text of a manual: what roff would take for a command or an escape is not one.
std::string roff(std::string_view text) {
  std::string out;
  bool begins_line = true;
  for (char const c : text) {
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    begins_line = c == '\n';
  }
  return out;
}

/// As it stands, line by line.
std::string verbatim(std::string_view text) { return fmt::format(".nf\n{}\n.fi\n", roff(text)); }

std::string manual_of(CLI::App const& command, std::string const& name) {
  std::string text = fmt::format(".SS {}\n{}\n", roff(name), roff(command.get_description()));
  for (Argument const& argument : arguments_of(command)) {
    std::string const value =
        argument.value.empty() ? "" : fmt::format(" \\fI{}\\fR", roff(argument.value));
    std::string const names = roff(fmt::format("{}", fmt::join(argument.names, ", ")));
    text += fmt::format(".TP\n{}\n{}\n",
                        names.empty() ? fmt::format("\\fI{}\\fR", roff(argument.value))
                                      : fmt::format("\\fB{}\\fR{}", names, value),
                        roff(argument.option->get_description()));
    Words const words = words_of(argument.value);
    if (!words.empty() && words.size() <= 20)
      text += fmt::format("(one of {})\n", roff(fmt::format("{}", fmt::join(words, ", "))));
  }
  std::string const footer = command.get_footer();
  if (!footer.empty()) text += ".PP\n" + verbatim(footer);
  return text;
}

std::string manual(CLI::App const& app) {
  std::string text =
      fmt::format(".TH QUADRILLE 1 \"\" \"quadrille {}\" \"User Commands\"\n", roff(version()));
  text += fmt::format(
      ".SH NAME\nquadrille \\- {}\n",
      roff("measure whether a machine for HPC computes, moves and overlaps as it should"));
  text +=
      ".SH SYNOPSIS\n\\fBquadrille\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...]\n.br\n"
      "\\fBmpirun \\-n\\fR \\fIRANKS\\fR \\fBquadrille run\\fR \\fIFILE\\fR\n";
  text += fmt::format(".SH DESCRIPTION\n{}\n", roff(app.get_description()));
  text += ".SH COMMANDS\n";
  for (CLI::App const* command : commands_of(app)) text += manual_of(*command, command->get_name());
  for (report::Term const* subject : report::terms_of("subject")) {
    std::string heading{subject->name};
    std::ranges::transform(heading, heading.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    text += fmt::format(".SH {}\n{}", roff(heading), verbatim(subject->meaning));
  }
  return text;
}

}  // namespace

std::vector<std::string> words_of(std::string_view value) {
  Words words;
  if (value == "WORKLOAD" || value == "OPERATION") {
    for (measure::WorkloadEntry const* entry : workloads::workloads()) {
      if (value == "WORKLOAD" || entry->schema.keys.config) words.emplace_back(entry->schema.name);
    }
  } else if (value == "TYPE") {
    for (auto const& [type, word] : enum_names(core::DataType{})) words.emplace_back(word);
  } else if (value == "FORM") {
    for (auto const& [form, word] : enum_names(ReportForm{})) words.emplace_back(word);
  } else if (value == "CASE") {
    words = words_of("WORKLOAD");  // what cases are called that nobody has named
  } else if (value == "VARIANT") {
    for (measure::WorkloadEntry const* entry : workloads::workloads()) {
      for (std::string const& name : variants_of(*entry)) add_new(words, name);
    }
  } else if (value == "TRANSPORT") {
    words = {"auto", "all"};
    for (std::string_view const name : comm::selectable_transports()) add_new(words, name);
  } else if (value == "FAULT") {
    for (auto const& [fault, word] : enum_names(measure::Fault{})) {
      if (fault != measure::Fault::none) words.emplace_back(word);
    }
  } else if (value == "JUDGE") {
    for (auto const& [judge, word] : enum_names(check::Judge{})) {
      if (judge != check::Judge::measurement) words.emplace_back(word);
    }
  } else if (value == "NAME") {
    for (Topic const& topic : topics()) add_new(words, topic.name);
  } else if (value == "KEY=VALUE") {
    words = settings();
  } else if (value == "TABLE") {
    words = {"workloads",  "variants", "inputs",   "sources",
             "transports", "metrics",  "counters", "faults"};
  } else if (value == "DEVICE") {
    words = device::names_of_known_devices();
    words.emplace_back("list");
  } else if (value == "CONDITION") {
    words = {"device"};
  } else if (value == "SHELL") {
    words = {"bash", "zsh"};
  } else if (value == "RUNTIME") {
    words = {"apptainer", "pyxis"};
  }
  return words;
}

std::string word_problem(std::string const& word, std::string_view value) {
  Words const words = words_of(value);
  if (std::ranges::find(words, word) != words.end()) return {};
  return fmt::format("'{}' is none of {}{}", word, fmt::join(words, ", "),
                     core::suggestion(word, words));
}

std::string usage_problem(CLI::App const& app, std::string const& what) {
  std::vector<CLI::App*> const chosen = app.get_subcommands();
  CLI::App const& command = chosen.empty() ? app : *chosen.front();
  std::string problem = what;
  if (Words const unknown = app.remaining(true); !unknown.empty()) {
    std::string const word = unknown.front().substr(0, unknown.front().find('='));
    bool const is_option = word.starts_with('-');
    Words names = names_of(arguments_of(command));
    if (!is_option) {
      names.clear();
      if (chosen.empty())
        for (CLI::App const* one : commands_of(app)) names.push_back(one->get_name());
    }
    problem = fmt::format("{} '{}'{}",
                          is_option        ? "unknown option"
                          : chosen.empty() ? "unknown command"
                                           : "unexpected argument",
                          word, core::suggestion(word, names));
  }
  std::string const name = chosen.empty() ? "" : " " + command.get_name();
  return fmt::format("{}; `quadrille{} --help` shows what there is", problem, name);
}

std::string fitted_help(std::string_view text, std::size_t width) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const end = std::min(text.find('\n', at), text.size());
    std::string_view const line = text.substr(at, end - at);
    // The text stands behind the name and two blanks, or where the line begins.
    std::size_t const begin = std::min(line.find_first_not_of(' '), line.size());
    std::size_t const gap = line.find("  ", begin);
    std::size_t hang = gap == line.npos ? begin : line.find_first_not_of(' ', gap);
    if (hang == line.npos || hang > width / 2) hang = begin;
    std::string head{line.substr(0, hang)};
    for (std::string const& part :
         report::wrap(line.substr(hang), width - hang, report::LongWords::keep)) {
      out += (head + part).substr(0, (head + part).find_last_not_of(' ') + 1) + '\n';
      head.assign(hang, ' ');
    }
    at = end + 1;
  }
  return out;
}

CLI::Option* one_of(CLI::Option* option, std::string const& value) {
  return option->type_name(value)->check(
      [value](std::string const& word) { return word_problem(word, value); });
}

void add_sets(CLI::App& command, std::vector<std::string>& sets, std::string const& text) {
  command.add_option("--set", sets, text)->type_name("KEY=VALUE")->allow_extra_args(false);
}

CLI::Option* add_only(CLI::App& command, std::vector<std::string>& names, std::string const& text) {
  return command.add_option("--only", names, text)
      ->type_name("CASE")
      ->delimiter(',')
      ->allow_extra_args(false);
}

/// What makes a shell complete commands, options and their values.
void add_completion(CLI::App& app, Action& action) {
  auto const shell = std::make_shared<std::string>();
  CLI::App* const command = app.add_subcommand(
      "completion", "Print what makes a shell complete commands, options and their values");
  one_of(command->add_option("shell", *shell, "bash | zsh"), "SHELL")->required();
  command->footer("Example: source <(quadrille completion bash)");
  command->callback([&, shell] {
    action = [&app, shell](int&, char**&) {
      core::print("{}", *shell == "zsh" ? zsh_completion(app) : bash_completion(app));
      return core::Exit::pass;
    };
  });
}

/// The manual page, in roff.
void add_manual(CLI::App& app, Action& action) {
  CLI::App* const command = app.add_subcommand("man", "Print the manual page");
  command->footer("Example: quadrille man | man -l -");
  command->callback([&] {
    action = [&app](int&, char**&) {
      core::print("{}", manual(app));
      return core::Exit::pass;
    };
  });
}

}  // namespace quadrille::commands
