// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/quick_time.hpp"

#include "device/trace.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace quadrille::measure {

QuickClock::QuickClock(comm::World& world)
    : world_{world}, begin_{world.device()}, end_{world.device()} {}

QuickClock::Time QuickClock::behind_gate(std::function<void()> const& enqueue, std::int64_t count) {
  if (!gate_) gate_.emplace(world_.device());
  return time(enqueue, count, &*gate_);
}

QuickClock::Time QuickClock::time(std::function<void()> const& enqueue, std::int64_t count,
                                  device::Gate* gate) {
  device::StreamView const stream = world_.stream();
  stream.synchronize();
  world_.group().barrier();
  if (gate != nullptr) gate->close();
  stream.record(begin_);
  double const start = device::host_seconds();
  for (std::int64_t i = 0; i < count; ++i) enqueue();
  stream.record(end_);
  bool is_valid = true;
  if (gate != nullptr) {
    world_.group().barrier();
    is_valid = !gate->open();
  }
  end_.synchronize();
  // What waits for the device by itself is timed by the host.
  double const seconds = is_valid ? end_.seconds_since(begin_) : device::host_seconds() - start;
  std::array<double, 2> worst{seconds, is_valid ? 0.0 : 1.0};
  world_.group().max(worst);
  return {worst[0] / static_cast<double>(count), worst[1] == 0};
}

double quick_seconds(comm::World& world, std::function<void()> const& enqueue) {
  constexpr double kRoundSeconds =
      1e-3;  // against what a clock and the first launch of a round cost
  constexpr double kLongSeconds = 0.05;
  constexpr double kMaxInRound = device::Gate::kMaxCalls;
  constexpr int kRounds = 3;
  QuickClock clock{world};
  double once = clock.plainly(enqueue).seconds;  // warms up
  if (once > kLongSeconds) return once;
  for (int i = 1; i < kRounds; ++i) once = std::min(once, clock.behind_gate(enqueue, 1).seconds);
  auto const count =
      static_cast<std::int64_t>(std::clamp(std::ceil(kRoundSeconds / once), 1.0, kMaxInRound));
  if (count == 1) return once;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRounds; ++i) {
    least = std::min(least, clock.behind_gate(enqueue, count).seconds);
  }
  return least;
}

}  // namespace quadrille::measure
