// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/world.hpp"

#include "comm/threads.hpp"
#include "support/expect_fails.hpp"
#include "support/mpi_world.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <set>
#include <vector>

namespace quadrille::comm {
namespace {

using test::world;

TEST(World, PlacementsAreKnownOnEveryRank) {
  auto const& all = world().placements();

  ASSERT_EQ(all.size(), static_cast<std::size_t>(world().size()));
  for (std::size_t r = 0; r < all.size(); ++r) {
    EXPECT_EQ(all[r].rank, static_cast<int>(r));
    EXPECT_EQ(all[r].node, all[0].node);
    EXPECT_EQ(all[r].local_rank, static_cast<int>(r));
    EXPECT_EQ(all[r].local_size, world().size());
    EXPECT_GE(all[r].threads, 1);
    EXPECT_GT(all[r].cores, 0);
    EXPECT_FALSE(all[r].cpus.empty());
    EXPECT_FALSE(all[r].device.empty());
    EXPECT_GT(all[r].free_memory, 0);
  }
  EXPECT_EQ(world().placement().rank, world().rank());
}

TEST(World, LauncherAgreesWithMpi) {
  LauncherFacts const& launcher = world().launcher();
  if (launcher.size < 0) GTEST_SKIP() << "started without a launcher that tells";
  EXPECT_EQ(launcher.rank, world().rank());
  EXPECT_EQ(launcher.size, world().size());
}

TEST(World, StreamsRunInOrder) {
  int value = 0;
  world().stream().run([&] { value = 1; });
  world().stream().run([&] { value *= 10; });
  world().stream().synchronize();
  EXPECT_EQ(value, 10);
  EXPECT_FALSE(world().stream() == world().comm_stream());
}

TEST(World, APartIsAWorldOfItsRanks) {
  int const rank = world().rank(), size = world().size();
  std::vector<int> mine, alone{0};
  for (int r = rank % 2; r < size; r += 2) mine.push_back(r);
  Transport* const of_all = &world().transport("mpi");
  {
    World::Part const part{world(), mine};

    EXPECT_EQ(world().rank(), rank / 2);
    EXPECT_EQ(world().size(), static_cast<int>(mine.size()));
    EXPECT_EQ(world().nodes(), 1);
    EXPECT_EQ(world().node_group().size(), world().size());
    ASSERT_EQ(world().placements().size(), mine.size());
    EXPECT_EQ(world().placement().rank, world().rank());
    EXPECT_EQ(world().placement().local_rank, rank) << "the device stays that of the world";
    EXPECT_NE(&world().transport("mpi"), of_all);
    EXPECT_EQ(world().group().sum(std::int64_t{rank % 2}), rank % 2 == 0 ? 0 : world().size());
    // Of which the others know nothing.
    if (world().rank() == 0) {
      World::Part const inner{world(), alone};
      EXPECT_EQ(world().size(), 1);
    }
    EXPECT_EQ(world().size(), static_cast<int>(mine.size()));
  }
  EXPECT_EQ(world().rank(), rank);
  EXPECT_EQ(world().size(), size);
  EXPECT_EQ(world().placements().size(), static_cast<std::size_t>(size));
  EXPECT_EQ(&world().transport("mpi"), of_all);
}

TEST(World, TransportsAreMadeOnceAndKnownByName) {
  std::set<Transport*> made;
  std::size_t usable = 0;
  for (TransportEntry const* entry : transports()) {
    bool const is_usable =
        entry->moves(world().device().kind()) && entry->unavailable_reason(&world()).empty();
    if (!is_usable) continue;
    ++usable;
    made.insert(&world().transport(entry->name));
    made.insert(&world().transport(entry->name));
    // Another limit is another transport where it makes a difference.
    Transport* const limited = &world().transport(entry->name, 0, 1);
    EXPECT_EQ(limited == &world().transport(entry->name), !entry->limits_ctas) << entry->name;
    EXPECT_EQ(limited, &world().transport(entry->name, 0, 1));
  }
  EXPECT_EQ(made.size(), usable);
}

TEST(World, AChunkMayHave64Bytes) {
  EXPECT_NE(make_transport("mpi", world(), {.chunk_bytes = 64}), nullptr);
}

TEST(World, AutomaticIsAPreferredTransport) {
  Transport& transport = world().transport("auto");

  EXPECT_EQ(&transport, &world().transport(world().transport_entry("auto").name));
  // Of the selectable ones this alone moves memory of the host.
  if (world().device().kind() == device::Kind::host) {
    EXPECT_EQ(world().transport_entry("auto").name, "mpi");
  }
}

TEST(World, AFaultIsInTheTransportsGivenAfterIt) {
  auto const sum_of_ones = [](Transport& transport) {
    std::int64_t one = 1;
    device::Buffer<std::int64_t> value{world().device(), 1, world().stream()};
    world().stream().copy(value.data(), &one, sizeof one);
    auto const channel = transport.connect(world().group());
    channel
        ->allreduce({value.data(), 8}, {value.data(), 8}, core::DataType::i64, ReduceOp::sum,
                    world().stream())
        .wait_on(world().stream());
    world().stream().copy(&one, value.data(), sizeof one);
    world().stream().synchronize();
    return one;
  };
  Transport& good = world().transport("auto");

  world().inject(MessageFault::drop_message);
  Transport& bad = world().transport("auto");
  world().inject(MessageFault::none);

  EXPECT_EQ(sum_of_ones(bad), 1);
  EXPECT_EQ(sum_of_ones(good), world().size());
  EXPECT_EQ(&good, &world().transport("auto"));
}

TEST(Threads, TakeEachIndexOnceAlsoInsideOfOtherWork) {
  for (std::int64_t const n : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> taken(static_cast<std::size_t>(n));
    auto const take = [&](core::Range const& part) {
      for (std::int64_t i = 0; i < part.count; ++i) {
        ++taken[static_cast<std::size_t>(part.first + i)];
      }
    };
    on_threads(world(), n, take);
    int const threads = world().placement().threads;
    on_threads(world(), threads, [&](core::Range const&) { on_threads(world(), n, take); });
    for (std::atomic<int> const& count : taken) EXPECT_EQ(count, 1 + threads);
  }
}

// Last, because nothing takes a signal back.
TEST(World, ASignalOnOneRankInterruptsAll) {
  EXPECT_FALSE(world().interrupted());
  if (world().rank() == world().size() - 1) std::raise(SIGUSR1);
  EXPECT_TRUE(world().interrupted());
}

}  // namespace
}  // namespace quadrille::comm
