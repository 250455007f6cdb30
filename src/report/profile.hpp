// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/units.hpp"
#include "measure/record.hpp"
#include "report/terminal.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::report {

/// A launch that Nsight Compute profiled.
struct ProfiledLaunch {
  std::string kernel;  ///< as it demangles it, without scopes and arguments
  std::array<std::int64_t, 3> grid{}, block{};
  /// By their names, in bytes, seconds, percent, or as they are counted.
  std::map<std::string, double, std::less<>> counters;
};

/// A counter of Nsight Compute, and what it is shown as.
struct ProfileCounter {
  std::string_view name, label;
};
/// All that render_profile() shows, but those of stalls.
std::vector<ProfileCounter> profile_counters();

/// Of what `ncu --csv --page raw` prints: a header, a line of units and one for each launch, in whatever
/// else ncu printed. An error says that it is no such text, or where it breaks off.
core::Parsed<std::vector<ProfiledLaunch>> read_profile(std::string_view csv);

/// A table for each launch: what was counted, what the accesses of the result's variant predict, and
/// what the document has that the variant is of. Without a result the counts alone.
std::string render_profile(std::vector<ProfiledLaunch> const& launches,
                           measure::RunResult const* result, Terminal const& terminal);

}  // namespace quadrille::report
