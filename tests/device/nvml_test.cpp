// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/nvml.hpp"

#include "device/nvml_stand_in.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <utility>

namespace quadrille::device {
namespace {

using Limits = core::EnumSet<ClockLimit>;

/// The answers of the NVML that this test is run with.
test::NvmlAnswers& answers() {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  void* const found = library == nullptr ? nullptr : dlsym(library, "nvml_stand_in_answers");
  if (found == nullptr) throw std::runtime_error{"not with the stand-in for NVML"};
  return *static_cast<test::NvmlAnswers*>(found);
}

TEST(Nvml, NamesWhatLowersClocks) {
  Nvml const nvml{"GPU-stand-in"};
  // The values are those that nvidia-smi's documentation gives.
  std::pair<unsigned long long, Limits> const cases[] = {
      {0x0, {}},
      {0x1, {}},  // idle
      {0x2, {ClockLimit::other}},
      {0x4, {ClockLimit::power}},
      {0x8, {ClockLimit::hardware}},
      {0x10, {ClockLimit::other}},
      {0x20, {ClockLimit::thermal}},
      {0x48, {ClockLimit::thermal, ClockLimit::hardware}},
      {0x88, {ClockLimit::power, ClockLimit::hardware}},
      {0x100, {ClockLimit::other}},
      {0x24, {ClockLimit::power, ClockLimit::thermal}}};
  for (auto const& [reasons, limits] : cases) {
    answers().reasons = reasons;
    auto const now = nvml.read();
    ASSERT_TRUE(now);
    EXPECT_EQ(core::to_text(now->clock_limits), core::to_text(limits)) << std::hex << reasons;
  }
}

TEST(Nvml, TakesWhatIsHiddenForUnknown) {
  answers() = {.clock_mhz = 1200, .power_mw = test::kHidden, .width = test::kHidden};
  Nvml const nvml{"GPU-stand-in"};
  auto const now = nvml.read();
  ASSERT_TRUE(now);
  EXPECT_EQ(now->clock_hz, 1.2e9);
  EXPECT_EQ(now->memory_clock_hz, 2.619e9);
  EXPECT_EQ(now->power_w, 0);
  EXPECT_EQ(nvml.pcie_link().peak_bandwidth(), 0);
  answers().clock_mhz = test::kHidden;
  EXPECT_FALSE(nvml.read());
}

TEST(Nvml, ReadsHowBusyTheGpuIs) {
  answers() = {.busy_percent = 30};
  EXPECT_EQ(Nvml{"GPU-stand-in"}.utilization(), 0.3);
  EXPECT_EQ(Nvml{"GPU-other"}.utilization(), 0);
  answers().busy_percent = test::kHidden;
  EXPECT_EQ(Nvml{"GPU-stand-in"}.utilization(), 0);
}

TEST(Nvml, ReadsTheLinkToTheHost) {
  answers() = {.generation = 1, .width = 8, .max_generation = 5, .max_width = 16};
  PcieLink const link = Nvml{"GPU-stand-in"}.pcie_link();
  EXPECT_EQ(link.generation, 1);
  EXPECT_EQ(link.width, 8);
  EXPECT_EQ(link.max_generation, 5);
  EXPECT_EQ(link.max_width, 16);
  EXPECT_NEAR(link.peak_bandwidth(), 31.5e9, 0.1e9);  // idle, and in half a slot
  PcieLink const whole{.generation = 4, .width = 16, .max_generation = 4, .max_width = 16};
  EXPECT_NEAR(whole.peak_bandwidth(), 31.5e9, 0.1e9);
  EXPECT_EQ((PcieLink{.width = 16, .max_generation = 9}).peak_bandwidth(), 0);
}

TEST(Nvml, ReadsHowTheGpuIsSetUp) {
  answers() = {};
  Nvml const nvml{"GPU-stand-in"};
  EXPECT_EQ(nvml.settings().corrects_errors, true);
  EXPECT_EQ(nvml.settings().is_persistent, true);
  EXPECT_EQ(nvml.settings().nvlinks, 18);
  EXPECT_EQ(nvml.settings().nvlinks_up, 18);
  answers() = {.ecc = 0, .persistence = test::kHidden, .links = 4, .links_up = 3};
  EXPECT_EQ(nvml.settings().corrects_errors, false);
  EXPECT_EQ(nvml.settings().is_persistent, std::nullopt);
  EXPECT_EQ(nvml.settings().nvlinks, 4);
  EXPECT_EQ(nvml.settings().nvlinks_up, 3);
  EXPECT_EQ(Nvml{"GPU-other"}.settings().corrects_errors, std::nullopt);
}

TEST(Nvml, TellsNothingOfAGpuThatItDoesNotSee) {
  Nvml nvml{"GPU-other"};
  EXPECT_FALSE(nvml.read());
  EXPECT_TRUE(nvml.error_counters().empty());
  EXPECT_EQ(nvml.pcie_link().max_width, 0);
  EXPECT_EQ(nvml.link_to("GPU-stand-in"), Link::unknown);
}

}  // namespace
}  // namespace quadrille::device
