// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/grid.hpp"

#include "support/expect_fails.hpp"
#include "support/mpi_world.hpp"

#include <gtest/gtest.h>

namespace quadrille::comm {
namespace {

TEST(Grid, NearSquareIsTheWidestDivisorPair) {
  auto const expect = [](int ranks, int rows, int cols) {
    core::GridShape const shape = near_square(ranks);
    EXPECT_EQ(shape.rows, rows) << ranks;
    EXPECT_EQ(shape.cols, cols) << ranks;
  };
  expect(1, 1, 1);
  expect(2, 1, 2);
  expect(7, 1, 7);
  expect(12, 3, 4);
  expect(16, 4, 4);
}

TEST(Grid, ListsEveryShape) {
  EXPECT_EQ(list_grids(1), "1x1");
  EXPECT_EQ(list_grids(6), "1x6, 2x3, 3x2, 6x1");
}

TEST(Grid, RowsAndColumnsAreGroups) {
  Group const& world = test::world().group();
  for (core::GridShape const shape :
       {core::GridShape{1, world.size()}, core::GridShape{world.size(), 1}, core::GridShape{}}) {
    Grid const grid{world, shape};

    EXPECT_EQ(grid.row() * grid.cols() + grid.col(), world.rank());
    EXPECT_EQ(grid.rows() * grid.cols(), world.size());
    EXPECT_EQ(grid.row_group().size(), grid.cols());
    EXPECT_EQ(grid.row_group().rank(), grid.col());
    EXPECT_EQ(grid.col_group().size(), grid.rows());
    EXPECT_EQ(grid.col_group().rank(), grid.row());
    EXPECT_EQ(grid.row_group().max(std::int64_t{grid.row()}), grid.row());
    EXPECT_EQ(grid.col_group().max(std::int64_t{grid.col()}), grid.col());
  }
}

TEST(Grid, RefusesAShapeThatDoesNotFit) {
  Group const& world = test::world().group();
  EXPECT_FAILS((Grid{world, {world.size(), 2}}), list_grids(world.size()));
  EXPECT_FAILS((Grid{world, {-1, -world.size()}}), "does not fit");
  EXPECT_FAILS((Grid{world, {0, world.size()}}), "does not fit");
}

// Every index has one owner and one place, in order, and the counts add up.
void check_distribution(std::int64_t n, std::int64_t block, int parts) {
  Distribution const d{n, block, parts};
  std::vector<std::int64_t> next(static_cast<std::size_t>(parts), 0);
  for (std::int64_t g = 0; g < n; ++g) {
    int const owner = d.owner(g);
    ASSERT_EQ(d.local(g), next[static_cast<std::size_t>(owner)]++);
    ASSERT_EQ(d.global(owner, d.local(g)), g);
    ASSERT_GT(d.block_end(g), g);
    ASSERT_LE(d.block_end(g), n);
    ASSERT_EQ(d.owner(d.block_end(g) - 1), owner);
  }
  for (int p = 0; p < parts; ++p) EXPECT_EQ(d.count(p), next[static_cast<std::size_t>(p)]) << p;
}

TEST(Distribution, DealsEveryIndexOnce) {
  for (std::int64_t const n : {0, 1, 2, 7, 12, 13, 100}) {
    for (std::int64_t const block : {0, 1, 3, 5, 200}) {
      for (int const parts : {1, 2, 3, 5}) {
        SCOPED_TRACE(testing::Message() << n << " in blocks of " << block << " to " << parts);
        check_distribution(n, block, parts);
      }
    }
  }
}

TEST(Distribution, ZeroMeansOneBlockPerProcess) {
  Distribution const d{10, 0, 3};
  EXPECT_EQ(d.block(), 4);
  EXPECT_EQ(d.count(0), 4);
  EXPECT_EQ(d.count(2), 2);
  EXPECT_EQ(Distribution(2, 0, 3).count(2), 0);
}

TEST(Distribution, HoldsMoreThanTwoBillion) {
  std::int64_t const n = 5'000'000'019;
  Distribution const d{n, 1024, 3};
  EXPECT_EQ(d.count(0) + d.count(1) + d.count(2), n);
  EXPECT_EQ(d.global(d.owner(n - 1), d.local(n - 1)), n - 1);
}

TEST(Distribution, RefusesNegativeExtents) {
  EXPECT_FAILS((Distribution{-1, 1, 1}), "negative");
  EXPECT_FAILS((Distribution{1, -1, 1}), "negative");
  EXPECT_FAILS((Distribution{1, 1, 0}), "positive");
}

}  // namespace
}  // namespace quadrille::comm
