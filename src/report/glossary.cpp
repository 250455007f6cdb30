// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "report/glossary.hpp"

#include "workloads/registry.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quadrille::report {
namespace {

/// "## verdict" begins a kind, "- `PASS`: " and "- `median` [s]: " an entry.
std::vector<Term> parsed(std::string_view text) {
  constexpr std::string_view kKind = "\n## ", kEntry = "\n- `";
  std::vector<Term> terms;
  for (std::size_t at = text.find(kKind); at != text.npos;) {
    std::size_t const end = text.find(kKind, at + 1);
    std::string_view section = text.substr(0, end).substr(at + kKind.size());
    std::string_view const kind = section.substr(0, section.find('\n'));
    section = section.substr(0, section.find_last_not_of('\n') + 1);
    for (std::size_t first = section.find(kEntry); first != section.npos;) {
      std::size_t const last = section.find(kEntry, first + 1);
      std::string_view const entry = section.substr(0, last).substr(first + kEntry.size());
      std::size_t const name = entry.find('`'), colon = entry.find(':', name);
      std::string_view note = entry.substr(name + 1, colon - name - 1);
      if (!note.empty()) note = note.substr(2, note.size() - 3);
      terms.push_back({kind, entry.substr(0, name), note, entry.substr(colon + 2)});
      first = last;
    }
    at = end;
  }
  return terms;
}

}  // namespace

std::vector<Term const*> terms_of(std::string_view kind) {
  static std::vector<Term> const kTerms = parsed(glossary_text());
  std::vector<Term const*> terms;
  for (Term const& term : kTerms) {
    if (term.kind == kind) terms.push_back(&term);
  }
  return terms;
}

std::string_view meaning_of(std::string_view kind, std::string_view name) {
  for (Term const* term : terms_of(kind)) {
    if (term->name == name) return term->meaning;
  }
  return {};
}

std::string_view meaning_of(Column const& column) {
  return column.metric.empty() ? meaning_of("column", column.key)
                               : meaning_of("metric", column.metric);
}

std::vector<ExplainedMetric> metrics() {
  std::vector<ExplainedMetric> all;
  auto const add = [&](std::string_view name, std::string_view unit, std::string_view meaning) {
    all.push_back({std::string{name}, std::string{unit}, std::string{meaning}});
  };
  for (Term const* term : terms_of("metric")) add(term->name, term->note, term->meaning);
  for (measure::WorkloadEntry const* entry : workloads::workloads()) {
    for (measure::Metric const& metric : entry->secondary) {
      auto const known = std::ranges::find(all, metric.name, &ExplainedMetric::name);
      if (known == all.end()) {
        add(metric.name, metric.unit, fmt::format("{}: {}", entry->schema.name, metric.meaning));
      } else {
        known->meaning.insert(0, fmt::format("{}, ", entry->schema.name));
      }
    }
  }
  return all;
}

}  // namespace quadrille::report
