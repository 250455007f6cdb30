// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/record.hpp"
#include "report/document.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace quadrille::report {

// What a page says of a record: texts of files without what a terminal would obey.

std::string shown(std::string_view text);
/// What stands in this column.
std::string text_of(std::string_view key, measure::Record const& record);
/// "gemm.1 host_simd"
std::string name_of(measure::Record const& record);
/// Whether its work are calls: of these people know the time, and not how many go into a second.
bool counts_calls(measure::Record const& record);
/// Its reason, and the first wrong element; empty where it passed. Without the variant's own name, so
/// that rows which lack the same thing say the same.
std::string why(measure::Record const& record);

/// In brackets where it is a ratio to something SUSPECT.
std::string bracketed(std::string text, bool is_doubtful);
/// "71 %" of 0.71; "-" where it is missing.
std::string percent(std::optional<double> ratio);
// The rate as a share of that of the vendor, of a copy, of local work, of the devices' peak, and of the
// roofline; "-" without a speed.
std::string vendor_share(measure::Record const& record);
std::string copy_share(measure::Record const& record);
std::string local_share(measure::Record const& record);
std::string peak_share(measure::Record const& record);
std::string ceiling_share(measure::Record const& record);

// What flags of a row mean.
inline constexpr std::string_view kModelledLink =
    "messages went through the throttle, a model of a slower link; no property of this machine";
inline constexpr std::string_view kHostClock =
    "the host's clock: a repetition waits for the device before all of it is enqueued, or was "
    "asked for so; the host's calls are in it";

/// Whether it has run, or began to, or should have.
bool is_tabled(measure::Record const& record);
Tone tone_of(measure::Outcome outcome);

}  // namespace quadrille::report
