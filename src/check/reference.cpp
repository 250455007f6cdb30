// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "check/reference.hpp"

#include "core/config.hpp"
#include "core/stats.hpp"
#include "core/text.hpp"
#include "core/toml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::check {

/// In a file that is made of reference.toml.
std::string_view shipped_table();

namespace {

std::string read_expected(std::string_view key, toml::node const& node, Expected& expected) {
  toml::table const* const table = node.as_table();
  auto const number = [&](std::string_view name, double otherwise) {
    return table == nullptr || !table->contains(name)
               ? otherwise
               : (*table)[name].value<double>().value_or(std::nan(""));
  };
  expected.median = number("median", std::nan(""));
  expected.band = number("band", expected.band);
  bool const is_whole = expected.median > 0 && std::isfinite(expected.median) &&
                        expected.band > 0 && expected.band < 1;
  if (!is_whole) {
    return fmt::format("{}: needs {{ median = a rate above 0, band = a share between 0 and 1 }}",
                       key);
  }
  for (auto const& [name, value] : *table) {
    if (name.str() == "median" || name.str() == "band") continue;
    return fmt::format("{}: '{}' is neither median nor band", key, name.str());
  }
  return {};
}

/// Why a table is none of a device; empty where it is one.
std::string read_device(toml::table const& table, Reference& reference) {
  std::optional<std::string> const model = table["model"].value<std::string>();
  if (!model || model->empty()) return "a device needs a model = \"NAME\"";
  auto const [place, is_new] = reference.try_emplace(*model);
  if (!is_new) return fmt::format("device {} stands twice", core::quote(*model));
  for (auto const& [key, node] : table) {
    std::string const name{key.str()};
    if (name == "model" || name == "measured") continue;
    Metric const* const metric = find_metric(name);
    if (metric == nullptr) {
      std::vector<std::string> names;
      for (Metric const& one : metrics()) names.emplace_back(one.name);
      return fmt::format("'{}' is no metric{}", name,
                         core::suggestion(name, names, "; `quadrille explain check` has them all"));
    }
    Expected& expected = place->second[metric];
    expected.band = metric->band;
    std::string const why = read_expected(name, node, expected);
    if (!why.empty()) return why;
  }
  return {};
}

}  // namespace

core::Parsed<Reference> read_reference(std::string_view text, std::string_view origin) {
  auto const problem = [&](std::int64_t line, std::string_view why) {
    return core::Parsed<Reference>::error(line > 0 ? fmt::format("{}:{}: {}", origin, line, why)
                                                   : fmt::format("{}: {}", origin, why));
  };
  core::SyntaxError const syntax = core::find_syntax_error(text);
  if (syntax.line > 0) return problem(syntax.line, syntax.why);
  toml::parse_result const parsed = toml::parse(text);
  if (!parsed) {
    return problem(parsed.error().source().begin.line, parsed.error().description());
  }
  Reference reference;
  for (auto const& [key, node] : parsed.table()) {
    if (key.str() != "device" || !node.is_array_of_tables()) {
      return problem(
          node.source().begin.line,
          fmt::format("'{}' is no [[device]], of which alone a table consists", key.str()));
    }
    for (toml::node const& device : *node.as_array()) {
      std::string const why = read_device(*device.as_table(), reference);
      if (!why.empty()) return problem(device.source().begin.line, why);
    }
  }
  if (reference.empty()) return problem(0, "has no [[device]]");
  return reference;
}

Reference shipped_reference() { return *read_reference(shipped_table(), "the shipped table"); }

std::string reference_of(std::vector<Subject> const& subjects, std::string_view measured) {
  std::map<std::string, std::map<Metric const*, std::vector<double>>> values;
  for (Subject const& subject : subjects) {
    for (Reading const& reading : subject.readings) {
      if (!reading.wrong.empty() || !(reading.value > 0)) continue;
      values[subject.model][reading.metric].push_back(reading.value);
    }
  }
  constexpr double kMargin = 1.25;  // others differ by more than those that were measured
  std::string text;
  for (auto const& [model, by_metric] : values) {
    text += fmt::format("[[device]]\nmodel = {}\nmeasured = {}\n", core::quote(model),
                        core::quote(std::string{measured}));
    for (Metric const& metric : metrics()) {
      auto const found = by_metric.find(&metric);
      if (found == by_metric.end()) continue;
      core::Summary const all = core::summarize(found->second);
      // As a share of the median; a rate may be so much below it, a time above.
      double const width =
          metric.lower_is_better() ? 1 - all.median / all.max : 1 - all.min / all.median;
      text += fmt::format("{} = {{ median = {:.4e}, band = {:.3f} }}\n", metric.name, all.median,
                          std::clamp(kMargin * width, metric.band, 0.9));
    }
    text += '\n';
  }
  return text;
}

}  // namespace quadrille::check
