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
  EXPECT_NEAR(times->of({.sequences = 3, .context = 1000}), 1000 * kv / 2e12, 1e-12);
  EXPECT_NEAR(times->of({.moved = 1000}), 1000 * kv / 20e9, 1e-9);
  EXPECT_NEAR(times->of({.copied = 1000}), 1000 * 2 * kv / 2e12, 1e-12);
  // Each of 10 tokens attends to 90 others, to itself, and to those of the 10 before it.
  double const pairs = 10 * 90 + 55;
  EXPECT_EQ((Chunk{10, 90}.pairs()), pairs);
  EXPECT_NEAR(times->of({.chunks = {{10, 90}}}), pairs * 4 * 5120.0 * 20 / 200e12, 1e-15);
  EXPECT_NEAR(times->tokens_per_second(1000), 200e12 / (2 * weights), 1);
  EXPECT_TRUE(times->covers({.rows = 1 << 30}));
}

// Of a layer: products of 1 and 9 rows, attention of 1 and 5 tokens behind 0 and 10, and of single tokens
// that read 4 and 8, of 1 and 2 sequences; of a step what is besides layers where 0, 1 and 5 tokens are drawn.
Measurement measured() {
  return {.products = {{1, 9}, {0}, {10, 50}},
          .chunks = {{1, 5}, {0, 10}, {1, 3, 8, 20}},
          .singles = {{4, 8}, {1, 2}, {5, 6, 7, 9}},
          .ends = {{1, 9}, {0, 1, 5}, {2, 3, 5, 4, 6, 8}},
          .memory_rate = 2,
          .link_rate = 4,
          .kernels = ""};
}
constexpr Transformer kSmall{
    .layers = 3, .heads = 1, .kv_heads = 1, .head_size = 1, .element_bytes = 1};

TEST(MeasuredTimes, AreThoseOfAllLayersAndParts) {
  MeasuredTimes const times{kSmall, measured()};
  EXPECT_EQ(times.of({}), 0);
  EXPECT_EQ(times.of({.rows = 9}), 3 * 50 + 4);
  EXPECT_EQ(times.of({.rows = 9, .drawn = 1}), 3 * 50 + 6);
  EXPECT_EQ(times.of({.rows = 9, .drawn = 3}), 3 * 50 + 7);
  EXPECT_EQ(times.of({.rows = 5, .drawn = 5}), 3 * 30 + 6.5);
  EXPECT_EQ(times.of({.chunks = {{5, 10}}}), 3 * 20);
  EXPECT_EQ(times.of({.chunks = {{1, 10}}}), 3 * 3);
  EXPECT_EQ(times.of({.chunks = {{5, 0}}}), 3 * 8);
  EXPECT_EQ(times.of({.sequences = 1, .context = 8}), 3 * 7);
  EXPECT_EQ(times.of({.sequences = 2, .context = 4}), 3 * 6);
  // K and V of a token are 6 bytes.
  EXPECT_EQ(times.of({.moved = 2}), 2 * 6.0 / 4);
  EXPECT_EQ(times.of({.copied = 2}), 2 * 2 * 6.0 / 2);
  EXPECT_EQ(times.of({.rows = 9, .chunks = {{5, 10}, {5, 0}}, .sequences = 2, .context = 4}),
            3 * (50 + 20 + 8 + 6) + 4);
  EXPECT_EQ(times.tokens_per_second(9), 9 / 150.0);
}

TEST(MeasuredTimes, CutChunksOfMoreTokensIntoSuchThatWereMeasured) {
  MeasuredTimes const times{kSmall, measured()};
  EXPECT_DOUBLE_EQ(times.of({.chunks = {{12, 0}}}),
                   times.of({.chunks = {{5, 0}, {5, 5}, {2, 10}}}));
  EXPECT_DOUBLE_EQ(times.of({.chunks = {{5, 20}}}), 3 * 40) << "twice as many others";
  EXPECT_DOUBLE_EQ(times.of({.sequences = 2, .context = 16}), 3 * 18);
  EXPECT_DOUBLE_EQ(times.of({.rows = 18}), 3 * 100 + 8);
  EXPECT_DOUBLE_EQ(times.of({.rows = 27, .drawn = 5}), 3 * 150 + 4 + 4 + 8)
      << "of three parts that are filled up";
  EXPECT_DOUBLE_EQ(
      times.of({.rows = 27, .chunks = {{10, 0}}, .sequences = 8, .context = 8, .drawn = 2}),
      3 * 150 + times.of({.chunks = {{10, 0}}, .sequences = 8, .context = 8}) + 6 + 6 + 4)
      << "two have tokens";
}

TEST(MeasuredTimes, TellWhatIsBeyondThem) {
  MeasuredTimes const times{kSmall, measured()};
  EXPECT_TRUE(times.covers(
      {.rows = 9, .chunks = {{5, 10}, {1, 0}}, .sequences = 2, .context = 8, .moved = 1 << 30}));
  EXPECT_FALSE(times.covers({.rows = 10}));
  EXPECT_FALSE(times.covers({.chunks = {{1, 0}, {6, 0}}}));
  EXPECT_FALSE(times.covers({.chunks = {{1, 11}}}));
  EXPECT_FALSE(times.covers({.sequences = 3, .context = 8}));
  EXPECT_FALSE(times.covers({.sequences = 2, .context = 9}));
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
