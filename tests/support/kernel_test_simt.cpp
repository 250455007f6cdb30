// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "simt/device.hpp"
#include "simt/engine.hpp"
#include "support/kernel_test.hpp"

#include <cstdlib>

namespace quadrille::test {
namespace {

using simt::Schedule;

// Random orders interleave so many blocks.
constexpr unsigned kResidentBlocks = 3;
constexpr std::uint64_t kSeeds = 2;
constexpr std::uint64_t kRacesSeed = 1;

std::vector<Schedule> schedules() {
  // Whether two accesses race depends on no schedule, so that one seed is enough to find it.
  auto const seeded = [](std::uint64_t seed) {
    return Schedule{Schedule::Order::random, seed, kResidentBlocks, seed == kRacesSeed};
  };
  if (char const* const seed = std::getenv("QUADRILLE_SIMT_SEED")) {
    return {seeded(std::strtoull(seed, nullptr, 10))};
  }
  std::uint64_t seeds = kSeeds;
  // In descending order whoever waits for a block that has not started waits for ever.
  std::vector<Schedule> all{
      {.order = Schedule::Order::ascending, .finds_races = false},
      {.order = Schedule::Order::descending, .finds_races = false, .room = 1}};
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

KernelMode kernel_mode() { return KernelMode::simt; }

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

bool finds_races() { return simt::schedule().finds_races; }

}  // namespace quadrille::test
