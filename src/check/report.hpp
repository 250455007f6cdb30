// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/judges.hpp"
#include "check/measure.hpp"
#include "core/units.hpp"
#include "report/terminal.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace quadrille::check {

/// Subjects as a check's JSON keeps them, and back, or why they are none.
nlohmann::ordered_json to_json(std::vector<Subject> const& subjects);
core::Parsed<std::vector<Subject>> subjects_from(nlohmann::ordered_json const& json);

/// A check that has ended.
struct Checked {
  Measured measured;
  std::vector<Assessment> assessments;  ///< of its subjects
  std::uint64_t seed = 0;
  double seconds = 0;

  core::Exit exit() const;
};

/// A line for each node and GPU that is not all right, one for all others, the lines for Slurm, and last
/// "CHECK PASS nodes=2 gpus=16 pass=18 slow=0 broken=0 unknown=0".
std::string render(Checked const& checked, report::Terminal const& terminal);
/// One document, which --baseline takes.
nlohmann::ordered_json document_of(Checked const& checked);
/// The earlier check of such a document, or why it is none.
core::Parsed<std::vector<Subject>> read_document(std::string_view text, std::string_view origin);

/// A file that other programs read.
struct OutputFile {
  std::string_view name;
  std::string text;
};
/// check.json; nodecheck.txt and metrics.txt as OLCF's test harness reads them; metrics.prom as OpenMetrics
/// text.
std::vector<OutputFile> files_of(Checked const& checked);

}  // namespace quadrille::check
