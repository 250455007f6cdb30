// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/types.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace quadrille::core {
namespace {

constexpr DataType kAll[] = {DataType::f64,  DataType::f32,  DataType::f16,
                             DataType::bf16, DataType::i64,  DataType::i32,
                             DataType::i8,   DataType::e4m3, DataType::e5m2};

TEST(Types, NamesReadBack) {
  for (DataType const type : kAll) EXPECT_EQ(parse_enum<DataType>(to_text(type)), type);
  EXPECT_EQ(to_text(DataType::bf16), "bf16");
  EXPECT_FALSE(parse_enum<DataType>("F64"));
  EXPECT_FALSE(parse_enum<DataType>(""));
}

TEST(Types, EpsilonIsThatOfTheType) {
  EXPECT_EQ(epsilon_of(DataType::f64), std::numeric_limits<double>::epsilon());
  EXPECT_EQ(epsilon_of(DataType::f32), std::numeric_limits<float>::epsilon());
  EXPECT_EQ(epsilon_of(DataType::f16), 1.0 / 1024);
  EXPECT_EQ(epsilon_of(DataType::bf16), 1.0 / 128);
  EXPECT_EQ(epsilon_of(DataType::i32), 0);
}

TEST(Types, VisitCallsWithTheTypeOfTheName) {
  for (DataType const type : kAll) {
    visit_type(type, [&](auto zero) {
      EXPECT_EQ(type_of<decltype(zero)>(), type);
      EXPECT_EQ(sizeof(zero), size_of(type));
    });
  }
  EXPECT_EXIT(visit_arithmetic(DataType::f16, [](auto) {}), testing::ExitedWithCode(4),
              "16 and 8 bits");
}

TEST(Types, SplitCoversTheRangeOnceLargerPartsFirst) {
  for (std::int64_t const n : {0, 1, 2, 7, 12, 1000}) {
    for (std::int64_t const parts : {1, 2, 3, 5, 8}) {
      std::int64_t next = 0;
      std::int64_t before = n;
      for (std::int64_t p = 0; p < parts; ++p) {
        Range const range = split_evenly(n, parts, p);
        EXPECT_EQ(range.first, next);
        EXPECT_LE(range.count, before);
        EXPECT_GE(range.count, n / parts);
        EXPECT_LE(range.count, n / parts + 1);
        next += range.count;
        before = range.count;
      }
      EXPECT_EQ(next, n);
    }
  }
}

}  // namespace
}  // namespace quadrille::core
