// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/ring_sequence.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace quadrille::workloads {
namespace {

using kernels::attention::Mask;

constexpr Partition kPartitions[] = {Partition::zigzag, Partition::striped};
constexpr std::int64_t kLengths[] = {0, 1, 3, 7, 24, 25, 29, 96};
constexpr int kRanks[] = {1, 2, 3, 4, 6};

template <class F>
void for_sequences(F const& f) {
  for (Partition const partition : kPartitions) {
    for (std::int64_t const tokens : kLengths) {
      for (int const ranks : kRanks) {
        SCOPED_TRACE(testing::Message() << (partition == Partition::zigzag ? "zigzag " : "striped ")
                                        << tokens << " tokens, " << ranks << " ranks");
        f(RingSequence{tokens, partition, ranks}, ranks);
      }
    }
  }
}

TEST(RingSequence, GivesEachTokenToOneRankInOrder) {
  for_sequences([](RingSequence const& sequence, int ranks) {
    std::vector<std::int64_t> all;
    for (int r = 0; r < ranks; ++r) {
      std::vector<std::int64_t> mine, of_parts;
      for (std::int64_t i = 0; i < sequence.count(r); ++i) mine.push_back(sequence.token(r, i));
      for (RingSequence::Part const& part : sequence.parts(r)) {
        ASSERT_EQ(part.first, static_cast<std::int64_t>(of_parts.size()));
        for (std::int64_t i = 0; i < part.count; ++i) of_parts.push_back(part.tokens.global(i));
        bool const is_run = of_parts.empty() || part.tokens.global(part.count - 1) ==
                                                    part.tokens.global(0) + part.count - 1;
        EXPECT_TRUE(!part.is_contiguous || is_run);
      }
      EXPECT_EQ(mine, of_parts);
      EXPECT_TRUE(std::ranges::is_sorted(mine));
      all.insert(all.end(), mine.begin(), mine.end());
    }
    std::ranges::sort(all);
    ASSERT_EQ(all.size(), static_cast<std::size_t>(sequence.tokens()));
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<std::int64_t>(i));
  });
}

TEST(RingSequence, ShowsEachQueryTheKeysBeforeIt) {
  for_sequences([](RingSequence const& sequence, int ranks) {
    for (int by = 0; by < ranks; ++by) {
      for (int of = 0; of < ranks; ++of) {
        std::int64_t const keys = sequence.count(of);
        for (std::int64_t i = 0; i < sequence.count(by); ++i) {
          std::int64_t before = 0;
          for (std::int64_t j = 0; j < keys; ++j) {
            before += sequence.token(of, j) <= sequence.token(by, i) ? 1 : 0;
          }
          EXPECT_EQ(sequence.seen(Mask::causal, by, of).by(i, keys), before)
              << "query " << i << " of rank " << by << ", keys of rank " << of;
          EXPECT_EQ(sequence.seen(Mask::full, by, of).by(i, keys), keys);
        }
      }
    }
  });
}

/// In each step: nobody waits for another rank's computation.
TEST(RingSequence, BalancesACausalMask) {
  for (Partition const partition : kPartitions) {
    int const ranks = 4;
    RingSequence const sequence{96, partition, ranks};
    std::int64_t const n = sequence.count(0);
    for (int by = 0; by < ranks; ++by) {
      for (int of = 0; of < ranks; ++of) {
        std::int64_t pairs = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          pairs += sequence.seen(Mask::causal, by, of).by(i, n);
        }
        EXPECT_NEAR(static_cast<double>(pairs), static_cast<double>(n * n) / 2,
                    static_cast<double>(n) / 2);
      }
    }
  }
}

}  // namespace
}  // namespace quadrille::workloads
