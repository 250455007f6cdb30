// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "support/mpi_world.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace quadrille::test {
namespace {

comm::World* g_world = nullptr;

/// Names the test to the watchdog: ranks that part ways in a test wait for each other for ever.
class Watch final : public testing::EmptyTestEventListener {
  void OnTestStart(testing::TestInfo const& info) override {
    g_world->enter_phase(fmt::format("{}.{}", info.test_suite_name(), info.name()), 90);
  }
};

/// What ranks other than 0 print: failures alone.
class FailurePrinter final : public testing::EmptyTestEventListener {
  void OnTestPartResult(testing::TestPartResult const& result) override {
    if (!result.failed()) return;
    fmt::print(stderr, "rank {}: {}:{}: {}\n", g_world->rank(),
               result.file_name() == nullptr ? "" : result.file_name(), result.line_number(),
               result.summary());
  }
};

}  // namespace

comm::World& world() { return *g_world; }

std::string device_name() {
  char const* const name = std::getenv("QUADRILLE_TEST_DEVICE");
  return name != nullptr ? name : "host";
}

}  // namespace quadrille::test

int main(int argc, char** argv) {
  using namespace quadrille;
  comm::World world{argc, argv};
  testing::InitGoogleTest(&argc, argv);
  test::g_world = &world;
  core::RunSettings settings;
  settings.device = core::parse_enum<core::DeviceChoice>(test::device_name()).value();
  settings.allow_shared_gpu = std::getenv("QUADRILLE_TEST_SHARED_GPU") != nullptr;
  int const needed = settings.allow_shared_gpu ? 1 : world.size();
  if (settings.device == core::DeviceChoice::cuda && device::cuda_device_count() < needed) {
    if (world.rank() == 0) fmt::print("skipped: fewer GPUs than {} ranks\n", world.size());
    return static_cast<int>(core::Exit::skipped);
  }
  char const* const chunk_bytes = std::getenv("QUADRILLE_TEST_CHUNK_BYTES");
  settings.chunk_bytes = chunk_bytes != nullptr ? std::atoll(chunk_bytes) : 1LL << 20;
  if (char const* const parts = std::getenv("QUADRILLE_TEST_FAKE_NODES")) {
    settings.fake_nodes = std::atoi(parts);
  }
  world.open(settings);

  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (world.rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new test::FailurePrinter);
  }
  listeners.Append(new test::Watch);
  int const mine = RUN_ALL_TESTS();
  world.enter_phase("end of the tests", 60);
  return static_cast<int>(world.group().max(std::int64_t{mine}));
}
