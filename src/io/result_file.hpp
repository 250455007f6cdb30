// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/units.hpp"
#include "measure/record.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace quadrille::io {

/// Writes a run as one HDF5 file: to a temporary file beside `path`, then renamed. Rank 0 only. It never
/// replaces a file. Empty, or why it cannot be written.
[[nodiscard]] std::string write_result(std::string const& path, measure::RunResult const& result);

/// Reads result.h5, or the result.jsonl of a run that did not live to write one, or of a run's
/// directory the first of the two that can be read, or of a directory of runs the latest. A foreign,
/// truncated or damaged file is an error, as is one with a newer schema; a half-written last line of
/// a journal, and a damaged result.h5 beside a journal, are left out and noted as events.
core::Parsed<measure::RunResult> read_result(std::string const& path);

/// The directory in this one that holds the run that started last; empty where none does. An error where a
/// run cannot be read, which may be the one.
core::Parsed<std::filesystem::path> latest_run(std::filesystem::path const& directory);

/// What a run that goes on keeps of its journal.
struct FinishedCases {
  measure::RunResult result;  ///< no record of a case that had begun
  std::int64_t bytes = 0;     ///< from the journal's start that say so
};
/// An incomplete last line is left out without a word.
core::Parsed<FinishedCases> read_finished_cases(std::string const& journal);

}  // namespace quadrille::io
