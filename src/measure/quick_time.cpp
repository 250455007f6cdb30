// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/quick_time.hpp"

#include "device/gate.hpp"
#include "device/trace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace quadrille::measure {

double quick_seconds(comm::World& world, std::function<void()> const& enqueue) {
  constexpr double kRoundSeconds =
      1e-3;  // against what a clock and the first launch of a round cost
  constexpr double kLongSeconds = 0.05;
  constexpr double kMostInRound = device::Gate::kMaxCalls;
  constexpr int kRounds = 3;
  device::StreamView const stream = world.stream();
  std::optional<device::Gate> gate;
  device::Event begin{world.device()}, end{world.device()};
  auto const round = [&](double count) {
    stream.synchronize();
    world.group().barrier();
    if (gate) gate->close();
    stream.record(begin);
    double const start = device::host_seconds();
    for (double i = 0; i < count; ++i) enqueue();
    stream.record(end);
    bool is_valid = true;
    if (gate) {
      world.group().barrier();
      is_valid = !gate->open();
    }
    end.synchronize();
    // What waits for the device by itself is timed by the host.
    double const seconds = is_valid ? end.seconds_since(begin) : device::host_seconds() - start;
    return world.group().max(seconds) / count;
  };
  double once = round(1);  // warms up
  if (once > kLongSeconds) return once;
  gate.emplace(world.device());
  for (int i = 1; i < kRounds; ++i) once = std::min(once, round(1));
  double const count = std::clamp(std::ceil(kRoundSeconds / once), 1.0, kMostInRound);
  if (count == 1) return once;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRounds; ++i) least = std::min(least, round(count));
  return least;
}

}  // namespace quadrille::measure
