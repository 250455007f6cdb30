// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "check/simulate.hpp"

#include "core/files.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace quadrille::check {
namespace {

KeptSamples kept_samples() {
  std::string const path = QUADRILLE_SOURCE "/tests/check/samples.csv";
  return *read_samples(*core::read_file(path, 1 << 20), path);
}

TEST(Simulate, FindsFaultsAndLeavesHealthyNodes) {
  Simulation const simulation = simulate(kept_samples(), 100, 1);

  EXPECT_GE(simulation.found_share(), 0.98);
  EXPECT_LE(simulation.false_share(), 0.01);
  EXPECT_TRUE(simulation.is_good());
  EXPECT_GT(simulation.healthy, 4'000);
  for (FaultCount const& count : simulation.faults) {
    EXPECT_GT(count.planted, 0) << count.fault;
    EXPECT_LE(count.found, count.planted) << count.fault;
    if (count.must_be_found) {
      EXPECT_GE(count.found, 0.95 * static_cast<double>(count.planted)) << count.fault;
    }
  }
}

// What no samples are kept of gives no false alarms.
TEST(Simulate, EveryRateOfAGpuHasSamples) {
  KeptSamples const kept = kept_samples();
  for (Metric const& metric : metrics()) {
    EXPECT_EQ(kept.contains(&metric), metric.scope == Scope::device) << metric.name;
  }
}

TEST(Simulate, TheSameSeedGivesTheSameMachines) {
  auto const found = [](std::uint64_t seed) {
    std::vector<std::int64_t> counts;
    for (FaultCount const& count : simulate(kept_samples(), 20, seed).faults)
      counts.push_back(count.found);
    return counts;
  };
  EXPECT_EQ(found(7), found(7));
}

TEST(Simulate, SamplesThatVaryByHalfTellTooLittle) {
  KeptSamples wide;
  for (auto const& [metric, samples] : kept_samples()) {
    for (std::size_t i = 0; i < samples.size(); ++i) wide[metric].push_back(i % 2 == 0 ? 0.5 : 1.5);
  }
  EXPECT_FALSE(simulate(wide, 10, 1).is_good());
}

TEST(Simulate, BadSamplesSayWhatIsWrong) {
  for (char const* text : {"", "metric,value\n", "gemm_f64,1\n", "metric,value\nnone,1\n",
                           "metric,value\ngemm_f64,-1\n", "metric,value\ngemm_f64,1,2\n",
                           "metric,value\ngemm_f64\n", "metric,value\ngemm_f64,nan\n"}) {
    core::Parsed<KeptSamples> const read = read_samples(text, "samples.csv");
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.why().find("samples.csv"), std::string::npos) << read.why();
  }
}

}  // namespace
}  // namespace quadrille::check
