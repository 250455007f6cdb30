// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/estimate.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace quadrille::measure {
namespace {

constexpr kernels::VariantInfo kFast{.name = "own", .source = "test", .summary = "test"};
constexpr kernels::VariantInfo kReference{
    .name = "reference", .role = kernels::Role::reference, .source = "test", .summary = "test"};
constexpr kernels::VariantInfo kPeer{
    .name = "peer", .role = kernels::Role::peer, .source = "test", .summary = "test"};

/// A product of 1000 x 1000 x 1000 on one rank that computes 1 Gflop/s: 2 s.
struct EstimatedSeconds : testing::Test {
  EstimatedSeconds() {
    spec.repetitions = 10;
    spec.warmup = {1, 0};
    description.amount = 2e9;
    description.unit = "FLOP/s";
    description.memory_bytes = 24e6;
    description.traits = {.communicates = true, .has_legs = true};
  }
  double of(Selection const& selected) const {
    return estimated_seconds(spec, description, selected, rates, 1);
  }

  core::Case spec;
  Description description;
  AssumedRates rates{
      .flop = 1e9, .bytes = 1e10, .evaluations = 1e8, .network = 1e9, .generated = 1e8};
};

TEST(EstimatedExecution, OfPairsIsThatOfOneRoundAfterTheOther) {
  Description description;
  description.amount = 12e9;
  description.unit = "B/s";
  description.pairs = PairSchedule{
      .small_messages = 40, .large_bytes = 1e9, .rounds = pair_rounds(4, AtOnce::one, false)};
  AssumedRates const rates{.network = 1e9};
  EXPECT_NEAR(estimated_execution(kFast, description, rates, 4), 12, 0.1);
  description.pairs->rounds = pair_rounds(4, AtOnce::disjoint, false);
  EXPECT_NEAR(estimated_execution(kFast, description, rates, 4), 6, 0.1);
}

TEST_F(EstimatedSeconds, AreThoseOfAllRepetitions) {
  EXPECT_NEAR(of({&kFast}), 2 * 13, 1) << "first run, warm-up and one of each leg, ten";
  spec.repetitions = 1000;
  EXPECT_NEAR(of({&kFast}), 2 * 1003, 20);
  spec.batch = 10;
  EXPECT_NEAR(of({&kFast}), 2 * 10003, 200);
}

TEST_F(EstimatedSeconds, AddUpVariantsAndLegs) {
  double const one = of({&kFast});
  EXPECT_NEAR(of({&kFast, &kFast}), 2 * one, 1);
  EXPECT_GT(of({&kReference}), 50 * one) << "a textbook's loops are slow";
  spec.legs = true;
  EXPECT_GT(of({&kFast}), 3 * one);
  EXPECT_NEAR(of({&kPeer}), one, 1) << "a peer has no legs";
}

TEST_F(EstimatedSeconds, CountClocksThatRunForATime) {
  description.amount = 2e3;
  EXPECT_LT(of({&kFast}), 1);
  spec.warmup.seconds = 4;
  EXPECT_GT(of({&kFast}), 4);
  spec.clock = core::Clock::sustained;
  EXPECT_GT(of({&kFast, &kFast}), 2 * (4 + 3));
}

TEST_F(EstimatedSeconds, CountTheCheck) {
  description.amount = 2e3;
  description.memory_bytes = 8e9;
  double const checked = of({&kFast});
  spec.check = core::Check::off;
  EXPECT_NEAR(checked - of({&kFast}), 20, 1) << "two checks of 1e9 elements";
}

TEST_F(EstimatedSeconds, CountMessages) {
  description.amount = 0;
  description.network_bytes = 4e9;
  EXPECT_NEAR(of({&kFast}), 4 * 13, 1);
}

TEST(AssumedRates, AreOfThisCaseAndNeverZero) {
  core::Case spec;
  device::Facts facts;
  for (device::Kind const kind : {device::Kind::host, device::Kind::cuda}) {
    AssumedRates const rates = assumed_rates(spec, facts, kind, 2);
    for (double const rate :
         {rates.flop, rates.bytes, rates.evaluations, rates.network, rates.generated}) {
      EXPECT_TRUE(std::isfinite(rate) && rate > 0);
    }
  }
  // Hosts multiply what has 16 bits as f32.
  facts.peaks = {.clocks_of_all_units = 1e10, .fused_bits = 512};
  spec.type = core::DataType::f32;
  double const f32_flop = assumed_rates(spec, facts, device::Kind::host, 2).flop;
  for (core::DataType const type : {core::DataType::f16, core::DataType::bf16}) {
    spec.type = type;
    EXPECT_EQ(assumed_rates(spec, facts, device::Kind::host, 2).flop, f32_flop);
  }
  spec.type = core::DataType::f64;
  EXPECT_EQ(assumed_rates(spec, facts, device::Kind::host, 2).flop, f32_flop / 2);
  spec.throttle = 5e5;
  EXPECT_EQ(assumed_rates(spec, facts, device::Kind::host, 2).network, 5e5);
}

}  // namespace
}  // namespace quadrille::measure
