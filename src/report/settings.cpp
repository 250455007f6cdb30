// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/settings.hpp"

#include "workloads/registry.hpp"

#include <algorithm>
#include <iterator>

namespace quadrille::report {
namespace {

/// Columns tell them, or, as of published figures, they change nothing.
constexpr std::string_view kElsewhere[]{"size",   "type",      "variant",
                                        "config", "transport", "published"};

}  // namespace

std::string value_of(core::Option const& option, core::Case const& spec) {
  core::OptionTarget target{.run = {}, .spec = spec};
  std::string const toml = core::written(option, option.get(target));
  bool const is_quoted = toml.size() >= 2 && toml.front() == '"' && toml.back() == '"';
  return is_quoted ? toml.substr(1, toml.size() - 2) : toml;
}

std::vector<std::pair<std::string, std::string>> settings_of(measure::Record const& record) {
  if (!record.spec) return {{"case", record.name}};
  core::Case const& spec = *record.spec;
  core::Case preset;
  preset.workload = spec.workload;
  preset.parameters = spec.workload->defaults;
  std::vector<std::pair<std::string, std::string>> settings;
  for (core::Option const* option : core::options_of(*spec.workload)) {
    bool const is_elsewhere = std::ranges::find(kElsewhere, option->key) != std::end(kElsewhere);
    if (!option->sweeps || is_elsewhere) continue;
    std::string value = value_of(*option, spec);
    if (value != value_of(*option, preset)) settings.emplace_back(option->key, std::move(value));
  }
  return settings;
}

kernels::VariantInfo const* row_of(measure::Record const& record) {
  for (measure::WorkloadEntry const* entry : workloads::workloads()) {
    if (entry->schema.name != record.workload) continue;
    auto const row =
        std::ranges::find(entry->variants, record.variant, &kernels::VariantInfo::name);
    if (row != entry->variants.end()) return *row;
  }
  return nullptr;
}

}  // namespace quadrille::report
