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
  EXPECT_EQ(nvml.settings().pcie.peak_bandwidth(), 0);
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
  PcieLink const link = Nvml{"GPU-stand-in"}.settings().pcie;
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

TEST(Nvml, ReadsWhatTheGpuHasBeenThrough) {
  answers() = {
      .power_limit_mw = 650'000, .recovery = NVML_GPU_RECOVERY_ACTION_GPU_RESET, .pending = 1};
  GpuSettings const settings = Nvml{"GPU-stand-in"}.settings();
  EXPECT_EQ(settings.power_limit_w, 650);
  EXPECT_EQ(settings.default_power_limit_w, 700);
  EXPECT_EQ(settings.recovery, Recovery::reset);
  EXPECT_EQ(settings.remapped_rows, (RemappedRows{.corrected = 2, .is_pending = true}));
  EXPECT_EQ(settings.retired_pages, std::nullopt);
  EXPECT_EQ(
      line_of(settings),
      "power limit 650 W; default power limit 700 W; persistence on; ECC on; recovery action "
      "reset the GPU; replaced memory 2 remapped rows after corrected and 0 after uncorrected "
      "errors, more pending; PCIe generation 1 of 5, 16 of 16 lanes; NVLink 18 of 18 links up");
  for (unsigned const pages : {0U, 3U}) {  // a GPU before Ampere
    answers() = {.remapped = test::kHidden, .retired_pages = pages};
    EXPECT_EQ(Nvml{"GPU-stand-in"}.settings().retired_pages, 2 * pages);
    EXPECT_EQ(Nvml{"GPU-stand-in"}.settings().remapped_rows, std::nullopt);
  }
  answers() = {
      .power_limit_mw = test::kHidden, .recovery = test::kHidden, .remapped = test::kHidden};
  for (auto const& [name, value] : facts_of(Nvml{"GPU-stand-in"}.settings())) {
    bool const is_hidden =
        name == "power limit" || name == "recovery action" || name == "replaced memory";
    EXPECT_EQ(value == "not told", is_hidden) << name;
  }
  for (auto const& [name, value] : facts_of(Nvml{"GPU-other"}.settings())) {
    EXPECT_NE(value.find("not told"), value.npos) << name;
  }
}

TEST(Nvml, TellsNothingOfAGpuThatItDoesNotSee) {
  Nvml nvml{"GPU-other"};
  EXPECT_FALSE(nvml.read());
  EXPECT_TRUE(nvml.error_counters().empty());
  EXPECT_EQ(nvml.settings().pcie.max_width, 0);
  EXPECT_EQ(nvml.link_to("GPU-stand-in"), Link::unknown);
}

}  // namespace
}  // namespace quadrille::device
