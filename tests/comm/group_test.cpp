// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/group.hpp"

#include "support/mpi_world.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>
#include <thread>

namespace quadrille::comm {
namespace {

Group const& group() { return test::world().group(); }
int last() { return group().size() - 1; }
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Group, BroadcastReachesEveryRankFromEveryRoot) {
  for (int root = 0; root < group().size(); ++root) {
    std::string const expected(static_cast<std::size_t>(1000 * root), 'x');
    std::string text = group().rank() == root ? expected : "something else";

    group().broadcast(text, root);

    EXPECT_EQ(text, expected);
  }
}

TEST(Group, LettersComeFromAnyRank) {
  Group const post = group().duplicate();
  std::string const text = "from " + std::to_string(group().rank());
  post.send(text, 0);
  if (group().rank() == 0) {
    std::set<int> senders;
    for (int i = 0; i < group().size(); ++i) {
      std::optional<Group::Letter> const letter = post.receive(60);
      ASSERT_TRUE(letter);
      EXPECT_EQ(letter->text, "from " + std::to_string(letter->from));
      senders.insert(letter->from);
    }
    EXPECT_EQ(senders.size(), static_cast<std::size_t>(group().size()));
  }
  EXPECT_FALSE(post.receive(0)) << "nobody has sent another";
  group().barrier();
}

TEST(Group, ReductionsAreElementByElement) {
  int const n = group().size();
  std::array<double, 2> sum{1.0 + group().rank(), 1};
  std::array<double, 2> max{-1.0 - group().rank(), 1.0 * group().rank()};
  std::array<double, 2> min = max;
  std::array<std::int64_t, 2> whole{group().rank(), 1LL << 60};

  group().sum(sum);
  group().max(max);
  group().min(min);
  whole[1] /= n;
  group().sum(whole);

  EXPECT_EQ(sum[0], n * (n + 1) / 2);
  EXPECT_EQ(sum[1], n);
  EXPECT_EQ(max[0], -1);
  EXPECT_EQ(max[1], last());
  EXPECT_EQ(min[0], -n);
  EXPECT_EQ(min[1], 0);
  EXPECT_EQ(whole[0], n * (n - 1) / 2);
  EXPECT_EQ(whole[1], (1LL << 60) / n * n);
  EXPECT_EQ(group().max(1.0 * group().rank()), last());
  EXPECT_EQ(group().min(1.0 * group().rank()), 0);
  EXPECT_EQ(group().sum(std::int64_t{2}), 2 * n);
  EXPECT_EQ(group().max(std::int64_t{-group().rank()}), 0);
}

TEST(Group, NanOnAnyRankReachesAllRanks) {
  for (int bad = 0; bad < group().size(); ++bad) {
    double const mine = group().rank() == bad ? kNan : 1.0 * group().rank();
    std::array<double, 2> values{mine, 3};

    EXPECT_TRUE(std::isnan(group().max(mine))) << "from rank " << bad;
    EXPECT_TRUE(std::isnan(group().min(mine))) << "from rank " << bad;
    group().sum(values);
    EXPECT_TRUE(std::isnan(values[0]));
    EXPECT_EQ(values[1], 3 * group().size());
  }
}

TEST(Group, GatherKeepsRankOrderAndLengths) {
  std::string const mine(static_cast<std::size_t>(group().rank()), 'a');
  std::array<double, 2> const values{1.0 * group().rank(), -1};

  std::vector<std::string> const texts = group().all_gather(mine);
  std::vector<double> const all = group().gather(std::span<double const>{values});

  ASSERT_EQ(texts.size(), static_cast<std::size_t>(group().size()));
  for (std::size_t r = 0; r < texts.size(); ++r) EXPECT_EQ(texts[r], std::string(r, 'a'));
  ASSERT_EQ(all.size(), group().rank() == 0 ? 2 * texts.size() : 0);
  for (std::size_t r = 0; r < all.size() / 2; ++r) {
    EXPECT_EQ(all[2 * r], static_cast<double>(r));
    EXPECT_EQ(all[2 * r + 1], -1);
  }
}

TEST(Group, AgreeNamesTheLowestBadRank) {
  EXPECT_EQ(group().agree(false), -1);
  EXPECT_EQ(group().agree(true), 0);
  EXPECT_EQ(group().agree(group().rank() == last()), last());
}

TEST(Group, ExchangePassesBytesAround) {
  int const to = (group().rank() + 1) % group().size();
  int const from = (group().rank() + last()) % group().size();
  std::vector<std::byte> const send(100 + static_cast<std::size_t>(group().rank()),
                                    static_cast<std::byte>(group().rank()));
  std::vector<std::byte> receive(100 + static_cast<std::size_t>(from), std::byte{99});

  group().exchange(send, to, receive, from);

  for (std::byte const b : receive) EXPECT_EQ(b, static_cast<std::byte>(from));
}

TEST(Group, SplitOrdersByKeyAndLeavesOutNegativeColors) {
  Group const reversed = group().split(0, -group().rank());
  Group const without_last = group().split(group().rank() == last() ? -1 : 3, group().rank());
  Group const copy = group().duplicate();

  EXPECT_EQ(reversed.rank(), last() - group().rank());
  EXPECT_EQ(reversed.size(), group().size());
  EXPECT_EQ(without_last.size(), group().rank() == last() ? 0 : last());
  EXPECT_EQ(copy.rank(), group().rank());
  EXPECT_EQ(copy.sum(std::int64_t{1}), group().size());
  EXPECT_EQ(Group{}.size(), 0);
}

TEST(Group, WaitingForALateRankSleeps) {
  auto const processor_time = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  group().barrier();
  double const before = processor_time();

  if (group().rank() == last()) std::this_thread::sleep_for(std::chrono::milliseconds{500});
  group().barrier();

  EXPECT_LT(processor_time() - before, 0.1);
}

}  // namespace
}  // namespace quadrille::comm
