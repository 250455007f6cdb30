// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/tunable.hpp"

#include <fmt/format.h>

#include <charconv>

namespace quadrille::kernels {
namespace {

std::string names_of(Tunable const& tunable) {
  std::string names;
  for (TunedParameter const& parameter : tunable.parameters) {
    names += fmt::format("{}{}=", names.empty() ? "" : ",", parameter.name);
  }
  return names;
}

}  // namespace

std::string to_text(Tunable const& tunable, Configuration const& configuration) {
  std::string text;
  for (std::size_t i = 0; i < configuration.count; ++i) {
    text += fmt::format("{}{}={}", i == 0 ? "" : ",", tunable.parameters[i].name, configuration[i]);
  }
  return text;
}

core::Parsed<Configuration> parse_configuration(Tunable const& tunable, std::string_view text) {
  using Result = core::Parsed<Configuration>;
  auto const malformed = [&] {
    return Result::error(fmt::format("'{}' is no configuration; write {} with a number each", text,
                                     names_of(tunable)));
  };
  Configuration configuration;
  std::array<bool, 12> is_given{};
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view const item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    std::size_t const sign = std::min(item.find('='), item.size());
    std::size_t i = 0;
    while (i < tunable.parameters.size() && tunable.parameters[i].name != item.substr(0, sign)) ++i;
    if (i == tunable.parameters.size() || is_given[i] || sign == item.size()) return malformed();
    char const* const end = item.data() + item.size();
    auto const [next, problem] =
        std::from_chars(item.data() + sign + 1, end, configuration.values[i]);
    if (problem != std::errc{} || next != end) return malformed();
    is_given[i] = true;
    ++configuration.count;
  }
  if (configuration.count != tunable.parameters.size()) return malformed();
  return configuration;
}

std::string illegal_reason(Tunable const& tunable, Configuration const& configuration,
                           int compute_capability) {
  std::optional<device::BlockNeeds> const needs = tunable.needs(configuration);
  if (!needs) {
    return fmt::format("does not allow {}: {}", to_text(tunable, configuration), tunable.rule);
  }
  device::Multiprocessor const offered = device::multiprocessor(compute_capability);
  if (offered.threads == 0 || device::resident_blocks(offered, *needs) > 0) return {};
  return fmt::format(
      "needs {} threads of about {} registers and {} of shared memory for {}, which no "
      "multiprocessor of this device has",
      needs->threads, needs->registers,
      core::format_bytes(static_cast<double>(needs->shared_bytes)),
      to_text(tunable, configuration));
}

std::vector<Configuration> legal_configurations(Tunable const& tunable, int compute_capability) {
  std::vector<Configuration> all{Configuration{}};
  for (TunedParameter const& parameter : tunable.parameters) {
    std::vector<Configuration> longer;
    for (Configuration configuration : all) {
      ++configuration.count;
      for (int const value : parameter.values) {
        configuration.values[configuration.count - 1] = value;
        longer.push_back(configuration);
      }
    }
    all = std::move(longer);
  }
  std::erase_if(all, [&](Configuration const& configuration) {
    return !illegal_reason(tunable, configuration, compute_capability).empty();
  });
  return all;
}

}  // namespace quadrille::kernels
