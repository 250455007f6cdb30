// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/judges.hpp"
#include "core/units.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::check {

/// Samples of metrics over their median, such as runs have left.
using KeptSamples = std::map<Metric const*, std::vector<double>>;

/// Reads lines "metric,value" behind a line with these words. `origin` names the text in messages.
core::Parsed<KeptSamples> read_samples(std::string_view text, std::string_view origin);

/// What became of all faults of one kind.
struct FaultCount {
  std::string_view fault;
  bool must_be_found = false;  ///< it costs 10 % or more, or makes a result wrong
  std::int64_t planted = 0, found = 0;
};

struct Simulation {
  std::vector<FaultCount> faults;
  std::int64_t healthy = 0;       ///< nodes without a fault
  std::int64_t false_alarms = 0;  ///< of them, those that were called anything but PASS

  /// Of faults that must be found, those that were.
  double found_share() const;
  double false_share() const;
  /// 98 % of the former, at most 1 % of the latter.
  bool is_good() const;
};

/// Lets the judges assess so many made-up machines of 64 nodes of 8 GPUs: values are medians of samples
/// drawn from `kept`, of which 1 % are slower by a fifth, on devices that differ by half a percent and
/// whose clocks drift by two. Each has one fault of each kind on nodes of its own; every tenth is slow as a
/// whole instead. The judges see values alone.
Simulation simulate(KeptSamples const& kept, std::int64_t machines, std::uint64_t seed);

}  // namespace quadrille::check
