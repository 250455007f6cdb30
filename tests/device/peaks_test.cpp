// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/peaks.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace quadrille::device {
namespace {

using core::Compute;
using core::DataType;

// 132 multiprocessors at 1.98 GHz: an H200 of 132 SMs.
constexpr Peaks kHopper{90, 132 * 1.98e9};

TEST(Peaks, AreThoseOfTheDataSheet) {
  EXPECT_NEAR(kHopper.of(Unit::cuda_cores, DataType::f64, Compute::f64), 33.5e12, 0.1e12);
  EXPECT_NEAR(kHopper.of(Unit::tensor_cores, DataType::f64, Compute::f64), 66.9e12, 0.1e12);
  EXPECT_NEAR(kHopper.of(Unit::cuda_cores, DataType::f32, Compute::f32), 66.9e12, 0.1e12);
  EXPECT_NEAR(kHopper.of(Unit::tensor_cores, DataType::f32, Compute::tf32), 535e12, 1e12);
  EXPECT_NEAR(kHopper.of(Unit::tensor_cores, DataType::bf16, Compute::f32), 1070e12, 1e12);
  EXPECT_NEAR(kHopper.of(Unit::tensor_cores, DataType::i8, Compute::i32), 2141e12, 1e12);
}

TEST(Peaks, TheFasterUnitCounts) {
  EXPECT_EQ(kHopper.of(DataType::f64, Compute::f64),
            kHopper.of(Unit::tensor_cores, DataType::f64, Compute::f64));
  EXPECT_EQ(kHopper.of(DataType::f32, Compute::f32),
            kHopper.of(Unit::cuda_cores, DataType::f32, Compute::f32));
  Peaks const ampere_of_graphics{86, 1e9};
  EXPECT_EQ(ampere_of_graphics.of(DataType::f64, Compute::f64), 4e9);
}

TEST(Peaks, OfAHostAreItsVectorsTimesItsClock) {
  // Four cores at 2.5 GHz with two units of 256 bits.
  constexpr Peaks kHost{.clocks_of_all_units = 4 * 2.5e9, .fused_bits = 512};
  EXPECT_EQ(kHost.of(DataType::f64, Compute::f64), 160e9);
  EXPECT_EQ(kHost.of(DataType::f32, Compute::f32), 320e9);
  EXPECT_EQ(kHost.of(DataType::f32, Compute::f64), 160e9);
  EXPECT_EQ(kHost.of(DataType::f32, Compute::tf32), 0);
  EXPECT_EQ(kHost.of(DataType::i32, Compute::i32), 0);
}

TEST(Peaks, OfThisHostHaveAClockThatProcessorsHave) {
  Peaks const one = host_peaks(1);
  if (one.fused_bits == 0) GTEST_SKIP() << "no vector units that are known";
  EXPECT_GT(one.clocks_of_all_units, 0.8e9);
  EXPECT_LT(one.clocks_of_all_units, 7e9);
  // Threads beyond the cores add nothing. Clocks of two moments may differ.
  EXPECT_LT(host_peaks(1 << 20).clocks_of_all_units,
            2.0 * std::thread::hardware_concurrency() * one.clocks_of_all_units);
}

TEST(Peaks, WhatAUnitCannotOrNobodyKnowsIsZero) {
  EXPECT_EQ(kHopper.of(Unit::tensor_cores, DataType::f32, Compute::f32), 0);
  EXPECT_EQ(kHopper.of(DataType::i64, Compute::i64), 0);
  EXPECT_EQ((Peaks{70, 1e9}.of(DataType::bf16, Compute::f32)), 2 * 64 * 1e9);
  EXPECT_EQ((Peaks{13, 1e9}.of(DataType::f32, Compute::f32)), 0);
  EXPECT_EQ(Peaks{}.of(DataType::f64, Compute::f64), 0);
}

}  // namespace
}  // namespace quadrille::device
