// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/times.hpp"

#include <gtest/gtest.h>

namespace quadrille::workloads::serving {
namespace {

// Half a model of 13 thousand million weights: 20 layers of 40 heads of 128.
constexpr Transformer kModel{
    .layers = 20, .heads = 40, .kv_heads = 40, .head_size = 128, .element_bytes = 2};

TEST(Transformer, TakesTwoVectorsForEachTokenAndLayer) {
  EXPECT_EQ(kModel.kv_bytes(), 2 * 40 * 128 * 20 * 2);
  EXPECT_EQ(kModel.products(), 12) << "of width x width in a layer";
  Transformer shared = kModel;
  shared.kv_heads = 10;
  EXPECT_EQ(shared.kv_bytes(), kModel.kv_bytes() / 4);
  EXPECT_EQ(shared.products(), 10.5);
}

TEST(StepTimes, AreThoseOfTheSlowerOfArithmeticAndMemory) {
  auto const times = parse_times("200 TFLOP/s, 2 TB/s, 20 GB/s", kModel);
  ASSERT_TRUE(times) << times.why();
  double const weights = 20 * 12 * 5120.0 * 5120;
  // 100 rows take as long as reading the weights.
  EXPECT_NEAR(times->of({.rows = 1}), 2 * weights / 2e12, 1e-9);
  EXPECT_NEAR(times->of({.rows = 100}), 2 * weights / 2e12, 1e-9);
  EXPECT_NEAR(times->of({.rows = 1000}), 1000 * 2 * weights / 200e12, 1e-9);
  EXPECT_EQ(times->of({}), 0);

  double const kv = 2 * 40 * 128 * 20 * 2;
  EXPECT_NEAR(times->of({.context = 1000}), 1000 * kv / 2e12, 1e-12);
  EXPECT_NEAR(times->of({.moved = 1000}), 1000 * kv / 20e9, 1e-9);
  EXPECT_NEAR(times->of({.copied = 1000}), 1000 * 2 * kv / 2e12, 1e-12);
  EXPECT_NEAR(times->of({.pairs = 1000}), 1000 * 4 * 5120.0 * 20 / 200e12, 1e-12);
  EXPECT_NEAR(times->tokens_per_second(1000), 200e12 / (2 * weights), 1);
}

TEST(StepTimes, InterpolateWhatWasMeasured) {
  StepTimes const times{{.layers = 1, .heads = 1, .kv_heads = 1, .head_size = 1},
                        {{1, 2}, {10, 4}, {20, 10}},
                        1,
                        1,
                        1};
  EXPECT_NEAR(times.of({.rows = 1}), 12 * 2, 1e-9);
  EXPECT_NEAR(times.of({.rows = 4}), 12 * (2 + 2.0 / 3), 1e-9);
  EXPECT_NEAR(times.of({.rows = 20}), 12 * 10, 1e-9);
  EXPECT_NEAR(times.of({.rows = 40}), 12 * 20, 1e-9) << "proportional behind the last";
}

TEST(StepTimes, SayWhatIsMissing) {
  for (char const* text : {"", "200 TFLOP/s", "200 TFLOP/s, 2 TB/s", "1, 2, 3", ",,",
                           "2 TB/s, 200 TFLOP/s, 20 GB/s", "200 TFLOP/s, 2 ms, 20 GB/s"}) {
    auto const times = parse_times(text, kModel);
    ASSERT_FALSE(times) << text;
    EXPECT_NE(times.why().find("250 TFLOP/s, 2 TB/s, 25 GB/s"), std::string::npos);
  }
}

}  // namespace
}  // namespace quadrille::workloads::serving
