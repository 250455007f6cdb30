// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/peaks.hpp"

#include <gtest/gtest.h>

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

TEST(Peaks, WhatAUnitCannotOrNobodyKnowsIsZero) {
  EXPECT_EQ(kHopper.of(Unit::tensor_cores, DataType::f32, Compute::f32), 0);
  EXPECT_EQ(kHopper.of(DataType::i64, Compute::i64), 0);
  EXPECT_EQ((Peaks{70, 1e9}.of(DataType::bf16, Compute::f32)), 2 * 64 * 1e9);
  EXPECT_EQ((Peaks{13, 1e9}.of(DataType::f32, Compute::f32)), 0);
  EXPECT_EQ(Peaks{}.of(DataType::f64, Compute::f64), 0);
}

}  // namespace
}  // namespace quadrille::device
