// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the kernels for few channels share: blocks that stay for many tiles of positions, keep all
/// filters, and bring the pixels that a tile sees to shared memory. While one block of a
/// multiprocessor waits for its pixels, others compute and store.

#include "conv2d/conv2d_cuda.cuh"

#include <algorithm>

namespace quadrille::kernels::conv2d {

inline constexpr int kMaxThreads = 256;
inline constexpr int kBlocks = 2;  ///< of so many threads, for which a multiprocessor has registers
inline constexpr int kMaxChannels = 4;
inline constexpr std::int64_t kMaxSharedBytes = 200 << 10;
inline constexpr int kSectorBytes = 32;  ///< that memory writes at once
/// Outputs in a sector.
template <class T>
inline constexpr int kSector = kSectorBytes / static_cast<int>(sizeof(T));

/// How many positions a tile has.
struct TileShape {
  int rows = 16, cols = 16;

  /// The pixels that it sees.
  std::int64_t seen_rows(Shape const& z) const {
    return (rows - 1) * z.stride + (z.r - 1) * z.dilation + 1;
  }
  std::int64_t seen_cols(Shape const& z) const {
    return (cols - 1) * z.stride + (z.s - 1) * z.dilation + 1;
  }
};

/// For Specifics::unsupported; shared_bytes(problem): what a block keeps.
template <class SharedBytes>
std::string unsupported_by_few_channels(Problem const& p, SharedBytes const& shared_bytes) {
  Shape const& z = p.shape;
  if (z.groups != 1) return "takes one group";
  if (z.c < 1 || z.c > kMaxChannels) return "takes 1 to 4 channels";
  std::string reason = few_elements(p);
  // Extents that are larger than this, of which none fits, overflow no product of theirs.
  bool const is_small = std::max(z.r, z.s) * z.dilation < kMaxSharedBytes &&
                        z.stride < kMaxSharedBytes && z.k < kMaxSharedBytes;
  if (reason.empty() && (!is_small || shared_bytes(p) > kMaxSharedBytes)) {
    reason = "takes filters and windows that fit 200 KiB of shared memory together";
  }
  return reason;
}

#ifdef QUAD_KERNELS

/// All tiles, image by image and row by row.
struct Tiles {
  TileShape each;
  int step;  ///< from a tile to the next one to its right, which overlaps it where this is less
  int down, across, count;
  int rows, cols;  ///< of pixels that one sees
  Divisor by_cols;

  template <class T>
  Tiles(Shape const& z, Operands<T> const& p, TileShape shape, int overlap = 0)
      : each{shape},
        step{shape.cols - overlap},
        down{divide_up(p.out_h, shape.rows)},
        across{std::max(divide_up(p.out_w - overlap, step), 1)},
        count{p.n * down * across},
        rows{static_cast<int>(shape.seen_rows(z))},
        cols{static_cast<int>(shape.seen_cols(z))},
        by_cols{cols} {}
};

/// The first position of a tile.
struct Corner {
  int image, row, col;

  __device__ Corner(Tiles const& tiles, int number) {
    int const line = number / tiles.across;
    image = line / tiles.down;
    row = (line - image * tiles.down) * tiles.each.rows;
    col = (number - line * tiles.across) * tiles.step;
  }
};

/// Whether all lines of outputs in nchw are whole sectors.
template <class T>
bool lines_are_sectors(Operands<T> const& p) {
  return p.out_w % kSector<T> == 0 && reinterpret_cast<std::uintptr_t>(p.y) % kSectorBytes == 0;
}

/// What a tile stores of lines that begin anywhere in a sector. A sector that is written in parts
/// costs memory more time than several whole ones. Tiles overlap by a sector then, and each stores
/// the sectors that begin in its first columns, up to those of the next: only ends of lines are
/// parts.
template <class T>
struct WholeSectors {
  int first, end;  ///< columns of the tile where sectors begin that it stores

  /// The first tile of a line also has the sector that begins before it, the last tile all it sees.
  __device__ WholeSectors(Tiles const& tiles, Corner tile)
      : first{tile.col == 0 ? -kSector<T> : 0},
        end{tile.col == (tiles.across - 1) * tiles.step ? tiles.each.cols : tiles.step} {}

  /// Which output of its sector lies there.
  static __device__ __forceinline__ int place(T const* y) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(y) % kSectorBytes / sizeof(T));
  }
  /// y: an output of column `col` of the tile.
  __device__ __forceinline__ bool has(T const* y, int col) const {
    return static_cast<unsigned>(col - place(y) - first) < static_cast<unsigned>(end - first);
  }
};

/// Blocks of a multiprocessor at a time, as registers allow and shared memory: it has 227 KiB, and each block
/// takes 1 KiB beside its own.
inline int max_resident(int threads) { return kBlocks * kMaxThreads / threads; }
inline int resident(int threads, std::int64_t shared_bytes) {
  return std::min(max_resident(threads),
                  (228 << 10) / (static_cast<int>(shared_bytes) + (1 << 10)));
}

/// Blocks for so many tiles: those that are resident at a time.
inline int blocks_for(Tiles const& tiles, int threads, std::int64_t shared_bytes,
                      device::StreamView stream) {
  return std::min(tiles.count, stream.facts().multiprocessors * resident(threads, shared_bytes));
}

/// The channels of a pixel or tap, and zeros.
template <class T>
struct Channels {
  T value[kMaxChannels];
};
/// Those from `from` on, `plane` elements from each other.
template <class T>
__device__ __forceinline__ Channels<T> load_channels(T const* from, int channels, int plane,
                                                     bool is_there) {
  Channels<T> loaded;
#pragma unroll
  for (int c = 0; c < kMaxChannels; ++c) {
    loaded.value[c] = is_there && c < channels ? from[c * plane] : from_f32<T>(0);
  }
  return loaded;
}

/// Calls store(e, load(e)) for each e below `count`, by all threads of the block. As many loads of a
/// thread are on their way, before the first is waited for, as 256 threads need for the 37 x 37 pixels
/// of filters of 7 x 7 with stride 2; more take too many registers.
template <class Load, class Store>
__device__ __forceinline__ void copy_in_flight(int count, Load const& load, Store const& store) {
  constexpr int kFlight = 6;
  int const threads = static_cast<int>(blockDim.x);
#pragma unroll 1
  for (int first = static_cast<int>(threadIdx.x); first < count; first += kFlight * threads) {
    decltype(load(0)) values[kFlight];
#pragma unroll
    for (int i = 0; i < kFlight; ++i) {
      int const e = first + i * threads;
      if (e < count) values[i] = load(e);
    }
#pragma unroll
    for (int i = 0; i < kFlight; ++i) {
      int const e = first + i * threads;
      if (e < count) store(e, values[i]);
    }
  }
}

/// Calls store(row, column, channels) for each pixel that a tile sees, outside of the image with zeros.
template <class T, class Store>
__device__ __forceinline__ void copy_pixels(Operands<T> const& p, Tiles const& tiles, Corner corner,
                                            Store const& store) {
  int const top = corner.row * p.stride - p.padding, left = corner.col * p.stride - p.padding;
  T const* const x = p.x + corner.image * p.c * p.h * p.width;
  copy_in_flight(
      tiles.rows * tiles.cols,
      [&](int e) {
        int const i = tiles.by_cols.quotient(e);
        int const row = top + i, col = left + tiles.by_cols.remainder(e, i);
        bool const is_there = is_inside(p, row, col);
        return load_channels(x + (is_there ? (row * p.width + col) * p.pitch : 0), p.c, p.plane,
                             is_there);
      },
      [&](int e, Channels<T> const& channels) {
        int const i = tiles.by_cols.quotient(e);
        store(i, tiles.by_cols.remainder(e, i), channels);
      });
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::conv2d
