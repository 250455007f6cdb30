// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/finding.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace quadrille::commands {
namespace {

Finding named(std::vector<Finding> const& found, std::string_view name) {
  auto const at = std::ranges::find(found, name, &Finding::name);
  if (at == found.end()) return {Status::note, "none", ""};
  // A warning without a remedy leaves its reader alone, and what is right needs none.
  EXPECT_EQ(at->status == Status::warn, !at->remedy.empty()) << at->text;
  return *at;
}

TEST(Findings, JudgeHowAHostIsSetUp) {
  auto const sound = findings_of({.governors = "performance", .threads_per_core = 1}, 2);
  for (char const* const name : {"governor", "memlock"}) {
    EXPECT_EQ(named(sound, name).status, Status::ok) << name;
  }
  EXPECT_EQ(named(sound, "smt").text, "1 hardware thread for each core");

  device::HostSettings const slow{
      .governors = "performance, powersave", .memlock_bytes = 8 << 20, .threads_per_core = 2};
  EXPECT_EQ(named(findings_of(slow, 2), "governor").status, Status::warn);
  EXPECT_EQ(named(findings_of(slow, 2), "memlock").status, Status::warn);
  EXPECT_EQ(named(findings_of(slow, 1), "memlock").status, Status::note);
  EXPECT_NE(named(findings_of(slow, 1), "memlock").text.find("8.00 MiB"), std::string::npos);
  EXPECT_EQ(named(findings_of(slow, 1), "smt").text, "2 hardware threads for each core");
  EXPECT_EQ(named(findings_of({}, 1), "governor").status, Status::note);
}

TEST(Findings, JudgeHowAGpuIsSetUp) {
  device::PcieLink const whole{.generation = 1, .width = 16, .max_generation = 5, .max_width = 16};
  device::PcieLink const half{.generation = 5, .width = 8, .max_generation = 5, .max_width = 16};
  device::GpuSettings const good{.corrects_errors = true,
                                 .is_persistent = true,
                                 .nvlinks = 18,
                                 .nvlinks_up = 18,
                                 .power_limit_w = 700,
                                 .default_power_limit_w = 700,
                                 .recovery = device::Recovery::none,
                                 .remapped_rows = device::RemappedRows{.corrected = 1},
                                 .pcie = whole};
  device::GpuSettings const bad{.corrects_errors = false,
                                .is_persistent = false,
                                .nvlinks = 18,
                                .nvlinks_up = 17,
                                .power_limit_w = 600,
                                .default_power_limit_w = 700,
                                .recovery = device::Recovery::reset,
                                .remapped_rows = device::RemappedRows{.is_pending = true},
                                .pcie = half};
  for (char const* const name :
       {"ecc", "persistence", "pcie", "nvlink", "power", "recovery", "memory"}) {
    EXPECT_EQ(named(findings_of(good), name).status, Status::ok) << name;
    EXPECT_EQ(named(findings_of(bad), name).status, Status::warn) << name;
    EXPECT_EQ(named(findings_of(device::GpuSettings{}), name).name, "none") << name;
  }
  EXPECT_EQ(named(findings_of({.nvlinks = 12}), "nvlink").status, Status::ok);
  EXPECT_EQ(
      named(findings_of({.remapped_rows = device::RemappedRows{.has_failed = true}}), "memory")
          .remedy,
      "replace the GPU");
}

}  // namespace
}  // namespace quadrille::commands
