// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/generator.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <set>

namespace quadrille::core {
namespace {

constexpr DataKind kAll[] = {DataKind::uniform, DataKind::normal,  DataKind::positive,
                             DataKind::scaled,  DataKind::integer, DataKind::constant,
                             DataKind::zeros};

/// Trailing zero bits of the significand that every one of many values has: 0 where all 53 are used.
int unused_bits(DataKind kind) {
  std::uint64_t seen = 0;
  for (int j = 0; j < 100000; ++j) {
    seen |= std::bit_cast<std::uint64_t>(generate<double>(kind, 1, 0, 0, j));
  }
  return std::countr_zero(seen);
}

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments moments(DataKind kind, std::uint64_t seed) {
  constexpr int kSide = 1000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j) {
      auto const x = generate<double>(kind, seed, 0, i, j);
      sum += x;
      squares += x * x;
    }
  }
  constexpr double kCount = static_cast<double>(kSide) * kSide;
  double const mean = sum / kCount;
  return {mean, squares / kCount - mean * mean};
}

/// Correlation of two uniform sequences of n values, times sqrt(n): about N(0, 1) if independent.
template <class A, class B>
double scaled_correlation(A a, B b) {
  constexpr int kCount = 100000;
  double sum = 0;
  for (int n = 0; n < kCount; ++n) sum += a(n) * b(n);
  return sum / kCount * 3 * std::sqrt(kCount);
}

double uniform(std::uint64_t seed, std::uint64_t tag, std::int64_t i, std::int64_t j) {
  return generate<double>(DataKind::uniform, seed, tag, i, j);
}

TEST(Generator, NamesReadBack) {
  for (DataKind const kind : kAll) EXPECT_EQ(parse_enum<DataKind>(to_text(kind)), kind);
  EXPECT_FALSE(parse_enum<DataKind>("random"));
}

// Stored results and peers on other machines rely on these values.
TEST(Generator, ValuesNeverChange) {
  EXPECT_EQ(element_hash(row_key(1, 0, 0), 0), 0xa385ef24fa6a992ULL);
  EXPECT_EQ(element_hash(row_key(7, 3, 12345678901), 9876543210), 0x262e0837653c5fcULL);
  EXPECT_EQ(generate<float>(DataKind::uniform, 1, 0, 2, 3), -0x1.37f928p-3F);
  EXPECT_EQ(generate<double>(DataKind::uniform, 1, 0, 2, 3), -0x1.37f927f04fad8p-3);
  EXPECT_EQ(generate<double>(DataKind::normal, 1, 0, 2, 3), -0x1.2afb9807a6435p-6);
  EXPECT_EQ(generate<float>(DataKind::normal, 1, 0, 2, 3), -0x1.2afc3p-6F);
  EXPECT_EQ(generate<double>(DataKind::positive, 1, 0, 2, 3), 0x1.b201b603ec14ap-2);
  EXPECT_EQ(generate<double>(DataKind::scaled, 1, 0, 2, 3), -0x1.37f927f04fad8p-5);
  EXPECT_EQ(generate<double>(DataKind::integer, 1, 0, 2, 3), -2);
  EXPECT_EQ(generate<double>(DataKind::constant, 1, 0, 2, 3), 1);
  EXPECT_EQ(generate<double>(DataKind::zeros, 1, 0, 2, 3), 0);
}

TEST(Generator, CanRunAtCompileTime) {
  static_assert(generate<float>(DataKind::constant, 1, 2, 3, 4) == 1.0F);
  static_assert(generate<double>(DataKind::uniform, 1, 2, 3, 4) < 1.0);
}

TEST(Generator, EveryArgumentMatters) {
  auto const base = element_hash(row_key(1, 1, 5), 9);
  EXPECT_NE(base, element_hash(row_key(2, 1, 5), 9));
  EXPECT_NE(base, element_hash(row_key(1, 2, 5), 9));
  EXPECT_NE(base, element_hash(row_key(1, 1, 6), 9));
  EXPECT_NE(base, element_hash(row_key(1, 1, 5), 10));
  EXPECT_NE(element_hash(row_key(1, 1, 5), 9), element_hash(row_key(1, 1, 9), 5));
}

TEST(Generator, NeighboursAreUncorrelated) {
  auto const along = [](std::int64_t n) { return uniform(1, 0, 0, n); };
  auto const down = [](std::int64_t n) { return uniform(1, 0, n, 0); };

  EXPECT_LT(std::abs(scaled_correlation(along, [](int n) { return uniform(1, 0, 0, n + 1); })), 4);
  EXPECT_LT(std::abs(scaled_correlation(along, [](int n) { return uniform(1, 0, 1, n); })), 4);
  EXPECT_LT(std::abs(scaled_correlation(along, [](int n) { return uniform(1, 1, 0, n); })), 4);
  EXPECT_LT(std::abs(scaled_correlation(along, [](int n) { return uniform(2, 0, 0, n); })), 4);
  EXPECT_LT(std::abs(scaled_correlation(down, [](int n) { return uniform(1, 0, n + 1, 0); })), 4);
  EXPECT_LT(std::abs(scaled_correlation(along, down)), 4);
  EXPECT_GT(scaled_correlation(along, along), 100) << "the test itself sees correlation";
}

TEST(Generator, HashesDoNotCollide) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t tag = 0; tag < 3; ++tag) {
    for (int i = 0; i < 100; ++i) {
      for (int j = 0; j < 100; ++j) seen.insert(element_hash(row_key(1, tag, i), j));
    }
  }
  EXPECT_EQ(seen.size(), 30000U);
}

TEST(Generator, UniformIsInRange) {
  for (int j = 0; j < 100000; ++j) {
    double const x = uniform(1, 0, 0, j);
    ASSERT_GE(x, -1);
    ASSERT_LT(x, 1);
    ASSERT_NEAR(generate<float>(DataKind::uniform, 1, 0, 0, j), x, 0x1p-24);
    double const p = generate<double>(DataKind::positive, 1, 0, 0, j);
    ASSERT_GE(p, 0);
    ASSERT_LT(p, 1);
    ASSERT_LT(std::abs(generate<double>(DataKind::scaled, 1, 0, 0, j)), 128);
  }
  EXPECT_EQ(value_from_hash<float>(DataKind::uniform, 0), -1);
  EXPECT_EQ(value_from_hash<float>(DataKind::uniform, ~0ULL), 1 - 0x1p-24);
  EXPECT_EQ(value_from_hash<double>(DataKind::uniform, 0), -1);
  EXPECT_EQ(value_from_hash<double>(DataKind::uniform, ~0ULL), 1 - 0x1p-53);
  EXPECT_EQ(value_from_hash<double>(DataKind::positive, ~0ULL), 1 - 0x1p-53);
  EXPECT_EQ(value_from_hash<double>(DataKind::scaled, 0), -0x1p-8);
}

// What f32 holds would pass a check of f64 for right, and draw less power.
TEST(Generator, RandomKindsUseEveryBitOfTheirType) {
  for (DataKind const kind :
       {DataKind::uniform, DataKind::normal, DataKind::positive, DataKind::scaled}) {
    EXPECT_EQ(unused_bits(kind), 0) << to_text(kind);
  }
  EXPECT_GT(unused_bits(DataKind::integer), 40) << "the test itself sees unused bits";
}

TEST(Generator, MomentsAreThoseOfTheKind) {
  // Five standard errors of a million values.
  Moments const u = moments(DataKind::uniform, 1);
  EXPECT_NEAR(u.mean, 0, 5e-3 * std::sqrt(1.0 / 3));
  EXPECT_NEAR(u.variance, 1.0 / 3, 5e-3 * 0.3);
  Moments const n = moments(DataKind::normal, 2);
  EXPECT_NEAR(n.mean, 0, 5e-3);
  EXPECT_NEAR(n.variance, 1, 5e-3 * 1.5);
  Moments const k = moments(DataKind::integer, 3);
  EXPECT_NEAR(k.mean, 0, 5e-3 * 2.6);
  EXPECT_NEAR(k.variance, 60.0 / 9, 5e-3 * 6);
}

TEST(Generator, IntegersAreMinusFourToFourEachAsOften) {
  std::array<int, 9> count{};
  for (int j = 0; j < 90000; ++j) {
    auto const x = generate<int>(DataKind::integer, 1, 0, 0, j);
    ASSERT_GE(x, -4);
    ASSERT_LE(x, 4);
    ++count[static_cast<std::size_t>(x + 4)];
  }
  for (int const c : count) EXPECT_NEAR(c, 10000, 500);
}

TEST(Generator, IntegerTypesTakeIntegersForRandomKinds) {
  for (int j = 0; j < 1000; ++j) {
    auto const expected = generate<std::int32_t>(DataKind::integer, 1, 0, 0, j);
    ASSERT_EQ(generate<std::int32_t>(DataKind::uniform, 1, 0, 0, j), expected);
    ASSERT_EQ(generate<std::int32_t>(DataKind::normal, 1, 0, 0, j), expected);
    ASSERT_EQ(generate<std::int8_t>(DataKind::integer, 1, 0, 0, j), expected);
  }
  // Each of the range of i8 about as often.
  std::array<int, 256> count{};
  for (int j = 0; j < 256'000; ++j) {
    ++count[static_cast<std::uint8_t>(generate<std::int8_t>(DataKind::uniform, 1, 0, 0, j))];
  }
  for (int const c : count) EXPECT_NEAR(c, 1000, 200);
  EXPECT_EQ(generate<std::int64_t>(DataKind::constant, 1, 0, 0, 0), 1);
}

template <class T>
void expect_any_bits() {
  T ones = 0, zeros = 0;
  for (int j = 0; j < 1000; ++j) {
    auto const bits = generate<T>(DataKind::bits, 1, 0, 0, j);
    ASSERT_EQ(generate<T>(DataKind::inverted, 1, 0, 0, j), static_cast<T>(~bits));
    ones = static_cast<T>(ones | bits);
    zeros = static_cast<T>(zeros | ~bits);
  }
  EXPECT_EQ(ones, static_cast<T>(-1));
  EXPECT_EQ(zeros, static_cast<T>(-1));
}

TEST(Generator, IntegersOfAnyBitsHaveEachBitAsZeroAndAsOne) {
  expect_any_bits<std::int8_t>();
  expect_any_bits<std::int32_t>();
  expect_any_bits<std::int64_t>();
}

}  // namespace
}  // namespace quadrille::core
