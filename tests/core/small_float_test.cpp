// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/types.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace quadrille::core {
namespace {

template <class T>
T of_bits(unsigned bits) {
  T x;
  x.bits = static_cast<decltype(x.bits)>(bits);
  return x;
}

template <class T>
class SmallFloats : public testing::Test {
 protected:
  static constexpr unsigned kCount = 1U << (8 * sizeof(T));
  static constexpr unsigned kSign = kCount / 2;
};
using Formats = testing::Types<f16, bf16, e4m3, e5m2>;
TYPED_TEST_SUITE(SmallFloats, Formats);

TYPED_TEST(SmallFloats, EveryValueReadsBack) {
  for (unsigned bits = 0; bits < this->kCount; ++bits) {
    auto const x = of_bits<TypeParam>(bits);
    auto const value = static_cast<double>(x);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<double>(TypeParam{value})));
      EXPECT_FALSE(x == x);
    } else {
      ASSERT_EQ(TypeParam{value}.bits, bits);
    }
  }
}

TYPED_TEST(SmallFloats, ValuesInBetweenGoToTheNearestAndTiesToEven) {
  for (unsigned bits = 0; bits + 1 < this->kSign; ++bits) {
    auto const low = static_cast<double>(of_bits<TypeParam>(bits));
    auto const high = static_cast<double>(of_bits<TypeParam>(bits + 1));
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    double const middle = (low + high) / 2;
    ASSERT_EQ(TypeParam{middle}.bits, bits % 2 == 0 ? bits : bits + 1) << low;
    ASSERT_EQ(TypeParam{std::nextafter(middle, low)}.bits, bits) << low;
    ASSERT_EQ(TypeParam{std::nextafter(middle, high)}.bits, bits + 1) << low;
    ASSERT_EQ(TypeParam{-middle}.bits, TypeParam{middle}.bits | this->kSign) << low;
  }
}

TYPED_TEST(SmallFloats, ConversionsFromAndToF32AreThoseOfF64) {
  for (unsigned bits = 0; bits < this->kCount; ++bits) {
    auto const x = of_bits<TypeParam>(bits);
    auto const value = static_cast<float>(x);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(static_cast<double>(x))) << bits;
      ASSERT_TRUE(std::isnan(static_cast<double>(TypeParam{value}))) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), static_cast<double>(x)) << bits;
    ASSERT_EQ(TypeParam{value}.bits, bits);
  }
  // All exponents of f32, and what lies about each place where a mantissa is cut.
  for (std::uint32_t exponent = 0; exponent < 512; ++exponent) {
    for (int place = 0; place < 23; ++place) {
      for (std::uint32_t const pattern : {1U, 2U, 3U, 5U, 6U, 7U}) {
        for (std::uint32_t const rest : {0U, 1U, ~0U}) {
          std::uint32_t const mantissa = ((pattern << place) + rest) & 0x7fffffU;
          std::uint32_t const wide = exponent << 23 | mantissa;
          float value = 0;
          std::memcpy(&value, &wide, sizeof value);
          ASSERT_EQ(TypeParam{value}.bits, TypeParam{static_cast<double>(value)}.bits) << value;
        }
      }
    }
  }
}

TYPED_TEST(SmallFloats, WhatIsTooLargeIsInfinite) {
  if (std::is_same_v<TypeParam, e4m3>) GTEST_SKIP() << "has no infinity";
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double const largest = std::is_same_v<TypeParam, f16>    ? 65504
                         : std::is_same_v<TypeParam, e5m2> ? 57344
                                                           : 0x1.fep127;
  double const step = std::is_same_v<TypeParam, f16>    ? 32
                      : std::is_same_v<TypeParam, e5m2> ? 8192
                                                        : 0x1p120;
  EXPECT_EQ(static_cast<double>(TypeParam{largest}), largest);
  EXPECT_EQ(static_cast<double>(TypeParam{largest + step / 2 - step / 4}), largest);
  EXPECT_EQ(static_cast<double>(TypeParam{largest + step / 2}), kInfinity);
  EXPECT_EQ(static_cast<double>(TypeParam{-1e300}), -kInfinity);
  EXPECT_EQ(static_cast<double>(TypeParam{kInfinity}), kInfinity);
  EXPECT_EQ(TypeParam{5e-324}.bits, 0);
  EXPECT_EQ(TypeParam{-1e-300}.bits, this->kSign);
}

TEST(SmallFloat, E4m3EndsAt448AndHasNanBeyond) {
  EXPECT_EQ(e4m3{448.0}.bits, 0x7e);
  EXPECT_EQ(e4m3{464.0}.bits, 0x7e) << "a tie goes to the even one";
  EXPECT_EQ(e4m3{464.1}.bits, 0x7f);
  EXPECT_EQ(e4m3{-1e300}.bits, 0xff);
  EXPECT_EQ(e4m3{std::numeric_limits<float>::infinity()}.bits, 0x7f);
  EXPECT_EQ(e4m3{0x1p-9}.bits, 0x01);
  EXPECT_EQ(e4m3{1.0}.bits, 0x38);
  EXPECT_TRUE(std::isnan(static_cast<float>(of_bits<e4m3>(0x7f))));
  EXPECT_EQ(static_cast<float>(of_bits<e4m3>(0x78)), 256);
}

TEST(SmallFloat, Bf16IsTheUpperHalfOfAnF32) {
  for (float const value : {1.0F, -2.5F, 0x1.8p-130F, 0x1p-133F, 0x1.fcp127F, 0.0F}) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    EXPECT_EQ(static_cast<float>(of_bits<bf16>(bits >> 16)), value);
  }
}

TEST(SmallFloat, F16HasTheBitsOfTheStandard) {
  EXPECT_EQ(f16{1.0}.bits, 0x3c00);
  EXPECT_EQ(f16{-2.0}.bits, 0xc000);
  EXPECT_EQ(f16{65504.0}.bits, 0x7bff);
  EXPECT_EQ(f16{0x1p-24}.bits, 0x0001);
  EXPECT_EQ(f16{0x1p-14}.bits, 0x0400);
  EXPECT_EQ(f16{1.0 / 3}.bits, 0x3555);
}

}  // namespace
}  // namespace quadrille::core
