// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/columns.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace quadrille::report {

/// An entry of glossary.md, which is a part of the program.
struct Term {
  std::string_view kind;  ///< "metric", "column", "verdict", "word", ...
  std::string_view name;
  std::string_view note;  ///< the unit of a metric, what a subject is about
  std::string_view meaning;
};
/// Those of a kind, in the file's order.
std::vector<Term const*> terms_of(std::string_view kind);
/// Empty where there is no such entry.
std::string_view meaning_of(std::string_view kind, std::string_view name);
std::string_view meaning_of(Column const& column);

/// A number that tables and files show; of a workload's the meaning says whose it is.
struct ExplainedMetric {
  std::string name, unit, meaning;
};
/// Those of the glossary, and the secondary ones of workloads.
std::vector<ExplainedMetric> metrics();

/// The text of glossary.md.
std::string_view glossary_text();

}  // namespace quadrille::report
