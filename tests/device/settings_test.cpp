// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/host/settings.hpp"

#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

namespace quadrille::device {
namespace {

TEST(HostSettings, NamesEachGovernorOnce) {
  test::TemporaryFolder const folder;
  EXPECT_EQ(host_settings(folder.path()).governors, "");
  for (auto const& [cpu, governor] :
       {std::pair{"cpu0", "powersave"}, {"cpu1", "performance"}, {"cpu2", "powersave"}}) {
    std::filesystem::create_directories(folder.path() / cpu / "cpufreq");
    std::ofstream{folder.path() / cpu / "cpufreq/scaling_governor"} << governor << '\n';
  }
  std::filesystem::create_directories(folder.path() / "cpufreq");
  EXPECT_EQ(host_settings(folder.path()).governors, "performance, powersave");
}

TEST(HostSettings, ReadsTheLimitOfLockedMemory) {
  rlimit before{};
  getrlimit(RLIMIT_MEMLOCK, &before);
  rlimit const lower{65536, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &lower), 0);
  EXPECT_EQ(host_settings().memlock_bytes, 65536U);
  setrlimit(RLIMIT_MEMLOCK, &before);
}

}  // namespace
}  // namespace quadrille::device
