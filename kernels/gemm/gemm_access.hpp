// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/access.hpp"

#include <cstdint>
#include <optional>
#include <span>

/// Model of what a tiled product asks of memory, from the accesses that its technique describes.
namespace quadrille::kernels::gemm {

/// What an access reads or writes: an operand, or the block's shared memory.
enum class Memory { a, b, c, shared_load, shared_store };

/// An element of an operand, counted from the block's tile; of shared memory element `col` of an array.
struct Place {
  std::int64_t row = 0, col = 0;
  bool operator==(Place const&) const = default;
};
/// Of threads that do not execute an instruction: all of a warp, or none.
inline constexpr Place kNowhere{-1, -1};

/// What each execution of an instruction belongs to.
enum class For { tile, tile_of_c };

/// One instruction: each thread executes it `steps` times for each tile of A and B, or for each tile
/// of C, as it always does where C is accessed.
struct Access {
  Memory memory = Memory::a;
  int elements = 1;  ///< of a lane at once, consecutive
  int steps = 1;
  Place (*at)(int thread, int step) = nullptr;
  For each = For::tile;
};

/// The accesses of a block with so many threads, with a tile of C of rows x cols and `depth` of A and
/// B at a time. Without accesses: nobody has described them.
struct Pattern {
  int threads = 0;
  std::int64_t rows = 0, cols = 0, depth = 0;
  std::span<Access const> accesses{};
};

/// Of one kind of requests by warps.
struct Requests {
  std::int64_t requests = 0;
  std::int64_t parts = 0;  ///< sectors of global memory, wavefronts of shared memory
  std::int64_t least = 0;  ///< wavefronts without bank conflicts
  bool operator==(Requests const&) const = default;
};

struct Traffic {
  Requests global_loads, global_stores, shared_loads, shared_stores;
  /// Between the first- and the second-level cache, where a first-level cache keeps a tile of A and B
  /// while it is loaded, and no longer; 0 for techniques that keep none in shared memory.
  double l2_bytes = 0;
};

/// For m x n x k with beta = 0, in elements of so many bytes. Nothing where tiles do not fill the
/// matrices, or rows do not start with a sector: then blocks differ.
std::optional<Traffic> traffic_of(Pattern const& pattern, std::int64_t m, std::int64_t n,
                                  std::int64_t k, std::int64_t element_bytes);

}  // namespace quadrille::kernels::gemm
