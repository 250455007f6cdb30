// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace quadrille::kernels {

/// How long the search for a library's fastest call tries further candidates. Some take the library's
/// compiler 15 s each, and libraries name the likeliest first.
inline constexpr double kSearchSeconds = 2.5;
/// Candidates that run before a search may end.
inline constexpr std::size_t kMinTried = 3;

/// Tries candidates 0, 1, ... until `spent_s` says that the search has had its time and enough of them
/// ran. `try_one` says whether its candidate ran. Returns how many ran.
inline std::size_t try_in_order(std::size_t candidates,
                                std::function<bool(std::size_t)> const& try_one,
                                std::function<double()> const& spent_s) {
  std::size_t tried = 0;
  for (std::size_t i = 0; i < candidates && (tried < kMinTried || spent_s() < kSearchSeconds);
       ++i) {
    if (try_one(i)) ++tried;
  }
  return tried;
}

/// "fastest of 12 tried, of 40 candidates", as every library's row ends its text.
inline std::string search_text(std::size_t tried, std::size_t candidates) {
  return "fastest of " + std::to_string(tried) + " tried, of " + std::to_string(candidates) +
         " candidates";
}

}  // namespace quadrille::kernels
