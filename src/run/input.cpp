// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "run/input.hpp"

#include "core/process.hpp"
#include "core/text.hpp"
#include "run/rerun.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace quadrille::run {
namespace {

/// The text of the input, or why there is none.
core::Parsed<std::string> read_text(Input const& input) {
  using Result = core::Parsed<std::string>;
  if (!input.rerun.empty()) return earlier_config(input.rerun, input.rerun_case);
  if (!input.workload.empty())
    return fmt::format("[[case]]\nworkload = {}\n", core::quote(input.workload));
  if (input.file.empty()) return Result::error("run needs an input file, or --case WORKLOAD");
  std::ifstream file{input.file};
  // As much as resolve() takes and a bit more, of which it says so: /dev/zero has no end.
  std::string text;
  for (std::string part(1 << 16, '\0'); file && text.size() <= core::kMaxConfigBytes;) {
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    text.append(part, 0, static_cast<std::size_t>(file.gcount()));
  }
  if (text.empty()) {
    return Result::error(fmt::format(
        "cannot read '{}'; name a TOML file, for example inputs/quickstart.toml", input.file));
  }
  return text;
}

/// "sizes" for "sizes.3", one of the cases that a sweep makes.
std::string_view name_in_file(std::string_view name) {
  std::size_t const dot = name.rfind('.');
  bool const swept = dot != name.npos && name.find_first_not_of("0123456789", dot + 1) == name.npos;
  return swept ? name.substr(0, dot) : name;
}

}  // namespace

core::Parsed<core::Config> read_input(Input const& input) {
  core::Parsed<std::string> const text = read_text(input);
  if (!text) return core::Parsed<core::Config>::error(text.why());
  bool const bare = !input.workload.empty();
  std::string const origin = bare                   ? "--case"
                             : !input.rerun.empty() ? "configuration of " + input.rerun
                                                    : input.file;
  std::vector<std::string> notes;
  core::Parsed<core::Config> config =
      core::resolve(*text, origin, input.sets, workloads::name_table(), bare, &notes);
  for (std::string const& note : notes) core::print_error("note: {}\n", note);
  return config;
}

core::Parsed<core::Config> cases_for(core::Config const& resolved, Input const& input, int ranks) {
  core::Parsed<core::Config> config = core::expand_grids(resolved, ranks);
  if (!config) return config;
  config = keep_only(*config, input.only);
  if (!config) return config;
  for (core::Case const& spec : config->cases) {
    auto const file_problem = workloads::entry_of(*spec.workload).file_problem;
    std::string const why = file_problem == nullptr ? "" : file_problem(spec);
    if (!why.empty()) {
      return core::Parsed<core::Config>::error(fmt::format("case '{}': {}", spec.name, why));
    }
  }
  return config;
}

core::Parsed<std::vector<bool>> chosen_by(std::vector<std::string> const& only,
                                          std::vector<CaseName> const& cases) {
  std::vector<bool> is_chosen(cases.size(), only.empty());
  for (std::string const& name : only) {
    bool is_known = false;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      auto const& [case_name, workload] = cases[i];
      if (name == case_name || name == name_in_file(case_name) || name == workload) {
        is_chosen[i] = is_known = true;
      }
    }
    if (is_known) continue;
    std::vector<std::string> names;
    for (auto const& [case_name, workload] : cases) {
      for (std::string_view const known : {case_name, name_in_file(case_name), workload}) {
        names.emplace_back(known);
      }
    }
    return core::Parsed<std::vector<bool>>::error(fmt::format(
        "--only: no case or workload here is called '{}'{}", name, core::suggestion(name, names)));
  }
  return is_chosen;
}

core::Parsed<core::Config> keep_only(core::Config config, std::vector<std::string> const& only) {
  std::string const why = keep_only<core::Case>(config.cases, only, [](core::Case const& spec) {
    return CaseName{spec.name, spec.workload->name};
  });
  if (!why.empty()) return core::Parsed<core::Config>::error(why);
  return config;
}

core::Parsed<core::Config> read_config(comm::World const& world, Input const& input) {
  // The resolved text is an input file itself, so it is what travels.
  std::string text, error;
  if (world.rank() == 0) {
    core::Parsed<core::Config> config = read_input(input);
    if (config) config = cases_for(*config, input, world.size());
    (config ? text : error) = config ? core::to_toml(*config) : config.why();
  }
  world.group().broadcast(error);
  world.group().broadcast(text);
  if (!error.empty()) return core::Parsed<core::Config>::error(error);
  return core::resolve(text, "resolved configuration", {}, workloads::name_table());
}

}  // namespace quadrille::run
