// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ptx/clusters_kernels.hpp"
#include "support/instruction_test.hpp"

#include <algorithm>

namespace quadrille::test {
namespace {

using device::Device;
using device::StreamView;

bool exchanges(decltype(launch_exchange)& launch, ClusterMisuse misuse, Device& device,
               StreamView stream) {
  auto const values = small_integers<int>(1, 32 * 6, 1000);
  DeviceArray<int> const in{device, stream, values};
  DeviceArray<int> const out{device, stream, in.size()};

  launch(in.data(), out.data(), 6, misuse, stream);

  std::vector<int> const result = out.download();
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] != values[i ^ 32]) return false;
  }
  return true;
}

bool rings(int chunks, ClusterMisuse misuse, Device& device, StreamView stream) {
  auto expected = small_integers<float>(2, static_cast<std::size_t>(chunks) * 512, 1000);
  DeviceArray<float> const from{device, stream, expected};
  DeviceArray<float> const to{device, stream, 2 * from.size()};

  launch_multicast_ring(from.data(), to.data(), chunks, misuse, stream);

  for (float& value : expected) value += 1;
  expected.insert(expected.end(), expected.begin(), expected.end());
  return to.download() == expected && to.intact();
}

TEST(Clusters, BlocksArriveAtEachOthersBarriers) {
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<int> const arrivals{device, stream, 2};
    launch_relaxed(arrivals.data(), stream);
    EXPECT_EQ(arrivals.download(), (std::vector<int>{2, 2}));
  });
}

TEST(Clusters, BlocksExchangeThroughSharedMemory) {
  on_every_schedule([](Device& device, StreamView stream) {
    EXPECT_TRUE(exchanges(launch_exchange, ClusterMisuse::none, device, stream));
  });
}

TEST(Clusters, BlocksExchangeByBulkCopies) {
  on_every_schedule([](Device& device, StreamView stream) {
    EXPECT_TRUE(exchanges(launch_bulk_exchange, ClusterMisuse::none, device, stream));
  });
}

TEST(Clusters, RingOfMulticasts) {
  for (int const chunks : {1, 2, 3, 7}) {
    on_every_schedule([&](Device& device, StreamView stream) {
      EXPECT_TRUE(rings(chunks, ClusterMisuse::none, device, stream)) << chunks;
    });
  }
}

/// The race detector sees the fault whatever the schedule.
void expect_race(std::vector<Outcome> const& found) {
  for (Outcome const& outcome : found) {
    if (!outcome.finds_races) continue;
    EXPECT_NE(outcome.text.find("race on"), std::string::npos) << outcome.text;
  }
}

TEST(Clusters, MisuseOfAnExchangeIsFound) {
  if (has_gpu()) GTEST_SKIP() << "a GPU diagnoses none of this";
  auto const exchange = [](ClusterMisuse misuse) {
    return outcomes([misuse](Device& device, StreamView stream) {
      return exchanges(launch_exchange, misuse, device, stream);
    });
  };
  expect_each(exchange(ClusterMisuse::not_in_cluster), "block 2 of a cluster of 2");
  expect_race(exchange(ClusterMisuse::no_meeting));
  auto const ends = exchange(ClusterMisuse::no_last_meeting);
  EXPECT_TRUE(std::any_of(ends.begin(), ends.end(), [](Outcome const& outcome) {
    return outcome.text.find("of the cluster has ended") != std::string::npos;
  }));
}

TEST(Clusters, MisuseOfAnExchangeByBulkCopiesIsFound) {
  if (has_gpu()) GTEST_SKIP() << "a GPU diagnoses none of this";
  auto const exchange = [](ClusterMisuse misuse) {
    return outcomes([misuse](Device& device, StreamView stream) {
      return exchanges(launch_bulk_exchange, misuse, device, stream);
    });
  };
  expect_each(exchange(ClusterMisuse::none), "right");
  expect_each(exchange(ClusterMisuse::not_in_cluster), "block 2 of a cluster of 2");
  expect_each(exchange(ClusterMisuse::odd_size), "multiples of 16 bytes");
  expect_each(exchange(ClusterMisuse::no_proxy_fence), "fence_proxy_async()");
  expect_each(exchange(ClusterMisuse::overwrites_source), "changed before it was complete");
  expect_each(exchange(ClusterMisuse::no_last_meeting), "has ended");
}

TEST(Clusters, MisuseOfAMulticastRingIsFound) {
  if (has_gpu()) GTEST_SKIP() << "a GPU diagnoses none of this";
  auto const ring = [](ClusterMisuse misuse) {
    return outcomes(
        [misuse](Device& device, StreamView stream) { return rings(7, misuse, device, stream); });
  };
  expect_each(ring(ClusterMisuse::none), "right");
  expect_race(ring(ClusterMisuse::wait_of_block));
  expect_each(ring(ClusterMisuse::too_many_arrivals), "192 arrivals where the phase needs");
  auto const early = ring(ClusterMisuse::no_meeting);
  EXPECT_TRUE(std::any_of(early.begin(), early.end(), [](Outcome const& outcome) {
    return outcome.text.find("before mbarrier_init()") != std::string::npos;
  }));
  expect_race(ring(ClusterMisuse::no_remote_arrive));
}

}  // namespace
}  // namespace quadrille::test
