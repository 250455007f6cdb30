// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/roofline.hpp"

#include <gtest/gtest.h>

namespace quadrille::measure {
namespace {

core::Case spec_of(core::DataType type, core::Compute compute = core::Compute::automatic) {
  core::Case spec;
  spec.type = type;
  spec.compute = compute;
  return spec;
}

/// 200 operations and 100 bytes with nominal peaks of 10 and 20.
Record record(Resource measures = Resource::none, double rate = 0) {
  Record r;
  r.outcome = Outcome::pass;
  r.amount = 200;
  r.unit = "FLOP/s";
  r.roofline = {.flop = 200, .bytes = 100, .compute_peak = 10, .memory_peak = 20};
  r.measures = measures;
  r.rate = rate;
  return r;
}

TEST(Ceiling, IsOfWhatTakesLonger) {
  Record r = record();
  EXPECT_EQ(intensity(r), 2);
  ASSERT_TRUE(ceiling_of(r));
  EXPECT_EQ(ceiling_of(r)->rate, 10);
  EXPECT_EQ(ceiling_of(r)->limit, Resource::compute);

  r.roofline.memory_peak = 4;  // 25 s, where computing takes 20
  r.roofline.memory_is_measured = true;
  EXPECT_EQ(ceiling_of(r)->rate, 8);
  EXPECT_EQ(ceiling_of(r)->limit, Resource::memory);
  EXPECT_TRUE(ceiling_of(r)->is_measured);
  EXPECT_FALSE(percent_of_ceiling(r)) << "without a rate";
  r.rate = 2;
  EXPECT_EQ(percent_of_ceiling(r), 25);
}

TEST(Ceiling, OfBytesAloneIsTheBandwidth) {
  Record r = record();
  r.amount = 100;
  r.roofline.flop = r.roofline.compute_peak = 0;
  EXPECT_EQ(intensity(r), 0);
  ASSERT_TRUE(ceiling_of(r));
  EXPECT_EQ(ceiling_of(r)->rate, 20);
  EXPECT_EQ(ceiling_of(r)->limit, Resource::memory);

  r.roofline.bytes = 0;
  EXPECT_FALSE(intensity(r));
  EXPECT_FALSE(ceiling_of(r)) << "nothing is known to be needed";
}

TEST(Ceiling, IsMissingWhereAPeakIs) {
  Record r = record();
  r.roofline.memory_peak = 0;
  EXPECT_FALSE(ceiling_of(r)) << "a host's memory may be the limit";
  r = record();
  r.roofline.is_hot = true;
  EXPECT_FALSE(ceiling_of(r)) << "caches hold nobody knows how much";
  r = record();
  r.roofline.compute_peak = 0;
  EXPECT_FALSE(ceiling_of(r));
}

TEST(Ceiling, OfFewOperationsIsTheBandwidthWhateverComputes) {
  Record r = record();
  r.roofline = {.flop = 99, .bytes = 100, .memory_peak = 20};
  ASSERT_TRUE(ceiling_of(r)) << "as of a host, whose peak is only known for products";
  EXPECT_EQ(ceiling_of(r)->limit, Resource::memory);
  EXPECT_EQ(ceiling_of(r)->rate, 40);
}

TEST(Ceiling, OfCopiesBetweenDeviceAndHostIsTheLinks) {
  Record r = record();
  r.roofline = {.pcie_bytes = 100, .pcie_peak = 63};
  ASSERT_TRUE(ceiling_of(r));
  EXPECT_EQ(ceiling_of(r)->limit, Resource::pcie);
  EXPECT_EQ(ceiling_of(r)->rate, 126) << "of 200 in the time of 100, as where both ways are used";
  r.roofline.pcie_peak = 0;
  EXPECT_FALSE(ceiling_of(r));
}

TEST(MeasuredPeaks, AreTheBestOfTheirTypes) {
  MeasuredPeaks peaks;
  auto const f32 = spec_of(core::DataType::f32), f64 = spec_of(core::DataType::f64),
             tf32 = spec_of(core::DataType::f32, core::Compute::tf32);
  peaks.add(f32, record(Resource::compute, 7));
  peaks.add(f32, record(Resource::compute, 8));
  peaks.add(f32, record(Resource::compute, 6));
  peaks.add(tf32, record(Resource::compute, 9));
  peaks.add(f64, record(Resource::memory, 3));
  peaks.add(f64, record(Resource::none, 1000));

  Record r = record();
  peaks.set_in(f32, r);
  EXPECT_EQ(r.roofline.compute_peak, 8);
  EXPECT_TRUE(r.roofline.compute_is_measured);
  EXPECT_EQ(r.roofline.memory_peak, 3) << "of any type";
  EXPECT_TRUE(r.roofline.memory_is_measured);

  r = record();
  peaks.set_in(tf32, r);
  EXPECT_EQ(r.roofline.compute_peak, 9);
  r = record();
  peaks.set_in(f64, r);
  EXPECT_EQ(r.roofline.compute_peak, 10) << "nominal";
  EXPECT_FALSE(r.roofline.compute_is_measured);
  r = record(Resource::compute);
  peaks.set_in(f32, r);
  EXPECT_EQ(r.roofline.compute_peak, 10) << "what measures one is not compared with itself";
}

TEST(MeasuredPeaks, OfMatrixUnitsAreThoseOfProductsAlone) {
  MeasuredPeaks peaks;
  auto const spec = spec_of(core::DataType::f64);
  Record r = record();
  r.unit = "eval/s";
  peaks.add(spec, record(Resource::compute, 8));
  peaks.set_in(spec, r);
  EXPECT_EQ(r.roofline.compute_peak, 8);

  r.roofline = record().roofline;
  peaks.add(spec, record(Resource::compute, 16));
  peaks.set_in(spec, r);
  EXPECT_EQ(r.roofline.compute_peak, 10) << "the cores' nominal one";
  EXPECT_FALSE(r.roofline.compute_is_measured);
}

TEST(MeasuredPeaks, OfAMemoryWithoutANominalOneAreThoseOfCasesBefore) {
  MeasuredPeaks peaks;
  auto const spec = spec_of(core::DataType::f64);
  peaks.add(spec, record(Resource::memory, 3));

  Record on_gpu = record(Resource::memory), on_host = on_gpu;
  on_host.roofline.memory_peak = 0;
  peaks.set_in(spec, on_gpu);
  peaks.set_in(spec, on_host);

  EXPECT_EQ(on_gpu.roofline.memory_peak, 20) << "the nominal peak is the ceiling of a copy";
  EXPECT_EQ(on_host.roofline.memory_peak, 3) << "as of a triad that runs after a copy";
}

TEST(MeasuredPeaks, AreNotThoseOfResultsThatNobodyTrusts) {
  MeasuredPeaks peaks;
  auto const spec = spec_of(core::DataType::f32);
  Record wrong = record(Resource::compute, 50), suspect = record(Resource::memory, 50);
  wrong.outcome = Outcome::fail;
  suspect.suspect = {"the times vary"};
  peaks.add(spec, wrong);
  peaks.add(spec, suspect);

  Record r = record();
  peaks.set_in(spec, r);
  EXPECT_EQ(r.roofline.compute_peak, 10);
  EXPECT_EQ(r.roofline.memory_peak, 20);
}

}  // namespace
}  // namespace quadrille::measure
