// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "peak/peak.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace quadrille::kernels::peak {
namespace {

using test::DeviceArray;

std::vector<std::int32_t> starts() {
  std::vector<std::int32_t> all;
  for (int i = 0; i < kStarts; ++i) all.push_back(i % (2 * kMaxStart + 1) - kMaxStart);
  return all;
}

class PeakCudaTest : public testing::TestWithParam<std::string_view> {
 protected:
  static Variant<Problem> const& row() {
    return test::row(variants(), GetParam(), device::Kind::cuda);
  }
};

TEST_P(PeakCudaTest, EveryChainMakesItsSteps) {
  // Threads that never meet: one order is as good as another.
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  for (Types const& types : row().types) {
    SCOPED_TRACE(to_text(types));
    constexpr int kWorkers = 2;
    Loop const loop = row().specifics.notes.loop(types);
    std::vector<std::int32_t> const from = starts();
    DeviceArray<std::int32_t> const start{device, stream, from};
    DeviceArray<std::uint64_t> const result{device, stream, kWorkers * loop.results};
    // The first worker has a portion more; sums that go back do so, and go on.
    std::int64_t const periods = kWorkers * loop.period * loop.multiply_adds();
    DeviceArray<std::uint32_t> const processor{device, stream, kWorkers * loop.results};
    Problem const p{types.in,     types.compute, 3 * kQuantum + periods, kWorkers,
                    start.data(), result.data(), processor.data()};

    row().launch(p, stream);
    stream.view().synchronize();

    std::vector<std::uint64_t> want, last[kWorkers];
    for (int w = 0; w < kWorkers; ++w) {
      for (std::int32_t const s : from) {
        last[w].push_back(last_bits(types, loop, steps_of(p, loop, w), s));
      }
    }
    std::size_t chain = 0;
    for (int i = 0; i < kWorkers * loop.results; ++i) {
      std::uint64_t sum = static_cast<std::uint64_t>(i);
      for (int c = 0; c < loop.chains; ++c) sum += last[i / loop.results][chain++ % kStarts];
      want.push_back(sum);
    }
    EXPECT_EQ(result.download(), want);
    EXPECT_TRUE(result.intact());
    for (std::uint32_t const number : processor.download()) {
      EXPECT_LT(number, static_cast<unsigned>(device.facts().multiprocessors));
    }
    EXPECT_TRUE(processor.intact());
  }
}

TEST_P(PeakCudaTest, ConstraintsAreRefused) {
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  DeviceArray<std::int32_t> const start{device, stream, starts()};
  DeviceArray<std::uint64_t> const result{device, stream, 1024};
  Types const types = *row().types.begin();
  Problem p{types.in, types.compute, kQuantum + 1, 1, start.data(), result.data()};
  EXPECT_FAILS(row().launch(p, stream), "a multiple of 2Mi");
  p.multiply_adds = kQuantum;
  p.result = nullptr;
  EXPECT_FAILS(row().launch(p, stream), "missing");
}

INSTANTIATE_TEST_SUITE_P(Variants, PeakCudaTest,
                         testing::Values("fma_loop", "mma_loop", "wgmma_loop"), test::RowName{});

}  // namespace
}  // namespace quadrille::kernels::peak
