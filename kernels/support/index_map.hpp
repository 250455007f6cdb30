// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace quadrille::kernels::vector {

/// Blocks of a grid or threads of a block along x, y, z. Those beyond its dimensions are 1.
struct Extent {
  int dimensions = 1;
  int x = 1, y = 1, z = 1;
  constexpr std::int64_t count() const { return std::int64_t{x} * y * z; }
};

/// A launch of threads that each say who they are.
struct IndexShape {
  Extent grid, block;
  constexpr std::int64_t threads() const { return grid.count() * block.count(); }
};

/// One-, two- and three-dimensional grids of one-, two- and three-dimensional blocks. No two
/// extents of a shape are equal, so that swapped ones are seen; not all blocks are whole warps.
inline constexpr std::array<IndexShape, 9> kIndexShapes{{
    {{1, 5, 1, 1}, {1, 96, 1, 1}},
    {{1, 5, 1, 1}, {2, 24, 3, 1}},
    {{1, 5, 1, 1}, {3, 8, 2, 3}},
    {{2, 3, 5, 1}, {1, 96, 1, 1}},
    {{2, 3, 5, 1}, {2, 24, 4, 1}},
    {{2, 3, 5, 1}, {3, 8, 2, 7}},
    {{3, 3, 5, 2}, {1, 40, 1, 1}},
    {{3, 3, 5, 2}, {2, 24, 4, 1}},
    {{3, 3, 5, 2}, {3, 8, 6, 4}},
}};

/// What the thread with one global id saw.
struct IndexEntry {
  std::int32_t writers = 0;  ///< threads that computed this id: 1 where ids are a permutation
  std::int32_t block[3] = {};
  std::int32_t thread[3] = {};
  std::int32_t warp = 0;  ///< of the block
  std::int32_t lane = 0;
};

/// Each thread computes its global id by the formula for the dimensions of grid and block, and
/// enters itself there: entries[id]. As many entries as threads, zero before.
void launch_index_map(IndexShape const& shape, device::Span<IndexEntry> entries,
                      device::StreamView stream);

/// What is wrong with a filled map, or nothing: each id once, x fastest, then y, then z, threads of
/// a block together, warps of 32 threads in this order.
std::string index_map_fault(IndexShape const& shape, std::span<IndexEntry const> entries);
/// The same of the first wrong map of all shapes, filled on the stream's GPU. Blocks.
std::string index_map_fault(device::StreamView stream);

}  // namespace quadrille::kernels::vector
