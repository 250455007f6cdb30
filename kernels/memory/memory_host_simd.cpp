// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads of one window by all threads of the host.
///
///   result[reader][lane] = number of the lane + sum of its words, modulo 2^32
///
/// Technique    each thread goes around the same window from a place of its own, with whole
///              vectors into accumulators enough to hide the additions: a window that fits a cache
///              of every core shows that cache, a larger one what the cores share
/// Shapes       windows of whole tiles of 16 KiB
/// Work         tiles x 16 KiB read
/// Launch       one parallel loop of the stream, a reader an iteration
/// Accuracy     exact
#include "device/host/parallel.hpp"
#include "memory/memory.hpp"

#include <array>

namespace quadrille::kernels::memory {
namespace {

constexpr std::size_t kLanes = kHostLanes.count;
using Sums = std::array<std::uint32_t, kLanes>;

void add_tile(std::uint32_t const* words, Sums& sums) {
  Sums local = sums;
  for (std::size_t w = 0; w < kTileBytes / 4; w += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) local[l] += words[w + l];
  }
  sums = local;
}

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([p = problem, stream] {
    device::parallel_for(stream, p.readers, [p](std::int64_t r) {
      auto const* words = static_cast<std::uint32_t const*>(p.window);
      std::int64_t const window_tiles = p.bytes / kTileBytes;
      Share const share = share_of(r, p.readers, window_tiles, p.tiles);
      Sums sums{};
      std::int64_t tile = share.first;
      for (std::int64_t i = 0; i < share.count; ++i) {
        add_tile(words + tile * (kTileBytes / 4), sums);
        if (++tile == window_tiles) tile = 0;
      }
      for (std::size_t l = 0; l < kLanes; ++l) {
        auto const at = static_cast<std::size_t>(r) * kLanes + l;
        p.result[at] = sums[l] + static_cast<std::uint32_t>(at);
      }
    });
  });
}

}  // namespace

extern constinit Variant<Problem> const host_simd{
    {.name = "host_simd",
     .where = Where::host,
     .types = kEveryType,
     .needs = {.other = "windows of whole 16 KiB"},
     .preference = 20,
     .source = "own",
     .summary = "all threads, each from a place of its own around the window"},
    launch,
    {.unsupported = window_unsupported<>}};

}  // namespace quadrille::kernels::memory
