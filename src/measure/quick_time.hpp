// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "device/gate.hpp"

#include <cstdint>
#include <functional>
#include <optional>

namespace quadrille::measure {

/// Times what a function puts on world.stream(), for what is measured beside a case. The first time,
/// while something may still be loaded, the host's calls are in it; from then on it shows the device,
/// behind a gate. Every call is collective.
class QuickClock {
 public:
  explicit QuickClock(comm::World& world);
  virtual ~QuickClock() = default;

  struct Time {
    double seconds = 0;  ///< of one of the executions, of the slowest rank: the same on every rank
    bool is_valid = true;  ///< no gate opened under the calls of any rank's host; else by its clock
  };
  /// With the calls of the host, as what waits for the device by itself needs it.
  virtual Time plainly(std::function<void()> const& enqueue, std::int64_t count = 1) {
    return time(enqueue, count);
  }
  /// At most as many as may wait behind a gate.
  virtual Time behind_gate(std::function<void()> const& enqueue, std::int64_t count);

 private:
  Time time(std::function<void()> const& enqueue, std::int64_t count, device::Gate* gate = nullptr);

  comm::World& world_;
  device::Event begin_, end_;
  std::optional<device::Gate> gate_;
};

/// What is measured beside a case, in milliseconds, so that a workload can choose by it or count with
/// it: seconds of one execution of what `enqueue` puts on world.stream(). The fastest of a few rounds,
/// each of as many executions as the clock needs, of the slowest rank of each round; what takes long
/// is executed once. The same on every rank. Collective.
double quick_seconds(comm::World& world, std::function<void()> const& enqueue);

}  // namespace quadrille::measure
