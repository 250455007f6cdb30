// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "simt/device.hpp"
#include "simt/engine.hpp"
#include "simt/race.hpp"
#include "support/kernel_test.hpp"

#include <cstdlib>

namespace quadrille::test {
namespace {

using simt::Schedule;

// Random orders interleave so many blocks.
constexpr unsigned kResidentBlocks = 3;
constexpr std::uint64_t kSeeds = 4;

std::vector<Schedule> schedules() {
  auto const seeded = [](std::uint64_t seed) {
    return Schedule{Schedule::Order::random, seed, kResidentBlocks};
  };
  if (char const* const seed = std::getenv("QUADRILLE_SIMT_SEED")) {
    return {seeded(std::strtoull(seed, nullptr, 10))};
  }
  std::uint64_t seeds = kSeeds;
  std::vector<Schedule> all{{Schedule::Order::ascending}};
  if (kernel_mode() == KernelMode::race) {
    seeds = 1;  // whether two accesses race depends on no schedule
  } else {
    // Whoever waits for a block that has not started waits for ever.
    all.push_back({.order = Schedule::Order::descending, .room = 1});
  }
  if (char const* const n = std::getenv("QUADRILLE_SIMT_SEEDS")) {
    seeds = std::strtoull(n, nullptr, 10);
    all.clear();
  }
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) all.push_back(seeded(seed));
  return all;
}

int count_results() {
  return testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
}

}  // namespace

KernelMode kernel_mode() {
#ifdef __SANITIZE_ADDRESS__
  return KernelMode::asan;
#else
  return simt::race::enabled() ? KernelMode::race : KernelMode::simt;
#endif
}

device::Device& kernel_device() {
  static std::unique_ptr<device::Device> const device = simt::make_device();
  return *device;
}

void on_every_schedule(std::function<void(device::Device&, device::StreamView)> const& body) {
  int const before = count_results();
  for (Schedule const& schedule : schedules()) {
    simt::set_schedule(schedule);
    SCOPED_TRACE("in " + schedule.text() +
                 (schedule.order == Schedule::Order::random
                      ? "; replay with QUADRILLE_SIMT_SEED=" + std::to_string(schedule.seed)
                      : ""));
    try {
      device::Stream const stream{kernel_device()};
      body(kernel_device(), stream);
      simt::check_guards("after the test");
    } catch (simt::Error const& error) {
      ADD_FAILURE() << error.what();
    }
    if (count_results() > before) break;  // the first schedule that fails says enough
  }
  simt::set_schedule({});
}

}  // namespace quadrille::test
