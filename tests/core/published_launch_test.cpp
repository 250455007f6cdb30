// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/published_launch.hpp"

#include <gtest/gtest.h>

namespace quadrille::core {
namespace {

constexpr Extents kProblem{{1000, 64, 8}, 3};

bool is(char const* text, std::array<std::int64_t, 3> grid, std::array<std::int64_t, 3> block) {
  auto const launch = parse_published_launch(text);
  EXPECT_TRUE(launch) << text;
  return launch && launch->is(kProblem, grid, block);
}

TEST(PublishedLaunch, IsComparedByItsExtentsOrTheirProduct) {
  EXPECT_TRUE(is("naive: 125x8 blocks, 8x8 threads", {125, 8, 1}, {8, 8, 1}));
  EXPECT_FALSE(is("naive: 8x125 blocks, 8x8 threads", {125, 8, 1}, {8, 8, 1}));
  EXPECT_FALSE(is("naive: 125x8 blocks, 8x8 threads", {125, 8, 1}, {64, 1, 1}));
  EXPECT_FALSE(is("naive: 125x8 blocks, 8x8 threads", {125, 8, 2}, {8, 8, 1}));
  EXPECT_TRUE(is("naive: 1000 blocks, 64 threads", {125, 8, 1}, {8, 8, 1}));
  EXPECT_FALSE(is("naive: 1000 blocks, 32 threads", {125, 8, 1}, {8, 8, 1}));
  EXPECT_TRUE(is("naive: 64 threads", {7, 7, 7}, {8, 8, 1}));
}

TEST(PublishedLaunch, DividesExtentsOfTheProblemAndRoundsUp) {
  EXPECT_TRUE(is("naive: m/128 x n/32 x k blocks, 4 threads", {8, 2, 8}, {4, 1, 1}));
  EXPECT_FALSE(is("naive: m/125 x n/33 x k blocks, 4 threads", {7, 2, 8}, {4, 1, 1}));
}

TEST(PublishedLaunch, MaySayWhyThereIsNone) {
  EXPECT_EQ(parse_published_launch("copy: none, a library's")->why_none, "a library's");
}

TEST(PublishedLaunch, IsRefusedWithAnExample) {
  for (char const* text :
       {"", "naive", ": 8 threads", "naive: ", "naive: 8 blocks",
        "naive: 8x8x8x8 blocks, 1 threads", "naive: 0 blocks, 1 threads",
        "naive: m/0 blocks, 1 threads", "naive: m8 blocks, 1 threads",
        "naive: q/8 blocks, 1 threads", "naive: 8 blocks, threads", "naive: none, ",
        "naive: 8x blocks, 1 threads", "naive: 1 threads, 8 blocks"}) {
    auto const launch = parse_published_launch(text);
    ASSERT_FALSE(launch) << text;
    EXPECT_NE(launch.why().find("512x512 blocks, 8x8 threads"), std::string::npos);
  }
}

}  // namespace
}  // namespace quadrille::core
