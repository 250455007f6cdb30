// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "measure/record.hpp"

#include <optional>
#include <string>
#include <vector>

namespace quadrille::run {

/// Puts what a further round of the same measurement left in the place of `kept`, so that memory does
/// not grow with rounds. Other bits than the round before are a failure where `has_same_bits`, and
/// what did not pass stays.
void join_round(measure::Record& kept, measure::Record further, bool has_same_bits);

/// SUSPECT where the slowest round took longer than the fastest by a fifth.
void judge_rounds(measure::Record& record);

/// Clocks, power and counted errors of all ranks' devices, from its construction on.
class DeviceHealth {
 public:
  explicit DeviceHealth(comm::World const& world);

  /// "rank 1: uncorrected ECC errors rose from 0 to 2", for each counter that changed. The same on
  /// every rank. Collective.
  std::vector<std::string> changes() const;
  /// This rank's clock, power and temperature before and now; empty where its device does not tell.
  std::string telemetry() const;

 private:
  comm::World const& world_;
  std::vector<device::ErrorCounter> counters_;
  std::optional<device::Telemetry> telemetry_;
};

/// The changes of one device's counters, which stand in the same order.
std::vector<std::string> changes_between(std::vector<device::ErrorCounter> const& before,
                                         std::vector<device::ErrorCounter> const& after);

}  // namespace quadrille::run
