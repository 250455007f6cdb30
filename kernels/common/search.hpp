// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace quadrille::kernels {

/// What a search may spend, in seconds of its clock. These are for a library's calls: some take its
/// compiler 15 s each, and libraries name the likeliest first.
struct Effort {
  double looks_s = 1.25;      ///< after which no further candidate is looked at ...
  std::size_t min_looks = 3;  ///< ... once so many ran
  double all_s = 2;          ///< after which no further row of launches begins, later by what looks
                             ///< took beyond their time ...
  std::size_t min_rows = 1;  ///< ... once so many of the fastest were timed in one
  /// A row is so many launches, but neither shorter nor longer than this: at the power limit one that
  /// draws more runs at a lower clock, which shows after a while.
  double launches = 50, min_row_s = 10e-3, max_row_s = 0.05;
  std::int64_t min_launches = 3;
};

/// Slower than the fastest by more than this at the first look: out.
inline constexpr double kFarBehind = 1.5;
/// A time that no clock showed.
inline constexpr double kUntimed = std::numeric_limits<double>::infinity();

/// What a search asks for; tests bring a clock of their own.
struct Trial {
  /// Runs a candidate for the first time, which loads its kernels, and again: the seconds of one
  /// launch, kUntimed where only the clock failed; NaN where there is no such call.
  std::function<double(std::size_t candidate)> look;
  /// Of one of so many launches in a row, or kUntimed.
  std::function<double(std::size_t candidate, std::int64_t launches)> row;
  /// Since the search began.
  std::function<double()> spent;
};

/// A candidate that ran: its place among all, and what one launch of it takes.
struct Ranked {
  std::size_t candidate = 0;
  double seconds = kUntimed;
};

/// The candidates that ran, the fastest first: looked at in their order, those that are not far behind
/// then timed in rounds, fewer in each.
std::vector<Ranked> rank(std::size_t candidates, Trial const& trial, Effort const& effort);
/// The same with the clock of a stream, which shows the device behind a gate. `enqueue` says whether the
/// library takes a candidate. Waits for the stream.
std::vector<Ranked> rank(std::size_t candidates, std::function<bool(std::size_t)> const& enqueue,
                         device::StreamView stream, Effort const& effort = {});

/// "fastest of 12 tried, of 40 candidates", as every row that searches ends its text.
inline std::string search_text(std::size_t tried, std::size_t candidates) {
  return "fastest of " + std::to_string(tried) + " tried, of " + std::to_string(candidates) +
         " candidates";
}

}  // namespace quadrille::kernels
