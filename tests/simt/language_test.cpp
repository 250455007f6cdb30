// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
//
// CUDA C++ as the interpreter understands it and as a GPU does: the same expectations for both.

#include "simt/engine.hpp"
#include "simt/language_kernels.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"

#include <climits>

#include <algorithm>
#include <cmath>

namespace quadrille::test {
namespace {

/// What row r of the collectives is on a lane.
unsigned expected_collective(int row, unsigned lane) {
  auto const of = [](unsigned other) { return 100 + other; };
  switch (row) {
    case 0: return of(7);
    case 1: return of(lane / 8 * 8 + (lane + 3) % 8);
    case 2: return of(lane >= 3 ? lane - 3 : lane);
    case 3: return of(lane % 8 >= 3 ? lane - 3 : lane);
    case 4: return of(lane + 5 < 32 ? lane + 5 : lane);
    case 5: return of(lane % 16 + 5 < 16 ? lane + 5 : lane);
    case 6: return of(lane ^ 9);
    case 7: return of((lane ^ 20) < lane / 8 * 8 + 8 ? lane ^ 20 : lane);
    case 8: return 0x49249249;
    case 9: return 1;
    case 10: return 0;
    case 11: return lane / 5 == 6 ? 0xC0000000 : 0x1FU << (lane / 5 * 5);
    case 12: return 0;  // all 32 lanes and one
    case 13: return 3200 + 496;
    case 14: return static_cast<unsigned>(10 - 31);
    case 15: return 0;
    case 16: return 3 * (lane ^ 1);
    case 17: return lane % 2 == 1 ? of(lane ^ 2) : 0;
    default: return 11 + 100;
  }
}

TEST(Language, LanesShareWhatTheyHave) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    DeviceArray<unsigned> const out{device, stream, 32 * kCollectives};
    launch_collectives(out.data(), stream);
    auto const results = out.download();
    for (int row = 0; row < kCollectives; ++row) {
      for (unsigned lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(results[static_cast<unsigned>(row) * 32 + lane], expected_collective(row, lane))
            << "row " << row << ", lane " << lane;
      }
    }
  });
}

TEST(Language, LanesReduceWords) {
  // The sums overflow, and the order of signed numbers is not that of words.
  std::vector<unsigned> words(32);
  for (unsigned i = 0; i < 32; ++i) words[i] = (0x70000000U + i * 0x9E3779B9U) | 0x00400100U;
  std::vector<unsigned> expected(32 * kReductions);
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned sum = 0, low = ~0U, high = 0, all = ~0U, any = 0, odd = 0;
    int least = INT_MAX, most = INT_MIN;
    for (unsigned i = lane % 2; i < 32; i += 2) {
      sum += words[i];
      low = std::min(low, words[i]);
      high = std::max(high, words[i]);
      least = std::min(least, static_cast<int>(words[i]));
      most = std::max(most, static_cast<int>(words[i]));
      all &= words[i];
      any |= words[i];
      odd ^= words[i];
    }
    unsigned const results[kReductions] = {
        sum, static_cast<unsigned>(least), static_cast<unsigned>(most), sum, low, high, all, any,
        odd};
    for (unsigned row = 0; row < kReductions; ++row) expected[row * 32 + lane] = results[row];
  }
  on_every_schedule([&](device::Device& device, device::StreamView stream) {
    DeviceArray<unsigned> const in{device, stream, words};
    DeviceArray<unsigned> const out{device, stream, 32 * kReductions};
    launch_reductions(in.data(), out.data(), stream);
    EXPECT_EQ(out.download(), expected);
    EXPECT_TRUE(out.intact());
  });
}

TEST(Language, AtomicsLoseNothing) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    Words const start{5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5};
    DeviceArray<Words> const memory{device, stream, std::vector<Words>{start}};
    launch_atomics(memory.data(), stream);
    Words const words = memory.download()[0];
    EXPECT_EQ(words.add, 5 + 992);  // two blocks of lanes 0 to 31
    EXPECT_EQ(words.sub, 5 - 992);
    EXPECT_EQ(words.exchange, 77);
    EXPECT_EQ(words.min, -28);
    EXPECT_EQ(words.max, 34);
    EXPECT_EQ(words.bit_and, 0U);
    EXPECT_EQ(words.bit_or, 31U);
    EXPECT_EQ(words.bit_xor, 5U);
    EXPECT_EQ(words.increment, (5U + 64) % 10);
    EXPECT_EQ(words.decrement, 1U);  // 5 down to 0, then 9 down to 0 again and again
    EXPECT_EQ(words.cas, 5U + 128);
    EXPECT_EQ(words.wide, 5 + (64ULL << 40));
    EXPECT_EQ(words.real, 37.0F);
    EXPECT_EQ(words.wide_real, 21.0);
  });
}

TEST(Language, IntrinsicsHaveTheirBits) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    DeviceArray<unsigned> const out{device, stream, kIntrinsics};
    launch_intrinsics(0x00F0A5C8, 0x9234E678, out.data(), stream);
    std::vector<unsigned> const expected{11,         26,         8,          32,         8,
                                         4,          0,          0x13A50F00, 0x13A50F00, 0x00897046,
                                         0x436E4CCD, 0x92F0A5C8, 0x9CCF001E, 0x33C00785, 0x40500000,
                                         0x3FD00000, 0x40880000, 0x40880000};
    EXPECT_EQ(out.download(), expected);
  });
}

TEST(Language, SinesOfPiAreExactWhereTheyCanBe) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    std::vector<double> const x{0, 0.5, 1, 1.5, -0.5, 2.25, -7.75, 1e6 + 0.5, 0.1};
    DeviceArray<double> const in{device, stream, x};
    DeviceArray<double> const out{device, stream, 3 * in.size()};
    launch_trigonometry(in.data(), static_cast<int>(x.size()), out.data(), stream);
    auto const results = out.download();
    for (std::size_t i = 0; i < x.size(); ++i) {
      double const turn = std::remainder(x[i], 2.0) * 3.14159265358979323846;
      EXPECT_NEAR(results[3 * i + 1], std::sin(turn), 1e-15) << x[i];
      EXPECT_NEAR(results[3 * i + 2], std::cos(turn), 1e-15) << x[i];
      EXPECT_NEAR(results[3 * i], results[3 * i + 1] - results[3 * i + 2], 1e-15) << x[i];
    }
    EXPECT_EQ(results[3 * 1 + 2], 0);  // cos(pi / 2)
    EXPECT_EQ(results[3 * 2 + 1], 0);  // sin(pi)
  });
}

/// What each block of the grid knows of its cluster, by block.
std::vector<unsigned> clusters(device::Device& device, device::StreamView stream,
                               kernels::LaunchShape const& shape) {
  DeviceArray<unsigned> const out{device, stream, 4 * shape.grid.x * shape.grid.y * shape.grid.z};
  launch_clusters(shape, out.data(), stream);
  EXPECT_TRUE(out.intact());
  return out.download();
}

TEST(Language, BlocksKnowTheirCluster) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    std::vector<kernels::LaunchShape> const shapes{
        {.grid = 3, .block = 32},
        {.grid = {4, 3}, .block = 32, .shared_bytes = 1024},
        {.grid = 6, .block = 32, .cluster = 2},
        {.grid = 8, .block = 256, .shared_bytes = 65536, .cluster = 4},
        {.grid = {4, 6}, .block = 32, .cluster = {2, 2}},
        {.grid = {2, 1, 4}, .block = 32, .cluster = {1, 1, 2}},
        {.grid = 16, .block = 32, .cluster = 8},
        {.grid = 32, .block = 32, .cluster = 16, .non_portable_cluster = true}};
    for (kernels::LaunchShape const& shape : shapes) {
      auto const [cx, cy, cz] = shape.cluster;
      std::vector<unsigned> expected;
      for (unsigned z = 0; z < shape.grid.z; ++z) {
        for (unsigned y = 0; y < shape.grid.y; ++y) {
          for (unsigned x = 0; x < shape.grid.x; ++x) {
            expected.insert(expected.end(), {(z % cz * cy + y % cy) * cx + x % cx, cx, cy, cz});
          }
        }
      }
      EXPECT_EQ(clusters(device, stream, shape), expected) << shape.cluster_blocks();
    }
  });
}

TEST(Language, ClustersThatNoGpuTakesAreErrors) {
  device::Stream const stream{kernel_device()};
  auto const launch = [&](kernels::LaunchShape const& shape) {
    clusters(kernel_device(), stream, shape);
  };
  EXPECT_FAILS(launch({.grid = 3, .block = 32, .cluster = 2}), "no multiple of the cluster");
  EXPECT_FAILS(launch({.grid = {4, 3}, .block = 32, .cluster = {1, 2}}),
               "of 4 x 3 x 1 blocks is no");
  EXPECT_FAILS(launch({.grid = {4, 1, 3}, .block = 32, .cluster = {1, 1, 2}}), "round it up");
  EXPECT_FAILS(launch({.grid = 9, .block = 32, .cluster = 9}), "1 to 8 are allowed");
  EXPECT_FAILS(launch({.grid = 16, .block = 32, .cluster = 16}), "with non_portable_cluster");
  EXPECT_FAILS(launch({.grid = 17, .block = 32, .cluster = 17, .non_portable_cluster = true}),
               "a cluster of 17 x 1 x 1 blocks");
  EXPECT_FAILS(launch({.grid = 4, .block = 32, .cluster = {2, 0}}), "of 2 x 0 x 1 blocks");
}

TEST(Language, EmptyGridsAndBlocksAreErrors) {
  device::Stream const stream{kernel_device()};
  DeviceArray<unsigned> const out{kernel_device(), stream, 4};
  for (kernels::LaunchShape const& shape :
       {kernels::LaunchShape{.grid = 0, .block = 32}, {.grid = 1, .block = {32, 0}}}) {
    auto const launch = [&] { launch_clusters(shape, out.data(), stream); };
    if (kernel_mode() == KernelMode::gpu) {
      EXPECT_FAILS(launch(), "cudaErrorInvalid");
    } else {
      EXPECT_THROW(launch(), simt::Error);
    }
  }
}

TEST(Language, KernelsMayOverlapThePreviousOne) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    constexpr int kN = 64 * 64;
    DeviceArray<int> const a{device, stream, std::vector<int>(kN, 5)};
    DeviceArray<int> const b{device, stream, kN};
    launch_increments(a.data(), b.data(), kN, 8, stream);
    EXPECT_EQ(a.download(), std::vector<int>(kN, 5 + 8));
    EXPECT_EQ(b.download(), std::vector<int>(kN, 5 + 7));
  });
}

}  // namespace
}  // namespace quadrille::test
