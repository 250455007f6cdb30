// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/settings.hpp"

#include "core/options.hpp"
#include "workloads/registry.hpp"

#include <algorithm>
#include <array>

namespace quadrille::report {
namespace {

/// Columns tell them, or, as of published figures, they change nothing.
constexpr std::string_view kElsewhere[]{"size",   "type",      "variant",
                                        "config", "transport", "published"};

std::string unquoted(std::string const& toml) {
  bool const is_quoted = toml.size() >= 2 && toml.front() == '"' && toml.back() == '"';
  return is_quoted ? toml.substr(1, toml.size() - 2) : toml;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> settings_of(measure::Record const& record,
                                                             std::span<std::string const> always) {
  // The record says which variant it is; others of its case may be gone since.
  std::array<std::string, 1> const any_variant{"variant=best"};
  auto const read =
      core::resolve(record.config, "its configuration", any_variant, workloads::name_table(), true);
  if (!read || read->cases.empty()) return {{"case", record.name}};
  core::Case const& spec = read->cases.front();
  core::OptionTarget draft{.run = {}, .spec = spec};
  std::vector<std::pair<std::string, std::string>> settings;
  for (core::Option const* option : core::options_of(*spec.workload)) {
    bool const is_elsewhere = std::ranges::find(kElsewhere, option->key) != std::end(kElsewhere);
    if (!option->sweeps || is_elsewhere) continue;
    std::string const value = option->get(draft);
    bool const is_wanted = std::ranges::find(always, option->key) != always.end();
    if (is_wanted || value != core::default_of(*option, *spec.workload)) {
      settings.emplace_back(option->key, unquoted(core::written(*option, value)));
    }
  }
  return settings;
}

}  // namespace quadrille::report
