// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/memory_data.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"
#include "support/rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace quadrille::kernels::memory {
namespace {

using test::DeviceArray;

Variant<Problem> const& cuda_row(std::string_view name) {
  return test::row(variants(), name, device::Kind::cuda);
}

class MemoryCudaTest : public testing::TestWithParam<std::string_view> {
 protected:
  static bool is_pointer_chase() {
    return cuda_row(GetParam()).specifics.notes.result == Problem::Result::walk;
  }
  static void expect_right(device::Device& device, device::StreamView stream,
                           std::int64_t window_tiles, std::int64_t tiles, int readers,
                           int carveout = -1) {
    memory::expect_right(device, stream, cuda_row(GetParam()), kDeviceLanes, window_tiles, tiles,
                         readers, carveout);
  }
};

TEST_P(MemoryCudaTest, ReadsEveryWordOfItsShare) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    expect_right(device, stream, 1, 1, 1);
    expect_right(device, stream, 1, 5, 2);   // around, with shares that differ
    expect_right(device, stream, 3, 2, 3);   // a reader without a tile
    expect_right(device, stream, 3, 10, 2);  // three rounds and a part
    expect_right(device, stream, 2, 0, 1);
    // Past an unrolled round of additions and past 48 KiB of shared memory.
    expect_right(device, stream, 4, 19, 1, 100);
    expect_right(device, stream, 1, 3, 4, 0);
  });
}

// Past what a first-level cache holds: chunks, of which the last of a share is short.
TEST_P(MemoryCudaTest, ReadsEveryWordOfItsShareOfLargeWindows) {
  if (GetParam() != "read_global") GTEST_SKIP() << "has one loop for all windows";
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    std::int64_t const tiles = kMaxFirstLevelBytes / kTileBytes + 1;
    expect_right(device, stream, tiles, tiles, 1);
    expect_right(device, stream, tiles, 2, 3);          // a reader without a tile
    expect_right(device, stream, tiles, 2 * 31, 2);     // around
    expect_right(device, stream, tiles, 3 * tiles, 1);  // three rounds
  });
}

TEST_P(MemoryCudaTest, WordsMayExceed32Bits) {
  using Long = test::LongArray<std::uint32_t>;
  if (GetParam() != "read_global") GTEST_SKIP() << "reads no such window";
  device::Device& device = test::kernel_device();
  device::Stream const stream{device};
  if (!Long::fits(device, 1)) GTEST_SKIP() << "too little memory";
  Long window{device, stream, 0};
  std::int64_t const tiles = test::long_size() * 4 / kTileBytes;
  std::uint32_t want = 255 * 256 / 2;  // the numbers of the lanes
  for (std::int64_t const i : Long::places()) {
    if (i >= tiles * kTileBytes / 4) continue;
    window.set(i, 1000);
    want += 1000;
  }
  DeviceArray<std::uint32_t> const result{device, stream, 256};

  cuda_row(GetParam()).launch({window.data(), tiles * kTileBytes, tiles, 1, result.data()}, stream);

  std::uint32_t sum = 0;
  for (std::uint32_t const lane : result.download()) sum += lane;
  EXPECT_EQ(sum, want);
}

TEST(MemoryOrder, TakesEveryChunkOnceAndNotInStep) {
  for (std::int64_t const chunks : {1, 2, 3, 31, 32, 33, 1000}) {
    std::vector<std::vector<std::int64_t>> orders;
    for (std::int64_t reader = 0; reader < 16; ++reader) {
      ChunkOrder order{reader, chunks};
      std::vector<std::int64_t>& taken = orders.emplace_back();
      for (std::int64_t i = 0; i < chunks; ++i) taken.push_back(order.next());

      std::vector<std::int64_t> sorted = taken;
      std::sort(sorted.begin(), sorted.end());
      for (std::int64_t i = 0; i < chunks; ++i) {
        ASSERT_EQ(sorted[static_cast<std::size_t>(i)], i) << "reader " << reader;
      }
    }
    if (chunks < 31) continue;
    // How far one is ahead of another changes all the time.
    for (std::size_t r = 1; r < orders.size(); ++r) {
      std::map<std::int64_t, int> ahead;
      for (std::size_t i = 0; i < orders[0].size(); ++i) {
        ++ahead[(orders[r][i] - orders[r - 1][i] + chunks) % chunks];
      }
      int most = 0;
      for (auto const& [distance, times] : ahead) most = std::max(most, times);
      EXPECT_LE(most, chunks / 4) << "readers " << r - 1 << " and " << r << " of " << chunks;
    }
  }
}

TEST_P(MemoryCudaTest, ConstraintsAreRefused) {
  test::on_every_schedule([](device::Device& device, device::StreamView stream) {
    Variant<Problem> const& row = cuda_row(GetParam());
    expect_refusals(device, stream, row);
    bool const is_limited =
        GetParam() == "read_shared" || GetParam() == "read_shared_strided" || is_pointer_chase();
    if (!is_limited) return;
    DeviceArray<std::uint32_t> const window{device, stream, input_of(row, 1)};
    DeviceArray<std::uint32_t> const result{device, stream, 256};
    Problem large{window.data(), 15 * kTileBytes, 1, 1, result.data()};
    if (is_pointer_chase()) large.bytes = kMaxPointerChaseBytes + kTileBytes;
    EXPECT_FAILS(row.launch(large, stream), "at most");
  });
}

// Rounds that start over, in the last of which the last lane reads the end of the window.
TEST(MemoryStrides, ReadEveryWidthAndStride) {
  Variant<Problem> const& row = cuda_row("read_shared_strided");
  test::on_every_schedule([&](device::Device& device, device::StreamView stream) {
    for (int const width : {2, 4, 8, 16}) {
      for (int const stride : {1, 3, 32}) {
        expect_right(device, stream, row, kDeviceLanes, 1, 5, 2, -1, width, stride);
      }
    }
    expect_right(device, stream, row, kDeviceLanes, 2, 130, 1, -1, 16, 65);
    DeviceArray<std::uint32_t> const window{device, stream, random_words(1)};
    DeviceArray<std::uint32_t> const result{device, stream, 256};
    Problem problem{window.data(), kTileBytes, 1, 1, result.data(), -1, 16, 33};
    EXPECT_FAILS(row.launch(problem, stream), "hold 32 strides");
    problem.width = 3;
    EXPECT_FAILS(row.launch(problem, stream), "2, 4, 8 or 16");
  });
}

INSTANTIATE_TEST_SUITE_P(Variants, MemoryCudaTest,
                         testing::Values("read_global", "read_shared", "read_shared_strided",
                                         "read_registers", "pointer_chase"),
                         test::RowName{});

}  // namespace
}  // namespace quadrille::kernels::memory
