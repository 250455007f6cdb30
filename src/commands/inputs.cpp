// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/inputs.hpp"

#include "commands/launch_line.hpp"
#include "core/files.hpp"
#include "workloads/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace quadrille::commands {
namespace {

namespace fs = std::filesystem;

/// Beside the program or above it: as inputs in a repository or a bundle, in share where it is installed.
fs::path folder_of_inputs() {
  std::error_code none;
  fs::path const program = fs::path{program_path()};
  for (fs::path folder = program.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    for (char const* const inner : {"inputs", "share/quadrille/inputs"}) {
      if (fs::is_regular_file(folder / inner / "quickstart.toml", none)) return folder / inner;
    }
  }
  return {};
}

}  // namespace

core::Parsed<std::vector<ShippedInput>> shipped_inputs() {
  using Result = core::Parsed<std::vector<ShippedInput>>;
  fs::path const folder = folder_of_inputs();
  if (folder.empty()) {
    return Result::error("there is no folder 'inputs' beside this program or above it");
  }
  std::vector<ShippedInput> inputs;
  for (fs::directory_entry const& entry : fs::directory_iterator{folder}) {
    std::string const path = entry.path().string();
    if (entry.path().extension() != ".toml") continue;
    core::Parsed<std::string> const text = core::read_file(path, core::kMaxConfigBytes);
    if (!text) return Result::error(fmt::format("{}: {}", path, text.why()));
    core::Parsed<core::Config> const config =
        core::resolve(*text, path, {}, workloads::name_table());
    if (!config) return Result::error(config.why());
    if (!config->about) return Result::error(fmt::format("{}: there is no [about]", path));
    inputs.push_back({entry.path().stem().string(), path, *config->about});
  }
  std::ranges::sort(inputs, {}, &ShippedInput::name);
  return inputs;
}

}  // namespace quadrille::commands
