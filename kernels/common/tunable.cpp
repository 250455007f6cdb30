// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/tunable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace quadrille::kernels {
namespace {

/// "BM=,BN=,MODE=none|all"
std::string names_of(Tunable const& tunable) {
  std::string names;
  for (TunedParameter const& parameter : tunable.parameters) {
    names += fmt::format("{}{}={}", names.empty() ? "" : ",", parameter.name,
                         fmt::join(parameter.words, "|"));
  }
  return names;
}

/// Of a number, or of a word where the parameter has words.
bool read_value(TunedParameter const& parameter, std::string_view text, int& value) {
  if (!parameter.words.empty()) {
    auto const found = std::ranges::find(parameter.words, text);
    value = static_cast<int>(found - parameter.words.begin());
    return found != parameter.words.end();
  }
  char const* const end = text.data() + text.size();
  auto const [next, problem] = std::from_chars(text.data(), end, value);
  return problem == std::errc{} && next == end;
}

}  // namespace

std::string to_arguments(Configuration const& configuration) {
  return fmt::format("{}", fmt::join(configuration.values.begin(),
                                     configuration.values.begin() + configuration.count, ", "));
}

std::string to_text(Tunable const& tunable, Configuration const& configuration) {
  std::string text;
  for (std::size_t i = 0; i < configuration.count; ++i) {
    TunedParameter const& parameter = tunable.parameters[i];
    auto const word = static_cast<std::size_t>(configuration[i]);
    text += fmt::format("{}{}=", i == 0 ? "" : ",", parameter.name);
    text += word < parameter.words.size() ? std::string{parameter.words[word]}
                                          : fmt::format("{}", configuration[i]);
  }
  return text;
}

core::Parsed<Configuration> parse_configuration(Tunable const& tunable, std::string_view text) {
  using Result = core::Parsed<Configuration>;
  auto const malformed = [&] {
    return Result::error(fmt::format("'{}' is no configuration; write some of {} with a value each",
                                     text, names_of(tunable)));
  };
  Configuration configuration = tunable.preset;
  std::array<bool, 12> is_given{};
  std::string_view rest = text;
  do {
    std::string_view const item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    std::size_t const sign = std::min(item.find('='), item.size());
    std::size_t i = 0;
    while (i < tunable.parameters.size() && tunable.parameters[i].name != item.substr(0, sign)) ++i;
    bool const is_new = i < tunable.parameters.size() && !is_given[i] && sign < item.size();
    if (!is_new ||
        !read_value(tunable.parameters[i], item.substr(sign + 1), configuration.values[i])) {
      return malformed();
    }
    is_given[i] = true;
  } while (!rest.empty());
  return configuration;
}

std::string illegal_reason(Tunable const& tunable, Configuration const& configuration,
                           ProblemKind const& kind, int compute_capability) {
  std::optional<device::BlockNeeds> const needs = tunable.needs(configuration, kind);
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

std::vector<Configuration> legal_configurations(Tunable const& tunable, ProblemKind const& kind,
                                                int compute_capability) {
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
    return !illegal_reason(tunable, configuration, kind, compute_capability).empty();
  });
  return all;
}

}  // namespace quadrille::kernels
