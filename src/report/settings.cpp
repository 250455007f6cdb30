// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/settings.hpp"

#include "workloads/registry.hpp"

#include <algorithm>

namespace quadrille::report {
std::string value_of(core::Option const& option, core::Case const& spec) {
  core::OptionTarget target{.run = {}, .spec = spec};
  std::string const toml = core::written(option, option.get(target));
  bool const is_quoted = toml.size() >= 2 && toml.front() == '"' && toml.back() == '"';
  return is_quoted ? toml.substr(1, toml.size() - 2) : toml;
}

std::vector<std::pair<std::string, std::string>> settings_of(measure::Record const& record) {
  if (!record.spec) return {{"case", record.name}};
  // Columns tell the others.
  core::Case const spec =
      without<&core::Case::size, &core::Case::type, &core::Case::config, &core::Case::transport>(
          *record.spec);
  core::Case preset;
  preset.workload = spec.workload;
  preset.parameters = spec.workload->defaults;
  std::vector<std::pair<std::string, std::string>> settings;
  for (core::Option const* option : core::options_of(*spec.workload)) {
    if (!option->sweeps) continue;
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
