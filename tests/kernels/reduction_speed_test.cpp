// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/host/parallel.hpp"
#include "kernels/host_kernels.hpp"
#include "reduction/reduction.hpp"
#include "support/rows.hpp"

#include <chrono>
#include <cstdio>
#include <functional>
#include <iterator>
#include <numeric>

namespace quadrille::kernels::reduction {
namespace {

/// Reads everything with the stream's threads and does as little as possible with it.
void launch_read(device::Span<std::uint64_t const> words, std::uint64_t* result,
                 device::StreamView stream) {
  stream.run([=] {
    constexpr std::int64_t kChunk = 16384;
    *result = device::parallel_reduce(
        stream, words.size / kChunk, std::uint64_t{0},
        [=](std::int64_t chunk) {
          std::uint64_t const* const from = words.data + chunk * kChunk;
          std::uint64_t lane[32] = {};
          for (std::int64_t i = 0; i < kChunk; i += 32) {
            for (std::int64_t l = 0; l < 32; ++l) lane[l] ^= from[i + l];
          }
          return std::accumulate(std::begin(lane), std::end(lane), std::uint64_t{0});
        },
        std::plus<>{});
  });
}

template <class Launch>
double seconds(test::Host const& host, Launch launch) {
  auto const begin = std::chrono::steady_clock::now();
  launch();
  host.stream.view().synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(ReductionSpeed, HostSimdSumReachesTheRateOfAReadLoop) {
  test::Host host;
  std::int64_t const n = 1 << 24;
  device::Buffer<double> x{*host.device, n, host.stream};
  device::Buffer<double> result{*host.device, 1, host.stream};
  device::Buffer<std::uint64_t> check{*host.device, 1, host.stream};
  host.stream.view().fill(x.data(), 0, x.bytes());
  Problem const problem{.x = x.data(), .n = n, .result = result.data()};
  device::Span<std::uint64_t const> const words{reinterpret_cast<std::uint64_t const*>(x.data()),
                                                n};

  // Alternating, so that both see the same clocks and neighbours; the best of each counts.
  double read = 1e9, sum = 1e9;
  for (int attempt = 0; attempt < 60 && (attempt < 10 || !(read >= 0.8 * sum)); ++attempt) {
    read = std::min(read, seconds(host, [&] { launch_read(words, check.data(), host.stream); }));
    sum = std::min(
        sum, seconds(host, [&] { test::launch(variants(), "host_simd", problem, host.stream); }));
  }

  double const bytes = static_cast<double>(x.bytes());
  std::printf("read loop %.1f GB/s, host_simd sum %.1f GB/s, ratio %.2f\n", bytes / read * 1e-9,
              bytes / sum * 1e-9, read / sum);
  EXPECT_GE(read / sum, 0.8);
}

}  // namespace
}  // namespace quadrille::kernels::reduction
