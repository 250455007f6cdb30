// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/cpu_share.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quadrille::comm {
namespace {

CpuLimits on(std::set<int> cores, std::vector<device::CpuQuota> quotas = {}) {
  return {std::move(cores), std::move(quotas)};
}

TEST(CpuShare, IsAnEvenPartOfWhatRanksShare) {
  struct Case {
    char const* what;
    std::vector<CpuLimits> node;
    std::vector<double> cores, quotas;
    std::vector<int> threads;
  };
  std::set<int> const four{0, 1, 2, 3};
  Case const cases[] = {
      {"no binding", {on(four), on(four)}, {2, 2}, {0, 0}, {2, 2}},
      {"three on four",
       {on(four), on(four), on(four)},
       {4.0 / 3, 4.0 / 3, 4.0 / 3},
       {0, 0, 0},
       {1, 1, 1}},
      {"halves", {on({0, 1}), on({2, 3})}, {2, 2}, {0, 0}, {2, 2}},
      {"one core for two", {on({0}), on({0})}, {0.5, 0.5}, {0, 0}, {1, 1}},
      {"one core for two, others idle",
       {on({0}), on({0}), on(four)},
       {0.5, 0.5, 4.0 / 3},
       {0, 0, 0},
       {1, 1, 1}},
      {"a core within all", {on(four), on({3})}, {2, 1}, {0, 0}, {2, 1}},
      {"half a CPU", {on(four, {{"/a", 0.5}})}, {4}, {0.5}, {1}},
      {"a job's quota",
       {on(four, {{"/job/0", 4}, {"/job", 3}}), on(four, {{"/job/1", 1}, {"/job", 3}})},
       {2, 2},
       {1.5, 1},
       {1, 1}},
      {"a quota beyond the cores", {on(four, {{"/", 64}})}, {4}, {64}, {4}}};
  for (Case const& c : cases) {
    for (std::size_t rank = 0; rank < c.node.size(); ++rank) {
      CpuShare const share = cpu_share(c.node, rank);
      EXPECT_DOUBLE_EQ(share.cores, c.cores[rank]) << c.what << ", rank " << rank;
      EXPECT_DOUBLE_EQ(share.quota, c.quotas[rank]) << c.what << ", rank " << rank;
      EXPECT_EQ(share.threads(), c.threads[rank]) << c.what << ", rank " << rank;
    }
  }
}

TEST(CpuShare, FindsTheFirstRankThatWaits) {
  auto const place = [](int rank, int threads, double cores, double quota) {
    Placement p;
    p.rank = rank;
    p.threads = threads;
    p.cores = cores;
    p.cpu_quota = quota;
    return p;
  };
  std::vector<Placement> const fine{place(0, 2, 2, 0), place(1, 1, 1.5, 1), place(2, 4, 0, 0)};
  EXPECT_EQ(waiting_for_cpus(fine), nullptr);
  EXPECT_EQ(cpu_contention(fine), "");
  std::vector<Placement> const shared{place(0, 2, 2, 0), place(1, 1, 0.5, 0)};
  ASSERT_EQ(waiting_for_cpus(shared), &shared[1]);
  EXPECT_FALSE(is_throttled(shared[1]));
  EXPECT_EQ(cpu_contention(shared).substr(0, 20), "rank 1 has 0.5 cores");
  std::vector<Placement> const throttled{place(0, 1, 2, 0.25)};
  ASSERT_EQ(waiting_for_cpus(throttled), &throttled[0]);
  EXPECT_TRUE(is_throttled(throttled[0]));
  EXPECT_EQ(cpu_contention(throttled).substr(0, 20), "rank 0 has 0.25 CPUs");
}

}  // namespace
}  // namespace quadrille::comm
