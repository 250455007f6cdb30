// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ptx/barriers_kernels.hpp"
#include "support/instruction_test.hpp"

#include <algorithm>

namespace quadrille::test {
namespace {

using device::Device;
using device::StreamView;

TEST(Barriers, NamedBarriersHandOver) {
  on_every_schedule([](Device& device, StreamView stream) {
    std::vector<int> const values = small_integers<int>(1, 96, 1000);
    DeviceArray<int> const in{device, stream, values};
    DeviceArray<int> const out{device, stream, 96};

    launch_named_barriers(in.data(), out.data(), 64, stream);

    std::vector<int> expected;
    for (std::size_t i = 0; i < 96; ++i) expected.push_back(2 * values[i / 32 * 32 + 31 - i % 32]);
    EXPECT_EQ(out.download(), expected);
  });
}

TEST(Barriers, NamedBarriersOfMoreThreadsThanTheBlockAreFound) {
  if (has_gpu()) GTEST_SKIP() << "a GPU waits for ever";
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<int> const in{device, stream, std::vector<int>(96)};
    DeviceArray<int> const out{device, stream, 96};

    EXPECT_FINDS(launch_named_barriers(in.data(), out.data(), 128, stream), ": 128 threads");
  });
}

TEST(Barriers, RingOfBulkLoads) {
  for (int const chunks : {0, 1, 2, 3, 4, 11}) {
    on_every_schedule([&](device::Device& device, device::StreamView stream) {
      auto const n = static_cast<std::size_t>(chunks) * 256;
      auto expected = small_integers<float>(1, n, 1000);
      DeviceArray<float> const from{device, stream, expected};
      DeviceArray<float> const to{device, stream, from.size()};
      for (float& value : expected) value += 1;

      launch_bulk_ring(from.data(), to.data(), chunks, RingMisuse::none, stream);

      EXPECT_EQ(to.download(), expected) << chunks;
      EXPECT_TRUE(to.intact());
    });
  }
}

TEST(Barriers, RingOfCpAsync) {
  for (int const chunks : {0, 1, 2, 3, 4, 11}) {
    on_every_schedule([&](device::Device& device, device::StreamView stream) {
      auto expected = small_integers<float>(3, static_cast<std::size_t>(chunks) * 128, 1000);
      DeviceArray<float> const from{device, stream, expected};
      DeviceArray<float> const to{device, stream, from.size()};
      for (float& value : expected) value += 1;

      launch_copy_ring(from.data(), to.data(), chunks, RingMisuse::none, stream);

      EXPECT_EQ(to.download(), expected) << chunks;
      EXPECT_TRUE(to.intact());
    });
  }
}

/// Values tell in some schedule that a wait is missing; the race detector in each.
void expect_missing_wait(std::vector<Outcome> const& found) {
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](Outcome const& outcome) {
    return !outcome.finds_races && outcome.text != "right";
  }));
  for (Outcome const& outcome : found) {
    EXPECT_TRUE(!outcome.finds_races || outcome.text.size() > 5) << outcome.text;
  }
}

TEST(Barriers, MisuseOfTheRingIsFound) {
  if (has_gpu()) GTEST_SKIP() << "a GPU diagnoses none of this";
  auto const ring = [](RingMisuse misuse) {
    return outcomes([misuse](device::Device& device, device::StreamView stream) {
      auto expected = small_integers<float>(14, 256 * 7, 1000);
      DeviceArray<float> const from{device, stream, expected};
      DeviceArray<float> const to{device, stream, from.size()};
      launch_bulk_ring(from.data(), to.data(), 7, misuse, stream);
      for (float& value : expected) value += 1;
      return to.download() == expected;
    });
  };

  expect_each(ring(RingMisuse::none), "right");
  expect_each(ring(RingMisuse::wrong_parity), "hang");
  expect_each(ring(RingMisuse::no_expect_tx), "mbarrier_arrive_expect_tx() is missing",
              "asynchronous copy that was not waited for");
  expect_each(ring(RingMisuse::too_few_expected), "expects too few");
  expect_each(ring(RingMisuse::odd_size), "multiples of 16 bytes");
  expect_each(ring(RingMisuse::not_initialised), "before mbarrier_init()");
  expect_each(ring(RingMisuse::no_init_fence), "fence_mbarrier_init()");
  expect_missing_wait(ring(RingMisuse::no_wait_for_full));
  expect_missing_wait(ring(RingMisuse::no_wait_for_empty));
}

TEST(Barriers, MisuseOfTheRingOfCpAsyncIsFound) {
  if (has_gpu()) GTEST_SKIP() << "a GPU diagnoses none of this";
  auto const ring = [](RingMisuse misuse) {
    return outcomes([misuse](device::Device& device, device::StreamView stream) {
      auto expected = small_integers<float>(5, 128 * 7, 1000);
      DeviceArray<float> const from{device, stream, expected};
      DeviceArray<float> const to{device, stream, from.size()};
      launch_copy_ring(from.data(), to.data(), 7, misuse, stream);
      for (float& value : expected) value += 1;
      return to.download() == expected;
    });
  };

  expect_each(ring(RingMisuse::none), "right");
  expect_each(ring(RingMisuse::not_initialised), "before mbarrier_init()");
  expect_each(ring(RingMisuse::arrives_before_copies), "cp.async of its is in flight",
              "asynchronous copy that was not waited for");
  expect_missing_wait(ring(RingMisuse::no_wait_for_full));
  expect_missing_wait(ring(RingMisuse::no_wait_for_empty));
}

}  // namespace
}  // namespace quadrille::test
