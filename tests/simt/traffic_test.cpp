// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "simt/traffic.hpp"

#include "simt/asked_bytes.hpp"
#include "simt/race.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace quadrille::simt::traffic {
namespace {

using Offset = std::size_t (*)(unsigned thread);

/// What `body` asks of memory in a block of 64 threads; it says itself what it accesses.
Accesses counted(std::function<void()> const& body) {
  set_schedule({Schedule::Order::random, 7, 1, false});
  start();
  run_grid({{1, 1, 1}, {64, 1, 1}, 32 << 10, "kernel"}, body);
  std::vector<KernelCounts> const all = stop();
  EXPECT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kernel, "kernel");
  return all[0].counts;
}

/// One load of shared memory by each thread.
Requests shared(std::size_t bytes, Offset offset) {
  return counted([=] {
           auto const* const memory = static_cast<unsigned char*>(dynamic_shared());
           access(memory + offset(current->linear), bytes, Kind::load, 1);
         })
      .shared_loads;
}

/// One store to global memory by each thread.
Requests global(std::size_t bytes, Offset offset) {
  auto* const memory = static_cast<unsigned char*>(allocate(1 << 16));
  Accesses const counts =
      counted([=] { access(memory + offset(current->linear), bytes, Kind::store, 1); });
  release(memory);
  return counts.global_stores;
}

TEST(Traffic, OfSharedMemoryFollowsTheBanks) {
  EXPECT_EQ(shared(4, [](unsigned t) -> std::size_t { return 4 * t; }), (Requests{2, 2, 2}));
  EXPECT_EQ(shared(4, [](unsigned t) -> std::size_t { return 8 * t; }), (Requests{2, 4, 2}));
  // A column of a tile of 32 columns, and of one that is padded to 33.
  EXPECT_EQ(shared(4, [](unsigned t) -> std::size_t { return 128 * t; }), (Requests{2, 64, 2}));
  EXPECT_EQ(shared(4, [](unsigned t) -> std::size_t { return 132 * t; }), (Requests{2, 2, 2}));
  // All lanes want one word, or parts of it.
  EXPECT_EQ(shared(4, [](unsigned) -> std::size_t { return 64; }), (Requests{2, 2, 2}));
  EXPECT_EQ(shared(1, [](unsigned t) -> std::size_t { return t; }), (Requests{2, 2, 2}));
  EXPECT_EQ(shared(2, [](unsigned t) -> std::size_t { return 64 * t; }), (Requests{2, 32, 2}));
}

TEST(Traffic, OfVectorsIsServedByHalvesAndQuarters) {
  EXPECT_EQ(shared(8, [](unsigned t) -> std::size_t { return 8 * t; }), (Requests{2, 4, 4}));
  EXPECT_EQ(shared(16, [](unsigned t) -> std::size_t { return 16 * t; }), (Requests{2, 8, 8}));
  EXPECT_EQ(shared(16, [](unsigned t) -> std::size_t { return 32 * t; }), (Requests{2, 16, 8}));
  // Rows of 128 bytes, and of 144: what ldmatrix meets without and with padding.
  EXPECT_EQ(shared(16, [](unsigned t) -> std::size_t { return 128 * t; }), (Requests{2, 64, 8}));
  EXPECT_EQ(shared(16, [](unsigned t) -> std::size_t { return 144 * t; }), (Requests{2, 8, 8}));
}

TEST(Traffic, OfGlobalMemoryIsCountedInSectors) {
  EXPECT_EQ(global(4, [](unsigned t) -> std::size_t { return 4 * t; }), (Requests{2, 8, 0}));
  EXPECT_EQ(global(4, [](unsigned t) -> std::size_t { return 4 * t + 4; }), (Requests{2, 10, 0}));
  EXPECT_EQ(global(4, [](unsigned t) -> std::size_t { return 8 * t; }), (Requests{2, 16, 0}));
  EXPECT_EQ(global(4, [](unsigned t) -> std::size_t { return 128 * t; }), (Requests{2, 64, 0}));
  EXPECT_EQ(global(16, [](unsigned t) -> std::size_t { return 16 * t; }), (Requests{2, 32, 0}));
  EXPECT_EQ(global(4, [](unsigned) -> std::size_t { return 0; }), (Requests{2, 2, 0}));
  EXPECT_EQ(global(8, [](unsigned t) -> std::size_t { return 8 * t + 8; }), (Requests{2, 18, 0}));
  // Each access lies in two sectors.
  EXPECT_EQ(global(8, [](unsigned t) -> std::size_t { return 64 * t + 28; }),
            (Requests{2, 128, 0}));
}

// Lanes run one after the other, each through all rounds of a loop.
TEST(Traffic, OfALoopIsARequestForEachRound) {
  Accesses const counts = counted([] {
    auto const* const memory = static_cast<unsigned char*>(dynamic_shared());
    for (std::size_t round = 0; round < 5; ++round) {
      access(memory + 128 * round + 4 * (current->linear % 32), 4, Kind::load, 1);
    }
  });
  EXPECT_EQ(counts.shared_loads, (Requests{10, 10, 10}));
}

TEST(Traffic, AskedBytesAreThoseOfEachLane) {
  auto* const memory = static_cast<unsigned char*>(allocate(4096));
  counted([=] {
    unsigned const t = current->linear;
    auto const* const shared_memory = static_cast<unsigned char*>(dynamic_shared());
    // All lanes the same word, then every second one of them eight bytes of its own.
    access(memory, 4, Kind::load, 1);
    if (t % 2 == 0) access(memory + 8 * t, 8, Kind::store, 2);
    access(shared_memory + 16 * t, 16, Kind::load, 3);
  });
  release(memory);
  EXPECT_EQ(asked_bytes().at(0), (kernels::AskedBytes{64 * 4, 32 * 8, 64 * 16, 0}));
}

TEST(Traffic, OfABranchIsTheRequestOfItsLanes) {
  Accesses const counts = counted([] {
    auto* const memory = static_cast<unsigned char*>(dynamic_shared());
    bool const is_even = current->linear % 2 == 0;
    // Both sides, then some lanes in one round and others in the next.
    if (is_even) access(memory + 8 * current->linear, 4, Kind::store, 1);
    if (!is_even) access(memory, 4, Kind::store, 2);
    barrier(0, 0, Place::current(), "barrier");
    if (is_even) access(memory, 4, Kind::store, 3);
    barrier(0, 0, Place::current(), "barrier");
    if (!is_even) access(memory, 4, Kind::store, 3);
  });
  // 16 lanes 4 words apart share 8 banks.
  EXPECT_EQ(counts.shared_stores, (Requests{8, 2 * (2 + 1 + 1 + 1), 8}));
}

TEST(Traffic, OfAnAsynchronousCopyIsALoadAndAStore) {
  auto* const memory = static_cast<unsigned char*>(allocate(4096));
  Accesses const counts = counted([=] {
    unsigned const t = current->linear;
    auto* const to = static_cast<unsigned char*>(dynamic_shared()) + 16 * t;
    // The last one copies zeros, which nobody reads.
    async_copy(to, memory + 16 * t, t == 63 ? 0 : 16, 16, Place::current());
    async_copy_commit();
    async_copy_wait(0);
  });
  release(memory);
  EXPECT_EQ(counts.global_loads, (Requests{2, 32, 0}));
  EXPECT_EQ(counts.shared_stores, (Requests{2, 8, 8}));
}

TEST(Traffic, IsNotCountedUnlessAsked) {
  run_grid({{1, 1, 1}, {32, 1, 1}, 1024, "kernel"},
           [] { access(dynamic_shared(), 4, Kind::load, 1); });
  start();
  EXPECT_TRUE(stop().empty());
}

}  // namespace
}  // namespace quadrille::simt::traffic
