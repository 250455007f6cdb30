// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/host/execution.hpp"

#include "device/kokkos_runtime.hpp"
#include "support/expect_fails.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <omp.h>
#include <thread>
#include <vector>

namespace quadrille::device {
namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

// x[i] = factor * i on the stream, then the sum of x.
void fill_and_sum(StreamView stream, Span<double> x, double factor, double* sum) {
  stream.run([=] {
    Space const& space = host_execution(stream);
    Kokkos::parallel_for("fill", Range(space, 0, x.size),
                         [=](std::int64_t i) { x.data[i] = factor * static_cast<double>(i); });
    space.fence();
  });
  stream.run([=] {
    Kokkos::parallel_reduce(
        "sum", Range(host_execution(stream), 0, x.size),
        [=](std::int64_t i, double& part) { part += x.data[i]; }, *sum);
  });
}

class HostExecutionThreads : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Some, HostExecutionThreads, testing::Values(1, 2, 3));

TEST_P(HostExecutionThreads, KernelsOfSeveralStreamsGiveTheirOwnResults) {
  constexpr std::int64_t kSize = 10000;
  constexpr std::size_t kStreams = 3;
  auto const device = make_host_device(GetParam());
  std::vector<Stream> streams;
  for (std::size_t s = 0; s < kStreams; ++s) streams.emplace_back(*device);

  for (int repetition = 0; repetition < 20; ++repetition) {
    std::vector<Buffer<double>> x;
    std::vector<double> sums(kStreams, 0);
    for (std::size_t s = 0; s < kStreams; ++s) {
      x.emplace_back(*device, kSize, streams[s]);
      fill_and_sum(streams[s], x[s].span(), static_cast<double>(s + 1), &sums[s]);
    }
    for (std::size_t s = 0; s < kStreams; ++s) {
      streams[s].view().synchronize();
      double const exact = static_cast<double>(s + 1) * (kSize - 1) * kSize / 2;
      ASSERT_EQ(sums[s], exact) << "stream " << s;
    }
  }
}

TEST_P(HostExecutionThreads, KernelsUseTheThreadsOfTheDevice) {
  auto const device = make_host_device(GetParam());
  Stream const stream{*device};
  std::vector<std::atomic<int>> visits(8);
  stream.view().run([&, view = stream.view()] {
    Kokkos::parallel_for("threads", Range(host_execution(view), 0, GetParam()), [&](std::int64_t) {
      ++visits[static_cast<std::size_t>(omp_get_thread_num())];
    });
  });
  stream.view().synchronize();

  for (int i = 0; i < 8; ++i) EXPECT_EQ(visits[static_cast<std::size_t>(i)], i < GetParam());
}

TEST_P(HostExecutionThreads, KernelsOfTwoStreamsRunAtTheSameTime) {
  auto const device = make_host_device(GetParam());
  Stream const a{*device}, b{*device};
  std::atomic<int> kernels{0};
  std::atomic<int> met{0};
  auto const kernel = [&](StreamView stream) {
    stream.run([&, stream] {
      Kokkos::parallel_for("meet", Range(host_execution(stream), 0, 1), [&](std::int64_t) {
        kernels.fetch_add(1);
        auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (kernels.load() < 2 && std::chrono::steady_clock::now() < limit) {
          std::this_thread::yield();
        }
        if (kernels.load() == 2) met.fetch_add(1);
      });
    });
  };

  kernel(a);
  kernel(b);
  a.view().synchronize();
  b.view().synchronize();

  EXPECT_EQ(met, 2);
}

TEST(HostExecution, AStreamKeepsItsSpace) {
  auto const device = make_host_device(2);
  Stream const a{*device}, b{*device};
  Space const* first = nullptr;
  Space const* second = nullptr;
  Space const* other = nullptr;
  a.view().run([&] { first = &host_execution(a); });
  b.view().run([&] { other = &host_execution(b); });
  a.view().run([&] { second = &host_execution(a); });
  a.view().synchronize();
  b.view().synchronize();

  EXPECT_EQ(first, second);
  EXPECT_FALSE(*first == *other);
  EXPECT_FALSE(*first == Space{});
}

TEST(HostExecution, BelongsToTasksOfItsStream) {
  auto const device = make_host_device(1);
  Stream const stream{*device};
  EXPECT_FAILS(host_execution(stream), "inside a task of its stream");
  EXPECT_FAILS(host_execution({}), "needs a stream of the host device");
}

// Where there are more cores than OpenMP threads, they would for 10 ms without KokkosRuntime's
// care.
TEST(HostExecution, IdleThreadsOfAKernelDoNotSpin) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr) GTEST_SKIP() << "OMP_WAIT_POLICY is set";
  auto const device = make_host_device(2);
  Stream const stream{*device};
  std::clock_t const before = std::clock();
  constexpr int kKernels = 20;
  for (int i = 0; i < kKernels; ++i) {
    double sum = 0;
    Buffer<double> const x{*device, 1000, stream};
    fill_and_sum(stream, x.span(), 1, &sum);
    stream.view().synchronize();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  double const seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;

  EXPECT_LT(seconds / kKernels, 0.004);
}

TEST(KokkosRuntime, NamesItsVersionAndBackend) {
  EXPECT_TRUE(kokkos_version().ends_with(", OpenMP")) << kokkos_version();
}

}  // namespace
}  // namespace quadrille::device
