// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "attention/attention.hpp"

#include "kernels/attention_data.hpp"
#include "kernels/host_kernels.hpp"
#include "support/expect_fails.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace quadrille::kernels::attention {
namespace {

using core::DataType;
using test::Host;

template <class T>
void expect_right(Host& host, Variant<Problem> const& variant, Shape const& shape,
                  Sizes const& sizes = {}) {
  EXPECT_TRUE(expect_right<T>(*host.device, host.stream, variant, shape, sizes, {.o = 1}));
}

class AttentionTest : public testing::TestWithParam<std::string_view> {};

TEST_P(AttentionTest, EqualsSums) {
  Host host;
  Variant<Problem> const& variant = test::row(variants(), GetParam());
  for (Shape const& shape : kShapes) {
    expect_right<float>(host, variant, shape);
    expect_right<core::f16>(host, variant, shape);
    expect_right<core::bf16>(host, variant, shape);
    if (variant.supports(DataType::e4m3)) expect_right<core::e4m3>(host, variant, shape);
  }
}

TEST_P(AttentionTest, EqualsSumsOfManyTiles) {
  Host host;
  Variant<Problem> const& variant = test::row(variants(), GetParam());
  Shape const shape{.heads = 2, .kv_heads = 1, .queries = 100, .keys = 500, .mask = kCausal};
  expect_right<float>(host, variant, shape);
}

TEST_P(AttentionTest, TakesScoresWhoseExponentialsOverflow) {
  Host host;
  Variant<Problem> const& variant = test::row(variants(), GetParam());
  for (double const scores : {0.0, 100.0, -1e4}) {
    expect_right<float>(host, variant, kShapes[0], {.scores = scores});
    expect_right<core::bf16>(host, variant, kShapes[2], {.scores = scores});
  }
}

TEST_P(AttentionTest, TakesValuesOfAnySize) {
  Host host;
  Variant<Problem> const& variant = test::row(variants(), GetParam());
  for (double const values : {0.0, 1e30, 1e-30}) {
    expect_right<float>(host, variant, kShapes[0], {.values = values});
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, AttentionTest,
                         testing::ValuesIn(test::names_of(variants(), test::is_host_row)),
                         test::RowName{});

/// One query of a head of 64, two keys; scores 0 and log 3, so that weights are 1/4 and 3/4.
TEST(AttentionReference, MatchesHandComputedValues) {
  Host host;
  Problem problem = unallocated({.keys = 2}, DataType::f32);
  std::vector<float> q(64), k(128), v(128), o(64, -1);
  q[5] = 8;  // times 1 / sqrt(64)
  k[64 + 5] = std::log(3.0F);
  v[0] = 4;
  v[64] = 8;
  v[63] = -1;
  problem.q.data = q.data();
  problem.k.data = k.data();
  problem.v.data = v.data();
  problem.o.data = o.data();

  test::launch(variants(), "reference", problem, host.stream);
  host.stream.view().synchronize();

  EXPECT_FLOAT_EQ(o[0], 7);
  EXPECT_EQ(o[1], 0);
  EXPECT_FLOAT_EQ(o[63], -0.25F);
}

TEST(AttentionShape, MaskHidesLaterTokens) {
  Shape const full{.queries = 3, .keys = 5};
  Shape const prefix{.queries = 3, .keys = 5, .mask = kCausal};
  Shape const short_of_keys{.queries = 5, .keys = 3, .mask = kCausal};

  EXPECT_EQ(full.visible(0), 5);
  EXPECT_EQ(prefix.visible(0), 3);
  EXPECT_EQ(prefix.visible(2), 5);
  EXPECT_EQ(short_of_keys.visible(1), 0);
  EXPECT_EQ(short_of_keys.visible(2), 1);
  EXPECT_EQ(full.pairs(), 15);
  EXPECT_EQ(prefix.pairs(), 3 + 4 + 5);
  EXPECT_EQ(short_of_keys.pairs(), 1 + 2 + 3);
}

TEST(AttentionShape, CountsWork) {
  Shape const shape{.batch = 2, .heads = 6, .kv_heads = 3, .queries = 100, .keys = 40};
  double const tensors = 2 * 64 * (2 * 6 * 100 + 2 * 3 * 40) * 2;
  Shape causal = shape;
  causal.mask = kCausal;

  EXPECT_EQ(flop(shape), 4.0 * 2 * 6 * 100 * 40 * 64);
  EXPECT_EQ(flop(causal), 4.0 * 2 * 6 * (40 * 41 / 2) * 64);
  EXPECT_EQ(compulsory_bytes(shape, 2, 2), tensors);
  EXPECT_EQ(stored_scores_bytes(shape, 2), tensors + 16.0 * 2 * 6 * 100 * 40);
  // Two tiles of queries read 40 keys and values each; under the mask 4 and 40.
  EXPECT_EQ(tiled_bytes(shape, 2, 64), 2.0 * 2 * 2 * 6 * (100 + 2 * 40) * 64);
  EXPECT_EQ(tiled_bytes(causal, 2, 64), 2.0 * 2 * 2 * 6 * (100 + 4 + 40) * 64);
}

TEST(Attention, RefusesWhatDoesNotFitTogether) {
  Shape const good{.batch = 2, .heads = 6, .kv_heads = 3, .queries = 5, .keys = 4};
  Shape odd = good, wide = good, none = good;
  odd.kv_heads = 4;
  wide.head_size = 96;
  none.heads = 0;
  EXPECT_EQ(shape_error(good), "");
  EXPECT_NE(shape_error(odd).find("4 kv_heads do not divide 6 heads"), std::string::npos);
  EXPECT_NE(shape_error(wide).find("take 64, 128 or 256"), std::string::npos);
  EXPECT_NE(shape_error(none).find("must be positive"), std::string::npos);

  Problem wrong = unallocated(good, DataType::f32);
  wrong.v.rows -= 1;
  EXPECT_FAILS(require_consistent(wrong), "k or v is not");
  wrong = unallocated(good, DataType::f32);
  wrong.o.type = DataType::f16;
  EXPECT_FAILS(require_consistent(wrong), "o is not like q");
  wrong = unallocated(good, DataType::f32);
  wrong.q.ld += 1;
  EXPECT_FAILS(require_consistent(wrong), "q is not");
  EXPECT_FAILS(require_consistent(unallocated(odd, DataType::f32)), "take a divisor");
}

}  // namespace
}  // namespace quadrille::kernels::attention
