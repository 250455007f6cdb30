// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/peaks.hpp"

#include <gtest/gtest.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <algorithm>
#include <chrono>
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
  EXPECT_EQ(kHopper.of(Unit::tensor_cores, DataType::f32, Compute::bf16),
            kHopper.of(Unit::tensor_cores, DataType::bf16, Compute::f32));
  EXPECT_NEAR(kHopper.of(Unit::tensor_cores, DataType::bf16, Compute::f32), 1070e12, 1e12);
  EXPECT_NEAR(kHopper.of(Unit::tensor_cores, DataType::i8, Compute::i32), 2141e12, 1e12);
  EXPECT_NEAR(kHopper.of(Unit::tensor_cores, DataType::e4m3, Compute::f32), 2141e12, 1e12);
  EXPECT_EQ((Peaks{80, 108 * 1.41e9}).of(DataType::e4m3, Compute::f32), 0);
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

#ifdef __x86_64__
/// Operations per second of one core that does nothing but multiply and add doubles in registers. The
/// shortest of many short runs: others wait for the core too.
__attribute__((target("avx2,fma"))) double fused_rate_of_avx2() {
  constexpr int kChains = 10;  // two units with a latency of up to five cycles
  constexpr int kRounds = 4000;
  __m256d const h = _mm256_set1_pd(0.5);
  double shortest = 1;
  for (int run = 0; run < 1000; ++run) {
    auto const start = std::chrono::steady_clock::now();
    __m256d s0 = h, s1 = h, s2 = h, s3 = h, s4 = h, s5 = h, s6 = h, s7 = h, s8 = h, s9 = h;
    for (int i = 0; i < kRounds; ++i) {
      s0 = _mm256_fmadd_pd(s0, h, h);
      s1 = _mm256_fmadd_pd(s1, h, h);
      s2 = _mm256_fmadd_pd(s2, h, h);
      s3 = _mm256_fmadd_pd(s3, h, h);
      s4 = _mm256_fmadd_pd(s4, h, h);
      s5 = _mm256_fmadd_pd(s5, h, h);
      s6 = _mm256_fmadd_pd(s6, h, h);
      s7 = _mm256_fmadd_pd(s7, h, h);
      s8 = _mm256_fmadd_pd(s8, h, h);
      s9 = _mm256_fmadd_pd(s9, h, h);
      asm volatile("" : "+x"(s0), "+x"(s1), "+x"(s2), "+x"(s3), "+x"(s4));
      asm volatile("" : "+x"(s5), "+x"(s6), "+x"(s7), "+x"(s8), "+x"(s9));
    }
    std::chrono::duration<double> const seconds = std::chrono::steady_clock::now() - start;
    shortest = std::min(shortest, seconds.count());
  }
  return 2.0 * 4 * kChains * kRounds / shortest;
}

TEST(Peaks, OfThisHostAreWhatItsUnitsReach) {
  if (host_peaks(1).fused_bits != 2 * 256) GTEST_SKIP() << "other vectors than the test has";
  double const reached = fused_rate_of_avx2();
  double const peak = host_peaks(1).of(DataType::f64, Compute::f64);
  EXPECT_LT(reached, 1.15 * peak);  // clocks of two moments differ
  EXPECT_GT(reached, 0.4 * peak);   // and another thread may have the core's other half
}
#endif

TEST(Peaks, OfThisHostCountCores) {
  Peaks const one = host_peaks(1);
  if (one.fused_bits == 0) GTEST_SKIP() << "no vector units that are known";
  // Threads beyond the cores add nothing. A busy host slows both, at other moments.
  EXPECT_LT(host_peaks(1 << 20).clocks_of_all_units,
            3.0 * std::thread::hardware_concurrency() * one.clocks_of_all_units);
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
