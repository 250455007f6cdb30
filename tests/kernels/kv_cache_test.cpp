// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kv_cache/kv_cache.hpp"

#include "kernels/host_kernels.hpp"
#include "kernels/kv_cache_data.hpp"
#include "support/expect_fails.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

namespace quadrille::kernels::kv_cache {
namespace {

class KvCacheTest : public testing::TestWithParam<std::string_view> {};

TEST_P(KvCacheTest, MovesWhatItShouldAndNothingElse) {
  test::Host host;
  expect_all_moved(*host.device, host.stream, test::row(variants(), GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Variants, KvCacheTest,
                         testing::ValuesIn(test::names_of(variants(), test::is_host_row)),
                         test::RowName{});

TEST(KvCache, SaysWhichPoolsThereAreNot) {
  EXPECT_EQ(shape_error({.kv_heads = 3, .head_size = 256}), "");
  EXPECT_EQ(shape_error({.head_size = 96}), "head_size is 96; take 64, 128 or 256");
  EXPECT_EQ(shape_error({.block_size = 12}), "block_size is 12; take 8, 16, 32, 64 or 128");
  EXPECT_NE(shape_error({.kv_heads = 0}), "");
}

TEST(KvCache, RefusesWhatDoesNotFitTogether) {
  test::Host host;
  auto const& row = test::row(variants(), "reference");
  Problem problem = unallocated({.blocks = 4}, Action::write, 3, core::DataType::f32);
  --problem.token_v.rows;
  EXPECT_FAILS(row.launch(problem, host.stream), "token_k or token_v");
  problem = unallocated({.blocks = 4}, Action::copy, 3, core::DataType::f32);
  problem.v.cols = 65;
  EXPECT_FAILS(row.launch(problem, host.stream), "k or v is not");
}

TEST(KvCache, CountsWhatIsReadAndWritten) {
  Shape const shape{.kv_heads = 2, .head_size = 64, .block_size = 8, .blocks = 9};
  EXPECT_EQ(bytes_moved(unallocated(shape, Action::write, 5, core::DataType::f16)),
            4 * 5 * 2 * 64 * 2 + 4 * 5);
  EXPECT_EQ(bytes_moved(unallocated(shape, Action::read, 5, core::DataType::f16)),
            4 * 5 * 2 * 64 * 2 + 4 * 5);
  EXPECT_EQ(bytes_moved(unallocated(shape, Action::copy, 3, core::DataType::f32)),
            4 * 3 * 2 * 8 * 64 * 4 + 4 * 6);
  EXPECT_EQ(bytes_moved(unallocated(shape, Action::swap_in, 3, core::DataType::f32)),
            2 * 3 * 2 * 8 * 64 * 4 + 4 * 6);
}

}  // namespace
}  // namespace quadrille::kernels::kv_cache
