// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/blocks.hpp"

#include "core/generator.hpp"
#include "support/expect_fails.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace quadrille::workloads::serving {
namespace {

void append(BlockPool& pool, BlockTable& table, std::initializer_list<std::uint64_t> tokens) {
  for (std::uint64_t const token : tokens) ASSERT_TRUE(pool.append(table, token));
}

TEST(BlockPool, GivesAPromptOfSevenTokensTwoBlocksWithOneSlotToSpare) {
  BlockPool pool{8, 4, false};
  BlockTable table;
  EXPECT_EQ(pool.blocks_for(table, 7), 2);

  append(pool, table, {1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(table.blocks.size(), 2U);
  EXPECT_EQ(pool.free(), 6);

  EXPECT_EQ(pool.blocks_for(table, 1), 0) << "the slot to spare";
  append(pool, table, {8});
  EXPECT_EQ(table.blocks.size(), 2U);
  EXPECT_EQ(pool.blocks_for(table, 1), 1) << "all blocks are full";
  append(pool, table, {9});
  EXPECT_EQ(table.blocks.size(), 3U);

  pool.release(table);
  EXPECT_EQ(pool.free(), 8);
  EXPECT_EQ(pool.filled(), 0);
}

TEST(BlockPool, CopiesASharedBlockWhenItIsWritten) {
  BlockPool pool{8, 4, false};
  BlockTable first;
  append(pool, first, {1, 2, 4, 8, 16, 32});
  BlockTable second = pool.fork(first);
  EXPECT_EQ(pool.free(), 6);
  EXPECT_EQ(pool.filled(), 6) << "shared tokens count once";
  EXPECT_EQ(pool.blocks_for(second, 1), 1) << "for the copy";

  append(pool, second, {64});
  EXPECT_EQ(pool.copied(), 1);
  EXPECT_EQ(pool.references(first.blocks[0]), 2) << "a full block stays shared";
  append(pool, first, {128});
  EXPECT_EQ(pool.copied(), 1) << "the last one that refers to a block writes to it";

  EXPECT_EQ(pool.sum_of(first), 63U + 128);
  EXPECT_EQ(pool.sum_of(second), 63U + 64);
  EXPECT_EQ(pool.violation({&first, &second}), "");
}

TEST(BlockPool, FindsFullBlocksByTheirTokensUntilTheyAreOverwritten) {
  BlockPool pool{4, 2, true};
  BlockTable first;
  append(pool, first, {1, 2, 3, 4, 5});
  BlockTable second;
  EXPECT_TRUE(pool.extend_by_known(second, 1 + 2));
  EXPECT_FALSE(pool.extend_by_known(second, 1 + 2)) << "not behind itself";
  EXPECT_TRUE(pool.extend_by_known(second, 3 + 4));
  EXPECT_FALSE(pool.extend_by_known(second, 5)) << "not a full block";
  EXPECT_EQ(pool.references(first.blocks[1]), 2);

  pool.release(first);
  pool.release(second);
  EXPECT_EQ(pool.free(), 4) << "nobody refers to any";
  EXPECT_TRUE(pool.extend_by_known(second, 1 + 2)) << "but it is still there";
  EXPECT_EQ(pool.filled(), 2);
  pool.release(second);

  BlockTable other;
  append(pool, other, {11, 12, 13, 14, 15});
  EXPECT_TRUE(pool.extend_by_known(second, 1 + 2)) << "the beginning goes last";
  EXPECT_FALSE(pool.extend_by_known(second, 3 + 4));
}

TEST(BlockPool, OverwritesWhatNobodyCanFindFirst) {
  BlockPool pool{2, 2, true};
  BlockTable known, partial, other;
  append(pool, known, {1, 2});
  pool.release(known);
  append(pool, partial, {3});
  pool.release(partial);

  append(pool, other, {4});
  EXPECT_TRUE(pool.extend_by_known(known, 1 + 2)) << "though it was released before the other";
}

TEST(BlockPool, MovesASequenceOnlyWhereAllOfItFits) {
  BlockPool pool{4, 2, false}, two{2, 2, false}, three{3, 2, false};
  BlockTable table;
  append(pool, table, {1, 2, 3, 4, 5});
  EXPECT_FALSE(pool.move(table, two));
  EXPECT_EQ(pool.sum_of(table), 15U);

  EXPECT_EQ(pool.move(table, three), 5) << "tokens";
  EXPECT_EQ(pool.free(), 4);
  EXPECT_EQ(three.sum_of(table), 15U);
  EXPECT_EQ(three.violation({&table}), "");
}

TEST(BlockPool, SharesAgainWhatIsStillThereWhenASequenceComesBack) {
  BlockPool device{6, 2, true}, host{6, 2, false};
  BlockTable first;
  append(device, first, {1, 2, 3, 4, 5});
  BlockTable second;
  ASSERT_TRUE(device.extend_by_known(second, 1 + 2));
  ASSERT_TRUE(device.extend_by_known(second, 3 + 4));
  append(device, second, {6});
  EXPECT_EQ(device.move(second, host), 5) << "all leave together";
  EXPECT_EQ(device.references(first.blocks[0]), 1);

  EXPECT_EQ(host.blocks_to_move(second, device), 1);
  EXPECT_EQ(host.move(second, device), 1) << "the block that is not full";
  EXPECT_EQ(second.blocks[1], first.blocks[1]);
  EXPECT_EQ(device.violation({&first, &second}), "");
  EXPECT_EQ(device.sum_of(second), 1U + 2 + 3 + 4 + 6);

  // Nobody refers to them any more, but they are still there.
  device.move(second, host);
  device.release(first);
  EXPECT_EQ(host.blocks_to_move(second, device), 3);
  EXPECT_EQ(host.move(second, device), 1);
  EXPECT_EQ(device.violation({&second}), "");

  // Others have overwritten the second, and not the first.
  device.move(second, host);
  BlockTable other;
  append(device, other, {11, 12, 13, 14, 15, 16, 17, 18, 19});
  EXPECT_FALSE(host.move(second, device)) << "one is free, and it is the first";
  EXPECT_EQ(host.sum_of(second), 1U + 2 + 3 + 4 + 6);
  device.release(other);
  EXPECT_EQ(host.move(second, device), 3);
  BlockTable third;
  EXPECT_TRUE(device.extend_by_known(third, 1 + 2));
  EXPECT_TRUE(device.extend_by_known(third, 3 + 4)) << "what came back can be found";
  EXPECT_EQ(device.violation({&second, &third}), "");
  EXPECT_EQ(host.free(), 6);
}

TEST(BlockPool, EndsWhereABlockIsReleasedTwice) {
  BlockPool pool{4, 2, false};
  BlockTable table;
  append(pool, table, {1});
  BlockTable again = table;
  pool.release(table);
  EXPECT_FAILS(pool.release(again), "released once too often");
}

/// A sequence, and what it must read back.
struct Held {
  BlockTable table;
  std::vector<std::uint64_t> tokens;
  bool is_swapped = false;
};

// A million steps of any order, beside lists of tokens that share nothing.
TEST(BlockPool, KeepsEverySequenceApartWhateverIsDone) {
  constexpr std::int64_t kBlockTokens = 4, kMax = 24;
  BlockPool device{60, kBlockTokens, true}, host{30, kBlockTokens, true};
  std::vector<Held> all;
  std::uint64_t draws = 0;
  auto const draw = [&](std::uint64_t below) { return core::mix(++draws) % below; };
  auto const expected = [](Held const& held) {
    std::uint64_t sum = 0;
    for (std::uint64_t const token : held.tokens) sum += token;
    return sum;
  };
  std::int64_t refused = 0, known = 0, moved = 0;
  for (int step = 0; step < 1'000'000; ++step) {
    std::uint64_t const what = draw(16);
    if (what == 0 && all.size() < 20) {
      // Few different beginnings, so that some are known.
      Held& held = all.emplace_back();
      std::uint64_t const beginning = draw(3);
      for (std::uint64_t block = 0; block < 3; ++block) {
        std::uint64_t sum = 0;
        std::vector<std::uint64_t> tokens;
        for (std::uint64_t t = 0; t < kBlockTokens; ++t) {
          tokens.push_back(core::mix(1000 * beginning + 10 * block + t + 1));
          sum += tokens.back();
        }
        bool const is_known = device.extend_by_known(held.table, sum);
        known += is_known ? 1 : 0;
        for (std::uint64_t const token : tokens) {
          if (!is_known && !device.append(held.table, token)) break;
          held.tokens.push_back(token);
        }
      }
      continue;
    }
    if (all.empty()) continue;
    std::size_t const at = draw(all.size());
    Held& held = all[at];
    BlockPool& pool = held.is_swapped ? host : device;
    if (what == 1) {
      EXPECT_EQ(pool.sum_of(held.table), expected(held));
      pool.release(held.table);
      std::swap(held, all.back());
      all.pop_back();
    } else if (what == 2 && all.size() < 20) {
      Held fork{pool.fork(held.table), held.tokens, held.is_swapped};
      all.push_back(std::move(fork));
    } else if (what == 3) {
      bool const fits = pool.move(held.table, held.is_swapped ? device : host).has_value();
      held.is_swapped ^= fits;
      moved += fits ? 1 : 0;
    } else if (held.table.tokens < kMax) {
      bool const has_room = pool.blocks_for(held.table, 1) <= pool.free();
      std::uint64_t const token = core::mix(draws);
      bool const is_written = pool.append(held.table, token);
      ASSERT_EQ(is_written, has_room);
      refused += is_written ? 0 : 1;
      if (is_written) held.tokens.push_back(token);
    }
    if (step % 1000 != 0) continue;
    for (bool const swapped : {false, true}) {
      std::vector<BlockTable const*> tables;
      for (Held const& one : all) {
        if (one.is_swapped == swapped) tables.push_back(&one.table);
      }
      ASSERT_EQ((swapped ? host : device).violation(tables), "") << "after step " << step;
    }
    for (Held const& one : all) {
      ASSERT_EQ((one.is_swapped ? host : device).sum_of(one.table), expected(one)) << step;
      ASSERT_EQ(one.table.tokens, static_cast<std::int64_t>(one.tokens.size()));
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(known, 1000);
  EXPECT_GT(moved, 1000);
  EXPECT_GT(device.copied(), 1000);

  for (Held& held : all) (held.is_swapped ? host : device).release(held.table);
  EXPECT_EQ(device.free(), device.count());
  EXPECT_EQ(host.free(), host.count());
}

}  // namespace
}  // namespace quadrille::workloads::serving
