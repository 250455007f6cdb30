// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/quick_time.hpp"

#include "device/trace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quadrille::measure {

double quick_seconds(comm::World& world, std::function<void()> const& enqueue) {
  constexpr double kRoundSeconds = 1e-3;  // against the time to launch and to wait
  constexpr double kLongSeconds = 0.05;
  constexpr double kMostInRound = 1000;
  constexpr int kRounds = 3;
  auto const round = [&](double count) {
    world.stream().synchronize();
    world.group().barrier();
    double const start = device::host_seconds();
    for (double i = 0; i < count; ++i) enqueue();
    world.stream().synchronize();
    return world.group().max(device::host_seconds() - start) / count;
  };
  double once = round(1);  // warms up
  if (once > kLongSeconds) return once;
  for (int i = 1; i < kRounds; ++i) once = std::min(once, round(1));
  double const count = std::clamp(std::ceil(kRoundSeconds / once), 1.0, kMostInRound);
  if (count == 1) return once;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRounds; ++i) least = std::min(least, round(count));
  return least;
}

}  // namespace quadrille::measure
