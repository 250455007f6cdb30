// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "ring_attention/ring_attention.hpp"

#include "kernels/host_kernels.hpp"
#include "kernels/ring_attention_data.hpp"
#include "support/expect_fails.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

namespace quadrille::kernels::ring_attention {
namespace {

using core::DataType;
using test::Host;

template <class T>
void expect_right(Host& host, Variant<Problem> const& variant, Ring const& ring,
                  double scores = 1) {
  EXPECT_TRUE(expect_right<T>(*host.device, host.stream, variant, ring, scores, {.o = 1}));
}

class RingAttentionTest : public testing::TestWithParam<std::string_view> {};

TEST_P(RingAttentionTest, EqualsSums) {
  Host host;
  Variant<Problem> const& variant = test::row(variants(), GetParam());
  for (Ring const& ring : kRings) {
    expect_right<float>(host, variant, ring);
    expect_right<core::f16>(host, variant, ring);
    expect_right<core::bf16>(host, variant, ring);
  }
}

TEST_P(RingAttentionTest, EqualsSumsOfManyBlocks) {
  Host host;
  Ring const ring{{.heads = 2, .queries = 20, .keys = 400}, std::vector<std::int64_t>(24, 16)};
  expect_right<float>(host, test::row(variants(), GetParam()), ring);
}

/// Maxima of blocks are far apart: what was summed before, or what is added, becomes nothing.
TEST_P(RingAttentionTest, TakesScoresWhoseExponentialsOverflow) {
  Host host;
  Variant<Problem> const& variant = test::row(variants(), GetParam());
  for (double const scores : {0.0, 100.0, -1e4}) {
    expect_right<float>(host, variant, kRings[1], scores);
    expect_right<core::bf16>(host, variant, kRings[2], scores);
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, RingAttentionTest,
                         testing::ValuesIn(test::names_of(variants(), test::is_host_row)),
                         test::RowName{});

/// One query, and three keys in two blocks; scores 0 and log 3, then log 4: weights are 1/8, 3/8 and 1/2.
TEST(RingAttentionReference, MatchesHandComputedValues) {
  Host host;
  Ring const ring{{.keys = 3}, {2}};
  attention::Tensors<float> in{std::vector<float>(64), std::vector<float>(3 * 64),
                               std::vector<float>(3 * 64)};
  in.q[5] = 8;  // times 1 / sqrt(64)
  in.k[64 + 5] = std::log(3.0F);
  in.k[128 + 5] = std::log(4.0F);
  in.v[0] = 8;
  in.v[64] = 16;
  in.v[128] = 2;

  auto const o =
      attend(*host.device, host.stream, test::row(variants(), "reference"), ring, in).value();

  EXPECT_FLOAT_EQ(o[0], 8);
  EXPECT_EQ(o[1], 0);
}

TEST(RingAttentionSeen, BeginsWithAQueryAndGrows) {
  Seen const seen{.first_query = 2, .keys = -3, .more = 1};
  EXPECT_EQ(seen.by(1, 4), 0);
  EXPECT_EQ(seen.by(3, 4), 0);
  EXPECT_EQ(seen.by(5, 4), 2);
  EXPECT_EQ(seen.by(9, 4), 4);
}

TEST(RingAttention, RefusesWhatDoesNotFitTogether) {
  attention::Shape const shape{.heads = 6, .kv_heads = 3, .queries = 5, .keys = 4};
  Problem wrong = unallocated(shape, Seen{}, DataType::f32);
  wrong.v.rows -= 1;
  EXPECT_FAILS(require_consistent(wrong), "k or v is not");
  wrong = unallocated(shape, Seen{}, DataType::f32);
  wrong.seen.more = 2;
  EXPECT_FAILS(require_consistent(wrong), "or one more");
  wrong = unallocated(shape, Seen{}, DataType::f32);
  wrong.seen.first_query = 6;
  EXPECT_FAILS(require_consistent(wrong), "first_query is no query");
  wrong.seen.first_query = 1;
  EXPECT_FAILS(require_consistent(wrong), "take first_query = 0");
}

}  // namespace
}  // namespace quadrille::kernels::ring_attention
