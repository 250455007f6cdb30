// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/record.hpp"
#include "report/terminal.hpp"

#include <span>
#include <string>

namespace quadrille::report {

/// What ran where and when: run, version, commit, libraries, ranks x nodes x devices, a line per rank.
std::string render_run_header(measure::RunInfo const& info, Terminal const& terminal);

/// By which transport = "auto" chooses, and what it takes.
std::string render_transport_times(std::vector<comm::TransportTime> const& times,
                                   Terminal const& terminal);

/// A header and one line per measurement of all results, RFC 4180; a missing number is an empty
/// field. "settings.KEY" is a key of the cases that one sets to other than its default, "NAME (UNIT)"
/// a further rate.
std::string render_csv(std::span<measure::RunResult const> results);

/// A JSON object as report.schema.json describes it, of several results an array of these; a missing
/// number is null.
std::string render_json(std::span<measure::RunResult const> results);

/// "RESULT PASS executed=3 of=5 passed=3 failed=0 skipped=1 unsupported=1 file=results/x/result.h5".
std::string result_line(measure::RunResult const& result, std::string const& file);

}  // namespace quadrille::report
