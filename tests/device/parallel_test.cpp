// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/host/parallel.hpp"

#include "support/expect_fails.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace quadrille::device {
namespace {

// x[i] = factor * i on the stream, then the sum of x.
void fill_and_sum(StreamView stream, Span<double> x, double factor, double* sum) {
  stream.run([=] {
    parallel_for(stream, x.size,
                 [=](std::int64_t i) { x.data[i] = factor * static_cast<double>(i); });
  });
  stream.run([=] {
    *sum = parallel_reduce(
        stream, x.size, 0.0, [=](std::int64_t i) { return x.data[i]; }, std::plus<>{});
  });
}

class ParallelThreads : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Some, ParallelThreads, testing::Values(1, 2, 3));

TEST_P(ParallelThreads, LoopsOfSeveralStreamsGiveTheirOwnResults) {
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

TEST_P(ParallelThreads, LoopsUseTheThreadsOfTheDevice) {
  auto const device = make_host_device(GetParam());
  Stream const stream{*device};
  std::mutex mutex;
  std::set<std::thread::id> seen;
  stream.view().run([&, view = stream.view()] {
    EXPECT_EQ(parallel_threads(view), GetParam());
    parallel_for(view, GetParam(), [&](std::int64_t) {
      std::lock_guard const lock{mutex};
      seen.insert(std::this_thread::get_id());
    });
  });
  stream.view().synchronize();

  EXPECT_EQ(static_cast<int>(seen.size()), GetParam());
}

TEST_P(ParallelThreads, LoopsOfTwoStreamsRunAtTheSameTime) {
  auto const device = make_host_device(GetParam());
  Stream const a{*device}, b{*device};
  std::atomic<int> kernels{0};
  std::atomic<int> met{0};
  auto const kernel = [&](StreamView stream) {
    stream.run([&, stream] {
      parallel_for(stream, 1, [&](std::int64_t) {
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

TEST_P(ParallelThreads, DynamicLoopsVisitEveryIterationOnce) {
  auto const device = make_host_device(GetParam());
  Stream const stream{*device};
  std::vector<std::atomic<int>> visits(1000);
  stream.view().run([&, view = stream.view()] {
    parallel_for(
        view, 1000, [&](std::int64_t i) { ++visits[static_cast<std::size_t>(i)]; },
        Schedule::dynamic);
  });
  stream.view().synchronize();

  EXPECT_TRUE(std::ranges::all_of(visits, [](auto const& n) { return n == 1; }));
}

TEST(Parallel, PartsOfThreadsFollowOneAnotherInWholeGroups) {
  for (std::int64_t const n : {0, 1, 2, 79, 81, 1001, 5121, 100003}) {
    for (int const threads : {1, 2, 3, 7}) {
      std::int64_t end = 0;
      for (int t = 0; t < threads; ++t) {
        core::Range const part = part_of_thread(n, threads, t);
        EXPECT_EQ(part.first, end) << n << " for " << threads;
        end = part.first + part.count;
      }
      EXPECT_EQ(end, n) << n << " for " << threads;
    }
  }
  EXPECT_EQ(part_of_thread(1001, 2, 0).count, 32 * 16);
  EXPECT_EQ(part_of_thread(100003, 2, 0).count, 98 * 512);
}

TEST(Parallel, BelongsToTasksOfItsStream) {
  auto const device = make_host_device(1);
  Stream const stream{*device};
  EXPECT_FAILS(parallel_threads(stream), "inside a task of its stream");
  EXPECT_FAILS(parallel_for({}, 1, [](std::int64_t) {}), "needs a stream of the host device");
}

// Where there are more cores than OpenMP threads, they would for 10 ms without KokkosRuntime's
// care.
TEST(Parallel, IdleThreadsOfALoopDoNotSpin) {
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

}  // namespace
}  // namespace quadrille::device
