// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/known_devices.hpp"

#include "device/code_architecture.hpp"
#include "support/expect_fails.hpp"

#include <gtest/gtest.h>

#include <set>

namespace quadrille::device {
namespace {

TEST(KnownDevices, AreToldApartByWhatTheyHave) {
  std::set<std::string> names;
  for (KnownDevice const& known : known_devices()) {
    EXPECT_TRUE(names.emplace(known.name).second) << known.name;
    EXPECT_EQ(known_device(known.name), &known);
    if (known.kind() == Kind::host) continue;
    EXPECT_EQ(known_device_like(known.facts), &known) << known.name;
    Facts other = known.facts;
    other.name = "another name";
    other.memory_bytes = other.memory_bytes / 100 * 95;
    EXPECT_EQ(known_device_like(other), &known) << known.name;
    other.memory_bytes /= 2;
    EXPECT_EQ(known_device_like(other), nullptr) << known.name;
  }
  EXPECT_EQ(known_device("H100"), nullptr);
  EXPECT_EQ(known_device_like(Facts{}), nullptr);
}

TEST(KnownDevices, HaveTheRatesOfTheirDataSheets) {
  auto const peak = [](std::string_view name, core::DataType type, core::Compute compute) {
    return known_device(name)->facts.peaks.of(type, compute) / 1e12;
  };
  EXPECT_NEAR(peak("A100", core::DataType::f16, core::Compute::f32), 312, 1);
  EXPECT_NEAR(peak("A100", core::DataType::f64, core::Compute::f64), 19.5, 0.1);
  // Those of H100 and H200 are for a lower clock than the highest.
  EXPECT_NEAR(peak("H100 SXM", core::DataType::f16, core::Compute::f32), 1070, 1);
  EXPECT_NEAR(peak("H100 PCIe", core::DataType::f64, core::Compute::f64), 51.2, 0.1);
  EXPECT_NEAR(known_device("A100")->facts.peak_bandwidth, 2.039e12, 1e9);
  EXPECT_NEAR(known_device("H100 SXM")->facts.peak_bandwidth, 3.352e12, 1e9);
  EXPECT_NEAR(known_device("H200")->facts.peak_bandwidth, 4.917e12, 1e9);
}

TEST(PlannedDevice, RanksShareTheHostAndHaveAGpuEach) {
  KnownDevice const& host = *known_device(kHostName);
  EXPECT_EQ(make_planned_device(host, 1)->facts().multiprocessors, 2);
  EXPECT_EQ(make_planned_device(host, 2)->facts().multiprocessors, 1);
  EXPECT_EQ(make_planned_device(host, 8)->facts().multiprocessors, 1);
  double const alone = make_planned_device(host, 1)->facts().peaks.clocks_of_all_units;
  EXPECT_EQ(make_planned_device(host, 2)->facts().peaks.clocks_of_all_units, alone / 2);
  KnownDevice const& gpu = *known_device("H200");
  EXPECT_EQ(make_planned_device(gpu, 8)->facts().multiprocessors, 132);
  EXPECT_LT(make_planned_device(gpu, 8)->free_memory(), gpu.facts.memory_bytes);
}

TEST(PlannedDevice, HasKernelsEvenWhereThisProgramHasNone) {
  for (KnownDevice const& known : known_devices()) {
    if (known.kind() == Kind::host) continue;
    CodeArchitecture const mine = code_of_program(known.facts.compute_capability);
    CodeArchitecture const code = make_planned_device(known, 1)->facts().code;
    EXPECT_GT(code.compute_capability, 0) << known.name;
    if (mine.compute_capability > 0) {
      EXPECT_EQ(code.compute_capability, mine.compute_capability) << known.name;
    }
  }
}

TEST(PlannedDevice, DoesNoWork) {
  auto const device = make_planned_device(*known_device("H200"), 1);
  EXPECT_FAILS(device->allocate(1), "only planned for");
}

}  // namespace
}  // namespace quadrille::device
