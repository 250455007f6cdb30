// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/buddy.hpp"

#include "core/generator.hpp"
#include "support/expect_fails.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace quadrille::workloads::serving {
namespace {

int reservations(std::int64_t capacity, std::int64_t slots) {
  BuddyAllocator memory{capacity};
  int count = 0;
  while (memory.reserve(slots) >= 0) ++count;
  return count;
}

// What a memory for 14336 tokens holds, as the texts on batching have it.
TEST(BuddyAllocator, Holds28SequencesOf512And7Of2048) {
  EXPECT_EQ(reservations(14336, 512), 28);
  EXPECT_EQ(reservations(14336, 2048), 7);
  EXPECT_EQ(reservations(14336, 1025), 7) << "a power of two is reserved";
}

TEST(BuddyAllocator, HasNoPieceThoughAsManySlotsAreFree) {
  BuddyAllocator memory{1024};
  std::int64_t const first = memory.reserve(256), second = memory.reserve(256);
  std::int64_t const third = memory.reserve(256), fourth = memory.reserve(256);
  memory.release(first, 256);
  memory.release(third, 256);
  EXPECT_EQ(memory.free(), 512);
  EXPECT_EQ(memory.reserve(512), -1);

  memory.release(second, 256);
  EXPECT_EQ(memory.reserve(512), 0);
  memory.release(fourth, 256);
  EXPECT_EQ(memory.reserve(512), 512);
}

TEST(BuddyAllocator, EndsWhereMoreIsReleasedThanThereIs) {
  BuddyAllocator memory{64};
  EXPECT_FAILS(memory.release(0, 32), "released once too often");
}

TEST(BuddyAllocator, NeverGivesASlotTwiceAndBecomesWholeAgain) {
  constexpr std::int64_t kCapacity = 14336 + 37;
  BuddyAllocator memory{kCapacity};
  std::vector<int> owner(kCapacity);
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  std::uint64_t draws = 0;
  auto const draw = [&](std::uint64_t below) { return core::mix(++draws) % below; };
  auto const give_back = [&](std::size_t at) {
    auto const [first, slots] = all[at];
    for (std::int64_t i = 0; i < slots; ++i) --owner[static_cast<std::size_t>(first + i)];
    memory.release(first, slots);
    all[at] = all.back();
    all.pop_back();
  };
  for (int step = 0; step < 20000; ++step) {
    if (!all.empty() && draw(2) == 0) {
      give_back(draw(all.size()));
      continue;
    }
    auto const slots = static_cast<std::int64_t>(1 + draw(1024));
    std::int64_t const first = memory.reserve(slots);
    if (first < 0) continue;
    all.emplace_back(first, slots);
    for (std::int64_t i = 0; i < slots; ++i) {
      ASSERT_EQ(++owner[static_cast<std::size_t>(first + i)], 1) << "slot " << first + i;
    }
  }
  while (!all.empty()) give_back(0);
  EXPECT_EQ(memory.free(), kCapacity);
  EXPECT_EQ(memory.reserve(8192), 0) << "the halves were put together";
}

}  // namespace
}  // namespace quadrille::workloads::serving
