// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/memory.hpp"
#include "support/expect_fails.hpp"
#include "support/kernel_test.hpp"

#include <vector>

/// Windows of memory with known results, for rows of every device.
namespace quadrille::kernels::memory {

using Words = std::vector<std::uint32_t>;
inline constexpr auto kTileWords = static_cast<std::size_t>(kTileBytes / 4);

inline Words random_words(std::int64_t tiles) {
  Words words(static_cast<std::size_t>(tiles) * kTileWords);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = static_cast<std::uint32_t>(core::mix(i + 1));
  }
  return words;
}

/// A cycle through all lines of a window, and random words between its positions.
inline Words cycle(std::int64_t tiles) {
  Words words = random_words(tiles);
  auto const line = static_cast<std::size_t>(kLineBytes / 4);
  std::size_t const lines = words.size() / line;
  // An odd step goes through all of a power of two; through the rest a step of 1 does.
  std::size_t const step = (lines & (lines - 1)) == 0 ? 37 : 1;
  for (std::size_t i = 0; i < lines; ++i) {
    words[i * line] = static_cast<std::uint32_t>((i + step) % lines * line);
  }
  return words;
}

inline Words input_of(Variant<Problem> const& variant, std::int64_t tiles) {
  bool const is_pointer_chase = variant.specifics.notes.result == Problem::Result::walk;
  return is_pointer_chase ? cycle(tiles) : random_words(tiles);
}

/// Every result, where rows of this kind of device have so many lanes.
inline void expect_right(device::Device& device, device::StreamView stream,
                         Variant<Problem> const& variant, Lanes const& lanes,
                         std::int64_t window_tiles, std::int64_t tiles, int readers,
                         int carveout = -1, int width = 4, int stride = 1) {
  SCOPED_TRACE(testing::Message() << variant.name << " window " << window_tiles << " tiles "
                                  << tiles << " readers " << readers);
  Problem::Result const kind = variant.specifics.notes.result;
  Words const words = input_of(variant, window_tiles);
  Words want(kind == Problem::Result::walk ? 2 : static_cast<std::size_t>(readers) * lanes.count);
  test::DeviceArray<std::uint32_t> const window{device, stream, words};
  test::DeviceArray<std::uint32_t> const result{device, stream,
                                                static_cast<std::int64_t>(want.size())};
  Problem problem{
      window.data(), window_tiles * kTileBytes, tiles, readers, result.data(), carveout, width,
      stride};

  variant.launch(problem, stream);
  stream.synchronize();

  problem.window = words.data();
  problem.result = want.data();
  switch (kind) {
    case Problem::Result::sums: read_reference(problem, lanes); break;
    case Problem::Result::registers: registers_reference(problem); break;
    case Problem::Result::strided:
      for (std::size_t i = 0; i < want.size(); ++i) {
        Share const share =
            share_of(static_cast<std::int64_t>(i) / lanes.count, readers, window_tiles, tiles);
        want[i] =
            static_cast<std::uint32_t>(i) + strided_sum(problem, share, static_cast<int>(i % 32));
      }
      break;
    case Problem::Result::walk: pointer_chase_reference(problem); break;
  }
  EXPECT_EQ(result.download(), want);
  EXPECT_TRUE(result.intact());
  EXPECT_EQ(window.download(), words);
}

/// What no row takes.
inline void expect_refusals(device::Device& device, device::StreamView stream,
                            Variant<Problem> const& variant) {
  test::DeviceArray<std::uint32_t> const window{device, stream, input_of(variant, 1)};
  test::DeviceArray<std::uint32_t> const result{device, stream, 256};
  Problem const good{window.data(), kTileBytes, 1, 1, result.data()};
  auto const fails = [&](auto change, char const* text) {
    Problem bad = good;
    change(bad);
    EXPECT_FAILS(variant.launch(bad, stream), text);
  };
  fails([](Problem& p) { p.window = nullptr; }, "missing");
  fails([](Problem& p) { p.result = nullptr; }, "missing");
  fails([](Problem& p) { p.bytes += 16; }, "whole tiles");
  fails([](Problem& p) { p.bytes = 0; }, "whole tiles");
  fails([](Problem& p) { p.tiles = -1; }, "must be positive");
  fails([](Problem& p) { p.readers = 0; }, "readers must be positive");
  fails([&](Problem& p) { p.window = window.data() + 1; }, "aligned to 16 bytes");
  fails([](Problem& p) { p.carveout = 101; }, "carveout");
}

}  // namespace quadrille::kernels::memory
