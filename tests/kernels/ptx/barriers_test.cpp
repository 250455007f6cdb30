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

/// A ring that adds 1 to chunks of so many numbers.
using LaunchRing = void (*)(float const*, float*, int, RingMisuse, StreamView);
constexpr int kBulkChunk = 256, kCopyChunk = 128;

bool ring_is_right(LaunchRing launch, int chunk, int chunks, RingMisuse misuse, Device& device,
                   StreamView stream) {
  auto expected = small_integers<float>(1, static_cast<std::size_t>(chunks * chunk), 1000);
  DeviceArray<float> const from{device, stream, expected};
  DeviceArray<float> const to{device, stream, from.size()};
  for (float& value : expected) value += 1;

  launch(from.data(), to.data(), chunks, misuse, stream);

  return to.download() == expected && to.intact();
}

void expect_ring(LaunchRing launch, int chunk) {
  for (int const chunks : {0, 1, 2, 3, 4, 11}) {
    on_every_schedule([&](Device& device, StreamView stream) {
      EXPECT_TRUE(ring_is_right(launch, chunk, chunks, RingMisuse::none, device, stream)) << chunks;
    });
  }
}

std::vector<Outcome> ring_with(RingMisuse misuse, LaunchRing launch, int chunk) {
  return outcomes([=](Device& device, StreamView stream) {
    return ring_is_right(launch, chunk, 7, misuse, device, stream);
  });
}

TEST(Barriers, RingOfBulkLoads) { expect_ring(launch_bulk_ring, kBulkChunk); }

TEST(Barriers, RingOfCpAsync) { expect_ring(launch_copy_ring, kCopyChunk); }

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
    return ring_with(misuse, launch_bulk_ring, kBulkChunk);
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
    return ring_with(misuse, launch_copy_ring, kCopyChunk);
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
