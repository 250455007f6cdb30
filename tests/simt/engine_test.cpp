// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "simt/engine.hpp"

#include "simt/engine_kernels.hpp"
#include "support/kernel_test.hpp"

#include <chrono>
#include <cstdlib>
#include <numeric>
#include <set>

namespace quadrille::test {
namespace {

using simt::Schedule;

// What the race detector finds first is left to sabotage_test.cpp.
constexpr Schedule kAscending{.order = Schedule::Order::ascending, .finds_races = false};
constexpr Schedule kDescending{.order = Schedule::Order::descending, .finds_races = false};
constexpr Schedule seeded(std::uint64_t seed, unsigned resident = 3) {
  return {Schedule::Order::random, seed, resident, false};
}

/// What the interpreter says of the action; empty if it finds nothing.
template <class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (simt::Error const& error) {
    return error.what();
  }
  return "";
}

template <class Action>
double seconds(Action&& action) {
  auto const start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

constexpr int kN = 256;
float a_of(int i) { return static_cast<float>(i % 7 - 3); }
float b_of(int i) { return static_cast<float>(i % 5 - 2); }

/// c = a b for matrices of kN rows.
struct Product {
  Product(device::Device& device, device::StreamView on)
      : stream{on},
        a{device, on, filled(a_of)},
        b{device, on, filled(b_of)},
        c{device, on, kN * kN} {}

  static std::vector<float> filled(float (*value)(int)) {
    std::vector<float> values(kN * kN);
    for (int i = 0; i < kN * kN; ++i) values[static_cast<std::size_t>(i)] = value(i);
    return values;
  }

  void launch() const { launch_product(a.data(), b.data(), c.data(), kN, stream); }

  device::StreamView stream;
  DeviceArray<float> a, b, c;
};

std::vector<unsigned> order_of(Schedule const& schedule, int blocks, int threads) {
  simt::set_schedule(schedule);
  device::Stream const stream{kernel_device()};
  DeviceArray<unsigned> const counter{kernel_device(), stream, std::vector<unsigned>{0}};
  DeviceArray<unsigned> const order{kernel_device(), stream, blocks * threads};
  launch_order(counter.data(), order.data(), blocks, threads, stream);
  simt::set_schedule({});
  return order.download();
}

std::vector<unsigned> counted(unsigned n) {
  std::vector<unsigned> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0U);
  return numbers;
}

TEST(Engine, NamesEveryMistake) {
  for (Mistake const& mistake : mistakes()) {
    for (Schedule const& schedule : {kAscending, seeded(1)}) {
      SCOPED_TRACE(std::string{mistake.name} + " in " + schedule.text());
      simt::set_schedule(schedule);
      device::Stream const stream{kernel_device()};
      auto* const memory = static_cast<float*>(simt::allocate(64 * sizeof(float)));

      std::string const error = error_of([&] { mistake.launch(stream, memory); });

      bool const any_lane = std::string{mistake.name}.find("lane") != std::string::npos ||
                            std::string{mistake.name}.find("mask") != std::string::npos;
      if (schedule.order == Schedule::Order::ascending || !any_lane) {
        EXPECT_NE(error.find(mistake.message), std::string::npos) << error;
      } else {
        EXPECT_FALSE(error.empty());
      }
      EXPECT_NE(error.find(mistake.name), std::string::npos) << error;
      EXPECT_EQ(error.find('\n'), std::string::npos) << error;
      simt::release(memory);
    }
  }
  simt::set_schedule({});
}

TEST(Engine, ErrorNamesKernelBlockThreadAndPlace) {
  device::Stream const stream{kernel_device()};
  DeviceArray<float> const memory{kernel_device(), stream, 64};
  Mistake const& mistake = mistakes()[2];
  std::string const error = error_of([&] { mistake.launch(stream, memory.data()); });
  EXPECT_EQ(error.rfind("not_in_mask_kernel, block (0,0,0) thread (16,0,0): __shfl_sync: lane", 0),
            0U)
      << error;
  EXPECT_NE(error.find(" (engine_kernels.cu:"), std::string::npos) << error;
}

TEST(Engine, RunsOnAfterAMistake) {
  device::Stream const stream{kernel_device()};
  DeviceArray<float> const memory{kernel_device(), stream, 64};
  EXPECT_NE(error_of([&] { mistakes()[0].launch(stream, memory.data()); }), "");
  EXPECT_EQ(order_of(kAscending, 2, 64), counted(128));
}

TEST(Engine, AscendingAndDescendingOrdersAreThat) {
  std::vector<unsigned> const ascending = counted(5 * 40);
  EXPECT_EQ(order_of(kAscending, 5, 40), ascending);
  EXPECT_EQ(order_of(kDescending, 5, 40),
            std::vector<unsigned>(ascending.rbegin(), ascending.rend()));
}

TEST(Engine, SeedsDifferAndRepeat) {
  std::set<std::vector<unsigned>> orders;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    auto const order = order_of(seeded(seed), 5, 40);
    EXPECT_EQ(order, order_of(seeded(seed), 5, 40)) << "seed " << seed;
    orders.insert(order);
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, counted(5 * 40));
  }
  EXPECT_EQ(orders.size(), 8U);
}

TEST(Engine, ResidentBlocksInterleave) {
  // Changes from one block to another along the order: 4 in all unless blocks share their time.
  auto const changes = [](std::vector<unsigned> const& order) {
    int n = 0;
    for (std::size_t i = 1; i < order.size(); ++i) n += order[i] / 40 != order[i - 1] / 40 ? 1 : 0;
    return n;
  };
  EXPECT_EQ(changes(order_of(seeded(1, 1), 5, 40)), 4);
  EXPECT_GT(changes(order_of(seeded(1, 3), 5, 40)), 40);
}

TEST(Engine, BlocksThatWaitForLaterOnesGetThem) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    DeviceArray<unsigned> const flags{device, stream, std::vector<unsigned>(20, 0)};
    launch_chain(flags.data(), 20, stream);
    EXPECT_EQ(flags.download(), std::vector<unsigned>(20, 1));
  });
  // As on a GPU, blocks that fill it wait in vain for those behind them.
  device::Stream const stream{kernel_device()};
  DeviceArray<unsigned> const flags{kernel_device(), stream, std::vector<unsigned>(200, 0)};
  std::string const error = error_of([&] { launch_chain(flags.data(), 200, stream); });
  EXPECT_NE(error.find("72 blocks have not started, 128 are resident"), std::string::npos) << error;
}

TEST(Engine, SumsWithTheLastBlock) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    std::vector<float> x(1000);
    std::iota(x.begin(), x.end(), 0.0F);
    DeviceArray<float> const in{device, stream, x};
    DeviceArray<float> const partial{device, stream, 5};
    DeviceArray<unsigned> const counter{device, stream, std::vector<unsigned>{0}};
    DeviceArray<float> const sum{device, stream, std::vector<float>{1}};
    launch_sum(in.data(), in.size(), partial.data(), counter.data(), sum.data(), 5, stream);
    EXPECT_EQ(sum.download()[0], 499501);
    EXPECT_EQ(counter.download()[0], 0U);
  });
}

TEST(Engine, CopiesAsynchronously) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    std::vector<float> x(256 * 5);
    std::iota(x.begin(), x.end(), 0.0F);
    DeviceArray<float> const from{device, stream, x};
    DeviceArray<float> const to{device, stream, from.size()};
    launch_async_copy(from.data(), to.data(), 5, stream);
    EXPECT_EQ(to.download(), x);
  });
}

TEST(Engine, NamedBarriersLetOneSideGoOn) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    DeviceArray<int> const out{device, stream, 32 * 7};
    launch_producer(out.data(), 7, stream);
    std::vector<int> expected(32 * 7);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(out.download(), expected);
  });
}

TEST(Engine, MultipliesMatrices) {
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    Product const product{device, stream};
    product.launch();
    auto const result = product.c.download();
    for (int i = 0; i < kN; i += 17) {
      for (int j = 0; j < kN; j += 3) {
        float sum = 0;
        for (int k = 0; k < kN; ++k) {
          sum += a_of(i * kN + k) * b_of(k * kN + j);
        }
        ASSERT_EQ(result[static_cast<std::size_t>(i * kN + j)], sum) << i << ", " << j;
      }
    }
  });
}

/// Twice what it takes on a slow machine, where it is idle.
TEST(Engine, IsFast) {
  if (std::getenv("QUADRILLE_TEST_SPEED") == nullptr) GTEST_SKIP() << "the test engine_speed";
  on_every_schedule([](device::Device& device, device::StreamView stream) {
    Product const product{device, stream};
    EXPECT_LT(seconds([&] { product.launch(); }), 2);
    double const switches_s = seconds([&] { launch_barriers(1000, 1024, stream); });
    EXPECT_LT(switches_s / (1000 * 1024), 0.4e-6);
  });
}

}  // namespace
}  // namespace quadrille::test
