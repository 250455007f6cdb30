// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/transport_choice.hpp"

#include "support/mpi_world.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

namespace quadrille::comm {
namespace {

using test::world;

constexpr Traffic kSmall{Operation::allreduce, 8};

TransportTime time_of(std::string name, std::int64_t bytes, double seconds,
                      std::string operation = "allreduce") {
  return {std::move(operation), bytes, std::move(name), seconds, ""};
}

TEST(FastestTransport, ReplacesThePreferredOnlyWhereItIsClearlyFaster) {
  auto const taken = [](double other) {
    std::vector<TransportTime> const times{time_of("other", 8, other), time_of("mpi", 8, 1.1)};
    return std::string{fastest_transport(times, kSmall, "mpi")};
  };

  EXPECT_EQ(taken(2), "mpi");
  EXPECT_EQ(taken(1.1), "mpi");
  EXPECT_EQ(taken(1.01), "mpi") << "9 % faster";
  EXPECT_EQ(taken(0.99), "other") << "11 % faster";
}

TEST(FastestTransport, IsTheFastestOfSeveralAndTheFirstOfEquals) {
  std::vector<TransportTime> times{time_of("a", 8, 3), time_of("b", 8, 2), time_of("c", 8, 2),
                                   time_of("mpi", 8, 4)};

  EXPECT_EQ(fastest_transport(times, kSmall, "mpi"), "b");
  // Beside each other the others need no margin.
  times[2].seconds = 1.99;
  EXPECT_EQ(fastest_transport(times, kSmall, "mpi"), "c");
}

TEST(FastestTransport, NeedsATime) {
  double const none = std::numeric_limits<double>::quiet_NaN();
  double const never = std::numeric_limits<double>::infinity();

  EXPECT_EQ(fastest_transport({}, kSmall, "mpi"), "mpi");
  for (double const seconds : {none, never, 0.0, -1.0}) {
    std::vector<TransportTime> const times{time_of("ipc", 8, seconds), time_of("mpi", 8, 1)};
    EXPECT_EQ(fastest_transport(times, kSmall, "mpi"), "mpi") << seconds;
    EXPECT_EQ(fastest_transport(times, kSmall, "ipc"), "mpi") << "what was measured, " << seconds;
    EXPECT_EQ(fastest_transport(std::span{times}.first(1), kSmall, "mpi"), "mpi") << seconds;
  }
  std::vector<TransportTime> const others{time_of("ipc", 8, 1, "broadcast"), time_of("mpi", 8, 2)};
  EXPECT_EQ(fastest_transport(others, kSmall, "mpi"), "mpi") << "times of another operation";
}

TEST(FastestTransport, InterpolatesBetweenSizesAndTakesTheNearestBeyond) {
  // On logarithmic scales two straight lines, which cross at 1024 bytes.
  std::vector<TransportTime> const times{time_of("late", 1 << 20, 1), time_of("late", 1, 16),
                                         time_of("early", 1, 1), time_of("early", 1 << 20, 16)};
  auto const taken = [&](double bytes) {
    return std::string{fastest_transport(times, {Operation::allreduce, bytes}, "late")};
  };

  EXPECT_EQ(taken(0), "early");
  EXPECT_EQ(taken(1), "early");
  EXPECT_EQ(taken(800), "early") << "10.4 % faster";
  EXPECT_EQ(taken(900), "late") << "early is 5 % faster";
  EXPECT_EQ(taken(1024), "late") << "equal: the preferred";
  EXPECT_EQ(taken(5000), "late");
  EXPECT_EQ(taken(1 << 20), "late");
  EXPECT_EQ(taken(1e15), "late");
}

std::vector<TransportEntry const*> serving() {
  std::vector<TransportEntry const*> all;
  for (TransportEntry const* entry : transports()) {
    if (entry->serves(world())) all.push_back(entry);
  }
  return all;
}

TEST(TransportChoice, IsOneOfThoseThatServeAndTheSameOnAllRanks) {
  TransportChoice choice{world()};
  std::string chosen;
  for (auto const& [operation, name] : enum_names(Operation{})) {
    for (double const bytes : {0.0, 8.0, 3e4, 5e6, 1e12}) {
      TransportEntry const& entry = choice.best({operation, bytes});
      EXPECT_TRUE(entry.serves(world())) << name << " of " << bytes;
      chosen += fmt::format("{} ", entry.name);
    }
  }
  for (TransportTime const& time : choice.times()) {
    chosen += fmt::format("{} {} {} {:a} {}\n", time.operation, time.bytes, time.transport,
                          time.seconds, time.taken);
  }

  for (std::string const& theirs : world().group().all_gather(chosen)) EXPECT_EQ(theirs, chosen);
}

TEST(TransportChoice, MeasuresEachOperationOnceByAllThatServe) {
  std::size_t const candidates = serving().size();
  TransportChoice choice{world()};
  EXPECT_TRUE(choice.times().empty());

  choice.best(kSmall);
  std::vector<TransportTime> const times = choice.times();
  choice.best({Operation::allreduce, 1e6});
  EXPECT_EQ(choice.times().size(), times.size());
  if (world().size() == 1 || candidates == 1) {
    EXPECT_TRUE(times.empty()) << "there is no choice";
    return;
  }

  std::set<std::tuple<std::int64_t, std::string>> distinct;
  for (TransportTime const& time : times) {
    EXPECT_EQ(time.operation, "allreduce");
    EXPECT_GT(time.seconds, 0);
    EXPECT_LT(time.seconds, 10);
    Traffic const traffic{Operation::allreduce, static_cast<double>(time.bytes)};
    EXPECT_EQ(time.taken, choice.best(traffic).name);
    distinct.emplace(time.bytes, time.transport);
  }
  EXPECT_EQ(distinct.size(), times.size());
  // Sizes may be left out where there are many ranks on a core, the smallest never.
  EXPECT_EQ(times.size() % candidates, 0U);
  auto const of_8 = std::ranges::count(times, 8, &TransportTime::bytes);
  EXPECT_EQ(static_cast<std::size_t>(of_8), candidates);

  choice.best({Operation::sendrecv, 8});
  EXPECT_GT(choice.times().size(), times.size());
}

TEST(TransportChoice, StartsFromEarlierTimesThatRankZeroHas) {
  bool const is_first = world().rank() == 0;
  for (TransportEntry const* wanted : serving()) {
    std::vector<TransportTime> earlier;
    for (TransportEntry const* entry : serving()) {
      earlier.push_back(time_of(std::string{entry->name}, 8, entry == wanted ? 1e-12 : 1));
    }
    TransportChoice choice{world(), is_first ? earlier : std::vector<TransportTime>{}};
    if (world().size() == 1) continue;

    EXPECT_EQ(choice.best(kSmall).name, wanted->name);
    EXPECT_EQ(choice.times(), is_first ? earlier : std::vector<TransportTime>{});
  }
}

TEST(TransportChoice, MeasuresAgainWhereEarlierTimesAreOfOtherTransports) {
  if (serving().size() == 1) GTEST_SKIP() << "there is no choice";
  std::string const one{serving().front()->name};
  for (std::vector<TransportTime> const& earlier :
       {std::vector{time_of(one, 8, 1e-12)},
        std::vector{time_of(one, 8, 1), time_of("gone", 8, 1e-12)}}) {
    TransportChoice choice{world(), earlier};
    if (world().size() == 1) continue;
    EXPECT_TRUE(choice.best(kSmall).serves(world()));
    auto const is_earlier = [&](TransportTime const& time) {
      return std::ranges::find(earlier, time) != earlier.end();
    };
    EXPECT_TRUE(std::ranges::none_of(choice.times(), is_earlier));
    EXPECT_FALSE(choice.times().empty());
  }
}

}  // namespace
}  // namespace quadrille::comm
