// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "memory/memory.hpp"

#include "kernels/host_kernels.hpp"
#include "kernels/memory_data.hpp"
#include "support/rows.hpp"

#include <numeric>

namespace quadrille::kernels::memory {
namespace {

struct alignas(16) Aligned {
  std::uint32_t word[4];
};

/// A window of so many tiles, aligned as device memory is.
class Window {
 public:
  explicit Window(std::int64_t tiles)
      : memory_(static_cast<std::size_t>(tiles) * kTileWords / 4), tiles_{tiles} {}
  std::uint32_t* words() { return memory_.data()->word; }
  std::size_t size() const { return memory_.size() * 4; }
  Problem problem(std::int64_t tiles, int readers, Words& result) {
    return {words(), tiles_ * kTileBytes, tiles, readers, result.data()};
  }

 private:
  std::vector<Aligned> memory_;
  std::int64_t tiles_;
};

TEST(MemoryReference, AddsTheWordsOfALane) {
  Window window{2};
  std::fill_n(window.words(), kTileWords, 1);
  std::fill_n(window.words() + kTileWords, kTileWords, 10);
  window.words()[3] = 5;
  Words result(2 * 64);

  // Reader 0: tile 0, tile 1. Reader 1 starts at tile 1.
  read_reference(window.problem(3, 2, result), {64, 1});

  EXPECT_EQ(result[0], 0 + 64U + 640U);
  EXPECT_EQ(result[3], 3 + 68U + 640U);
  EXPECT_EQ(result[64], 64 + 640U);
  EXPECT_EQ(result[127], 127 + 640U);
}

TEST(MemoryReference, DistributesWordsInGroups) {
  Window window{1};
  std::iota(window.words(), window.words() + window.size(), 0U);
  Words result(256);

  read_reference(window.problem(1, 1, result), kDeviceLanes);

  // Words 4 l ... 4 l + 3, and those 1024, 2048 and 3072 after them.
  for (std::uint32_t const lane : {0U, 1U, 255U}) {
    std::uint32_t want = lane;
    for (std::uint32_t f = 0; f < 4; ++f) {
      for (std::uint32_t w = 0; w < 4; ++w) want += f * 1024 + 4 * lane + w;
    }
    EXPECT_EQ(result[lane], want) << lane;
  }
}

TEST(MemoryReference, FollowsACycle) {
  Window window{1};
  // 0, 64, 32, 0, ...: three lines of the 128.
  window.words()[0] = 64;
  window.words()[64] = 32;
  window.words()[32] = 0;
  Words result(2);

  pointer_chase_reference(window.problem(1, 1, result));  // 128 steps: 42 rounds and two steps

  EXPECT_EQ(result[0], 32U);
  EXPECT_EQ(result[1], 42U * 96 + 96);
}

TEST(MemoryReference, AddsRegistersInARing) {
  Window window{1};
  std::fill_n(window.words(), 8, 1);
  Words result(256);

  registers_reference(window.problem(1, 1, result));

  // Seven sums of two ones; the last adds the first of them.
  EXPECT_EQ(result[0], 7U * 2 + 3);
  EXPECT_EQ(result[1], 1U);
}

TEST(Memory, EveryHostVariantReadsEveryWordOfItsShare) {
  test::Host host;
  struct Shape {
    std::int64_t window, tiles;
    int readers;
  };
  for (Variant<Problem> const& variant : test::rows_of(variants(), test::is_host_row)) {
    if (variant.specifics.notes.result == Problem::Result::walk) continue;
    for (Shape const s : {Shape{1, 1, 1}, Shape{1, 5, 2}, Shape{3, 2, 3}, Shape{3, 10, 2},
                          Shape{2, 0, 1}, Shape{64, 1000, 5}}) {
      expect_right(*host.device, host.stream, variant, kHostLanes, s.window, s.tiles, s.readers);
    }
  }
}

TEST(Memory, SharesCoverTheTiles) {
  for (std::int64_t const readers : {1, 3, 528}) {
    for (std::int64_t const tiles : {0, 1, 5, 1000}) {
      std::int64_t sum = 0;
      for (std::int64_t r = 0; r < readers; ++r) {
        Share const share = share_of(r, readers, 7, tiles);
        EXPECT_GE(share.first, 0);
        EXPECT_LT(share.first, 7);
        sum += share.count;
      }
      EXPECT_EQ(sum, tiles) << readers;
    }
  }
}

TEST(Memory, WindowsThatDoNotFitAreUnsupported) {
  auto const why = [](std::string_view name, std::int64_t bytes) {
    auto const* const host = find(variants(), name, device::Kind::host);
    Variant<Problem> const& row =
        host != nullptr ? *host : test::row(variants(), name, device::Kind::cuda);
    return row.unsupported_reason({.bytes = bytes});
  };

  EXPECT_EQ(why("read_global", kTileBytes), "");
  EXPECT_EQ(why("read_shared", 14 * kTileBytes), "");
  EXPECT_EQ(why("pointer_chase", kMaxPointerChaseBytes), "");
  for (std::string_view const name : {"host_simd", "kokkos"}) {
    EXPECT_NE(why(name, 0).find("a multiple"), std::string::npos);
    EXPECT_NE(why(name, kTileBytes + 8).find("a multiple"), std::string::npos);
  }
  EXPECT_NE(why("read_shared", 15 * kTileBytes).find("at most"), std::string::npos);
  EXPECT_NE(why("pointer_chase", kMaxPointerChaseBytes + kTileBytes).find("at most"),
            std::string::npos);
}

TEST(Memory, ConstraintsAreRefused) {
  test::Host host;
  for (Variant<Problem> const& variant : test::rows_of(variants(), test::is_host_row)) {
    expect_refusals(*host.device, host.stream, variant);
  }
}

}  // namespace
}  // namespace quadrille::kernels::memory
