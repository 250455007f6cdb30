// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/units.hpp"
#include "measure/record.hpp"

#include <string>

namespace quadrille::io {

/// Writes a run as one HDF5 file: to a temporary file beside `path`, then renamed. Rank 0 only. An
/// existing file, or a place that cannot be written, ends the job with Exit::environment.
void write_result(std::string const& path, measure::RunResult const& result);

/// Reads result.h5, or the result.jsonl of a run that did not live to write one, or whichever of
/// the two a run's directory holds. A foreign, truncated or damaged file is an error, as is one
/// with a newer schema; a half-written last line of a journal is left out and noted as an event.
core::Parsed<measure::RunResult> read_result(std::string const& path);

}  // namespace quadrille::io
