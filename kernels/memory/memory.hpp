// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Repeated reads of one window of memory: with the window's size the rate falls from that of the
/// first-level cache to that of memory.
namespace quadrille::kernels::memory {

/// What a reader reads at once, and what windows consist of.
inline constexpr std::int64_t kTileBytes = 16 << 10;
/// How far the positions of a pointer chase are apart: no two share a line of any cache.
inline constexpr std::int64_t kLineBytes = 128;
/// Largest window of `read_shared`: what a block may have on compute capability 9.0.
inline constexpr std::int64_t kMaxSharedBytes = 227 << 10;
/// Positions of a pointer chase are 32-bit indices of 4-byte words.
inline constexpr std::int64_t kMaxPointerChaseBytes = std::int64_t{16} << 30;

/// How the words of a tile are distributed: word w belongs to lane w / words % count.
struct Lanes {
  int count = 0;
  int words = 0;
};
inline constexpr Lanes kDeviceLanes{256, 4};  ///< threads of a block, 16 bytes each
inline constexpr Lanes kHostLanes{64, 1};

/// Blocks that fill a multiprocessor with readers.
inline constexpr int kResidentBlocks = 4;

/// Reader r of `readers` reads its share of `tiles` tiles, from its position in the window on, and
/// around again; the sum of each lane's words, modulo 2^32, and the lane's own number are the
/// result. All members but `result` and `readers` mean the same to a pointer chase.
struct Problem {
  static constexpr std::string_view kOperation = "memory";
  /// What a variant leaves in `result`.
  enum class Result {
    sums,       ///< of each lane's words
    registers,  ///< what registers_reference() says
    strided,    ///< of the words of strided_sum()
    walk,       ///< of a pointer chase: the last position and the sum of all positions
  };
  struct Notes {
    Result result = Result::sums;
  };

  /// Aligned to 16 bytes; of a pointer chase: the position after position i is word i.
  void const* window = nullptr;
  std::int64_t bytes = 0;  ///< of the window; whole tiles, at least one
  std::int64_t tiles = 0;  ///< read by all readers together; a pointer chase covers as many
  int readers = 0;
  /// readers x lanes values; a pointer chase writes two: the last position and the sum of all
  /// positions.
  std::uint32_t* result = nullptr;
  int carveout = -1;  ///< percent of L1 and shared memory that should be shared; -1: the driver's
  // Of strided reads.
  int width = 4;   ///< bytes that a lane reads at once: 2, 4, 8 or 16
  int stride = 1;  ///< elements of that width from one lane of a warp to the next
};

/// Elements that a lane of strided reads takes in a round, side by side.
inline constexpr int kStridedLoads = 4;
/// Rounds until a lane of strided reads starts over: the last lane then meets the end of the window.
QUAD_HD constexpr std::int64_t strided_rounds(std::int64_t bytes, int width, int stride) {
  return (bytes / width - 31 * std::int64_t{stride}) / kStridedLoads;
}
/// Wavefronts that shared memory needs for strided reads of a warp, for each without bank conflicts: the
/// most words in one of 32 banks, of the lanes that it serves together.
int conflict_degree(int width, int stride);

/// The part of one reader, in tiles. Readers start at positions a Fibonacci hash apart: evenly
/// spread, and far from those of the readers before and after, which may share a first-level cache.
struct Share {
  std::int64_t first = 0;  ///< position in the window
  std::int64_t count = 0;
};
QUAD_HD constexpr Share share_of(std::int64_t reader, std::int64_t readers,
                                 std::int64_t window_tiles, std::int64_t tiles) {
  constexpr std::uint32_t kFibonacciHash = 2654435769;  // 2^32 / golden ratio
  std::uint64_t const position = static_cast<std::uint32_t>(reader) * kFibonacciHash;
  auto const first =
      static_cast<std::int64_t>((position * static_cast<std::uint64_t>(window_tiles)) >> 32);
  return {first, tiles / readers + (reader < tiles % readers ? 1 : 0)};
}

/// Largest first-level cache of any GPU; larger windows are read past it.
inline constexpr std::int64_t kMaxFirstLevelBytes = 256 << 10;
/// What a reader takes at once of such a window, in tiles.
inline constexpr std::int64_t kChunkTiles = 4;

/// The order in which a reader takes the chunks of its share, each once. Readers that went around the
/// window in step would share requests: what one fetches, others find on its way to the cores, and
/// the rate would be that of no level.
class ChunkOrder {
 public:
  QUAD_HD constexpr ChunkOrder(std::int64_t reader, std::int64_t chunks)
      : chunks_{static_cast<std::uint64_t>(chunks)} {
    while (mask_ + 1 < chunks_) mask_ = 2 * mask_ + 1;
    std::uint64_t const key = (static_cast<std::uint64_t>(reader) + 1) * 0x9E3779B97F4A7C15U;
    at_ = key >> 32 & mask_;
    step_ = 2 * (key >> 48) + 1;
  }
  /// The next chunk; after all of them the first one again.
  QUAD_HD constexpr std::int64_t next() {
    // A congruential sequence passes through all numbers up to a power of two.
    do {
      at_ = (at_ * 1664525 + step_) & mask_;
    } while (at_ >= chunks_);
    return static_cast<std::int64_t>(at_);
  }

 private:
  std::uint64_t chunks_, mask_ = 0, at_ = 0, step_ = 1;
};

/// Steps of a pointer chase: each touches one line.
constexpr std::int64_t accesses(std::int64_t tiles) { return tiles * (kTileBytes / kLineBytes); }

Variants<Problem> variants();
ProblemFacts facts_of(Problem const& problem);
/// Ends the job unless the problem is complete.
void require_consistent(Problem const& problem);

/// Why a variant does not read a window of so many bytes; empty where it does.
std::string window_unsupported(std::int64_t bytes, std::int64_t most);
template <std::int64_t most = kAnyExtent>
std::string window_unsupported(Problem const& problem) {
  return window_unsupported(problem.bytes, most);
}

/// The plain reads of a device of either kind.
void read_any(Problem const& problem, device::StreamView stream);

/// The textbook loops: what a variant with these lanes must return.
void read_reference(Problem const& problem, Lanes lanes);
void pointer_chase_reference(Problem const& problem);
/// What lane `lane` of a warp adds up in strided reads of a share.
std::uint32_t strided_sum(Problem const& problem, Share share, int lane);
/// What `read_registers` must return.
void registers_reference(Problem const& problem);

}  // namespace quadrille::kernels::memory
