// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/search.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace quadrille::kernels {
namespace {

/// Candidates that take `cost_s` each on a clock of their own, of which every `working`-th runs.
struct Library {
  double cost_s;
  std::size_t working = 1;
  double spent_s = 0;
  std::vector<std::size_t> asked{};

  std::size_t search(std::size_t candidates) {
    return try_in_order(
        candidates,
        [&](std::size_t i) {
          asked.push_back(i);
          spent_s += cost_s;
          return i % working == working - 1;
        },
        [&] { return spent_s; });
  }
};

TEST(Search, TriesAllThatFitItsTimeInTheirOrder) {
  Library library{.cost_s = 1e-3};

  EXPECT_EQ(library.search(5), 5U);

  EXPECT_EQ(library.asked, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

TEST(Search, EndsWhenItsTimeIsSpent) {
  Library library{.cost_s = kSearchSeconds / 10};

  EXPECT_EQ(library.search(100), 10U);
}

TEST(Search, TriesTheFirstWhateverTheyTake) {
  Library library{.cost_s = 2 * kSearchSeconds};

  EXPECT_EQ(library.search(100), kMinTried);
}

TEST(Search, DoesNotCountWhatTheLibraryRefuses) {
  Library library{.cost_s = 2 * kSearchSeconds, .working = 4};

  EXPECT_EQ(library.search(100), kMinTried);

  EXPECT_EQ(library.asked.size(), 4 * kMinTried);
}

TEST(Search, MayFindNothing) {
  Library library{.cost_s = 1, .working = 1000};

  EXPECT_EQ(library.search(8), 0U);
  EXPECT_EQ(library.asked.size(), 8U);
}

}  // namespace
}  // namespace quadrille::kernels
