// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "paged_decode/paged_decode.hpp"

#include "kernels/host_kernels.hpp"
#include "kernels/paged_decode_data.hpp"
#include "support/expect_fails.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

namespace quadrille::kernels::paged_decode {
namespace {

using core::DataType;
using test::Host;

template <class T>
void expect_right(Host& host, Variant<Problem> const& variant, Cache const& cache) {
  for (std::int64_t const gap : {0, 8}) {
    EXPECT_TRUE(expect_right<T>(*host.device, host.stream, variant, cache, {.o = 1}, gap));
  }
}

class PagedDecodeTest : public testing::TestWithParam<std::string_view> {};

TEST_P(PagedDecodeTest, EqualsSums) {
  Host host;
  Variant<Problem> const& variant = test::row(variants(), GetParam());
  for (Cache const& cache : kCaches) {
    expect_right<float>(host, variant, cache);
    expect_right<core::f16>(host, variant, cache);
    expect_right<core::bf16>(host, variant, cache);
  }
}

TEST_P(PagedDecodeTest, EqualsSumsOfLatentKeys) {
  Host host;
  Variant<Problem> const& variant = test::row(variants(), GetParam());
  if (variant.where == Where::kokkos) GTEST_SKIP() << "takes no latent keys";
  for (Cache const& cache : kLatentCaches) {
    expect_right<float>(host, variant, cache);
    expect_right<core::bf16>(host, variant, cache);
  }
}

TEST_P(PagedDecodeTest, EqualsSumsOfManyParts) {
  Host host;
  Cache const cache{.heads = 2, .kv_heads = 1, .block_size = 128, .lengths = {1023, 1024, 1025}};
  expect_right<float>(host, test::row(variants(), GetParam()), cache);
}

INSTANTIATE_TEST_SUITE_P(Variants, PagedDecodeTest,
                         testing::ValuesIn(test::names_of(variants(), test::is_host_row)),
                         test::RowName{});

/// Two tokens in blocks 1 and 0 of a pool of 2 x 8, scores 0 and log 3: weights are 1/4 and 3/4.
TEST(PagedDecodeReference, MatchesHandComputedValues) {
  Host host;
  Shape const shape{.sequences = 1, .block_size = 8, .blocks = 2, .tokens = 9, .longest = 9};
  Problem problem = unallocated(shape, DataType::f32);
  std::vector<float> q(64), k(16 * 64, -1000), v(16 * 64), o(64, -1);
  std::vector<std::int32_t> const lengths{9}, table{1, 0};
  q[5] = 8;               // times 1 / sqrt(64)
  k[8 * 64 + 5] = 0;      // the first token, in block 1
  k[5] = std::log(3.0F);  // the ninth, in block 0
  v[8 * 64] = 4;
  v[0] = 8;
  problem.q.data = q.data();
  problem.k.data = k.data();
  problem.v.data = v.data();
  problem.o.data = o.data();
  problem.lengths = lengths.data();
  problem.table = table.data();

  test::launch(variants(), "reference", problem, host.stream);
  host.stream.view().synchronize();

  EXPECT_FLOAT_EQ(o[0], 7);
  EXPECT_EQ(o[1], 0);
}

TEST(PagedDecodeShape, CountsWork) {
  Shape const shape{.sequences = 3,
                    .heads = 8,
                    .kv_heads = 2,
                    .head_size = 128,
                    .block_size = 16,
                    .blocks = 9,
                    .tokens = 96,
                    .longest = 50};

  EXPECT_EQ(shape.blocks_of(50), 4);
  EXPECT_EQ(flop(shape), 4.0 * 96 * 8 * 128);
  EXPECT_EQ(compulsory_bytes(shape, 2), 2.0 * 2 * 128 * (96 * 2 + 3 * 8) + 4 * (96 / 16 + 3));
  Shape const latent{
      .sequences = 3, .heads = 8, .head_size = kLatentKey, .tokens = 96, .latent = true};
  EXPECT_EQ(flop(latent), 2.0 * 96 * 8 * (576 + 512));
  EXPECT_EQ(compulsory_bytes(latent, 2),
            2.0 * (96 * 576 + 3 * 8 * (576 + 512)) + 4 * (96 / 16 + 3));
  EXPECT_EQ(contiguous_row(shape, 4, 50, 1, 7), (4 * 2 + 1 * 4) * 16 + 7);
}

TEST(PagedDecode, RefusesWhatDoesNotFitTogether) {
  Shape const good{
      .sequences = 2, .heads = 6, .kv_heads = 3, .blocks = 3, .tokens = 20, .longest = 12};
  Shape odd = good, uneven = good, wide = good;
  odd.kv_heads = 4;
  uneven.block_size = 24;
  wide.head_size = 256;
  Shape latent = good;
  latent.latent = true;
  EXPECT_EQ(shape_error(good), "");
  EXPECT_NE(shape_error(odd).find("4 kv_heads do not divide 6 heads"), std::string::npos);
  EXPECT_NE(shape_error(uneven).find("block_size is 24; take 8"), std::string::npos);
  EXPECT_EQ(shape_error(latent), "latent keys are of kv_heads = 1 and head_size = 576");
  EXPECT_NE(shape_error(wide).find("take 64 or 128"), std::string::npos);

  Problem wrong = unallocated(good, DataType::f16);
  wrong.k.rows -= 1;
  EXPECT_FAILS(require_consistent(wrong), "k or v is not");
  wrong = unallocated(good, DataType::f16);
  wrong.o.type = DataType::f32;
  EXPECT_FAILS(require_consistent(wrong), "o is not like q");
  EXPECT_FAILS(require_consistent(unallocated(uneven, DataType::f16)), "block_size is 24");
}

}  // namespace
}  // namespace quadrille::kernels::paged_decode
