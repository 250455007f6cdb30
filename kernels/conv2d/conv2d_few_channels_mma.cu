// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution of images with few channels on the tensor cores.
///
///   y(n, k, p, q) = sum_{c, i, j} x(n, c, p u + i d - o, q u + j d - o) w(k, c, i, j)
///
/// Technique    `few_channels` with mma: the pixels that 16 x 16 positions see lie in shared memory, 4
///              channels side by side, those that are missing zero. A fragment of 16 positions and 4
///              taps is then one aligned load of a pixel for each lane and half, wherever windows begin
///              and overlap: nothing is copied twice, and there is no column matrix, not even a slice of
///              it. Rows 2 g and 2 g + 1 of positions are halves of a lane, so that loads have no bank
///              conflicts for strides 1 and 2 and lanes store pairs in nchw, where these are aligned;
///              columns of filters are ordered such that a lane has 8 neighbours to store in nhwc.
///              Blocks stay for many tiles: they bring the filters to shared memory, in the order of
///              fragments, once. While one waits for its pixels, others of the multiprocessor compute
///              and store
/// Shapes       nchw or nhwc, any extents
/// Types        f16, bf16; f32 in tf32; accumulators f32
/// Work         2 n k p q c r s flop, with channels rounded up to 4, taps to 4 and filters to 32; every
///              pixel is read once, but for the rims of tiles, and every output written once
/// Constraints  1 to 4 channels, one group; what a block keeps fits in 200 KiB; tensors of less than
///              2^31 elements
/// Launch       128 threads for up to 32 filters, 256 for more; up to 128 registers; shared memory for
///              15 u + (r - 1) d + 1 rows of 15 u + (s - 1) d + 1 pixels and up to 15 places more, and
///              for r s + 3 taps of all filters, each with 4 channels
/// Accuracy     eps (sqrt(c r s) + 2) w for random data; tf32 rounds operands to 11 bits first. Where a
///              tap's pixel is not finite, NaN may stand for what would be infinite
/// Source       own
#include "conv2d/conv2d_few_channels.cuh"
#include "conv2d/conv2d_mma.cuh"

namespace quadrille::kernels::conv2d {
namespace {

constexpr int kRowsEach = 4;  // of a warp, which has all columns
constexpr TileShape kTile{.rows = 16, .cols = 16};
constexpr int kBands = kTile.rows / kRowsEach;
constexpr int kFiltersEach = 32;  // of a warp
constexpr int kTapsEach = 4;      // of a step

std::int64_t filter_groups(Shape const& z) { return (z.k + kFiltersEach - 1) / kFiltersEach; }
std::int64_t steps(Shape const& z) { return (z.r * z.s + kTapsEach - 1) / kTapsEach; }

std::int64_t pixel_bytes(Problem const& p) {
  return kMostChannels * static_cast<std::int64_t>(core::size_of(p.x.type));
}
/// From row to row of pixels in shared memory. Where a row of the filter ends among the four taps of a
/// step, pixels of the next row lie in the banks that come next: behind those of all lanes that are
/// served together, or, where the lanes of even strides leave gaps between them, in these.
std::int64_t row_pitch(Problem const& p) {
  Shape const& z = p.shape;
  std::int64_t const cycle = z.stride % 2 == 0 ? kTapsEach : 128 / pixel_bytes(p);  // pixels
  std::int64_t const positions = cycle / kTapsEach;
  std::int64_t const next = z.s + (positions - 1) * 2 * z.stride, cols = kTile.seen_cols(z);
  return cols + ((next - cols) % cycle + cycle) % cycle;
}
/// Places for pixels, in whole 16 bytes.
std::int64_t pixels(Problem const& p) {
  return (kTile.seen_rows(p.shape) * row_pitch(p) + 1) / 2 * 2;
}
/// What a block keeps: pixels, filters, and the place of each tap.
std::int64_t shared_bytes(Problem const& p) {
  Shape const& z = p.shape;
  std::int64_t const taps = steps(z) * kTapsEach;
  return (pixels(p) + taps * filter_groups(z) * kFiltersEach) * pixel_bytes(p) + 4 * taps;
}

#ifdef QUAD_KERNELS

/// What a block has beside the operands.
struct Layout {
  Tiles tiles;
  int row_pitch, pixels;
  int groups, steps;  ///< of filters; of taps
  /// In nchw: positions 2 i, 2 i + 1 of a line begin at a multiple of their size. In nhwc: 8
  /// neighbouring outputs begin at 16 bytes.
  bool stores_vectors;
};

/// A pixel or tap as it lies in shared memory, which is also what a lane loads of a fragment: the
/// channels of one tap for one position or filter. Tensor cores do not mind in which order the terms of
/// a sum come: lane % 4 is the tap, and its registers are pairs of channels in 16 bits, or channels.
template <class T>
struct alignas(kMostChannels * sizeof(T)) Pixel {
  static constexpr int kRegisters = kMostChannels * sizeof(T) / 4;
  std::uint32_t value[kRegisters];
};
template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T x[2];
};
/// Of filters, a lane loads so many at once.
template <class T>
struct alignas(16) Taps {
  static constexpr int kCount = 16 / sizeof(Pixel<T>);
  Pixel<T> pixel[kCount];
};
constexpr int kFilterTiles = kFiltersEach / 8;

/// Which filter of a group is column `col` of the tile `tile`: a lane has 8 in turn in its sums.
__device__ inline int filter_of(int tile, int col) { return col / 2 * 8 + tile * 2 + col % 2; }

/// As the tensor cores take them.
template <class T>
__device__ __forceinline__ Pixel<T> rounded(Channels<T> const& channels) {
  Pixel<T> pixel;
  if constexpr (std::is_same_v<T, float>) {
#pragma unroll
    for (int c = 0; c < kMostChannels; ++c) pixel.value[c] = ptx::to_tf32(channels.value[c]);
  } else {
#pragma unroll
    for (int c = 0; c < kMostChannels; c += 2) {
      Pair<T> const pair{{channels.value[c], channels.value[c + 1]}};
      pixel.value[c / 2] = __builtin_bit_cast(std::uint32_t, pair);
    }
  }
  return pixel;
}

/// d += a b for the pixels of 16 positions, lower and upper halves of a fragment, and of 8 filters.
template <class T>
__device__ __forceinline__ void multiply_pixels(float (&d)[4], Pixel<T> const& low,
                                                Pixel<T> const& high, Pixel<T> const& filter) {
#pragma unroll
  for (int i = 0; i < Pixel<T>::kRegisters; i += 2) {
    std::uint32_t const a[4]{low.value[i], high.value[i], low.value[i + 1], high.value[i + 1]};
    std::uint32_t const b[2]{filter.value[i], filter.value[i + 1]};
    multiply_add<T>(d, a, b);
  }
}

/// The sums of a warp: 4 rows of 16 positions each, and 32 filters.
template <class T>
struct Sums {
  static constexpr int kEach = kFiltersEach / 4;  ///< filters of a lane, neighbours
  float value[kRowsEach][kFilterTiles][4] = {};

  /// pixels: of the first position of this lane; filters: of its first tap; taps: likewise.
  __device__ __forceinline__ void add(Pixel<T> const* pixels, Taps<T> const* filters,
                                      int const* taps, int steps, int position_pitch,
                                      int row_pitch) {
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      Pixel<T> const* row = pixels + taps[step * kTapsEach];
      Taps<T> columns[kFilterTiles / Taps<T>::kCount];
#pragma unroll
      for (auto& column : columns) {
        column = *filters;
        filters += 32;
      }
#pragma unroll
      for (int i = 0; i < kRowsEach; ++i, row += row_pitch) {
        Pixel<T> const low = row[0], high = row[position_pitch];
#pragma unroll
        for (int j = 0; j < kFilterTiles; ++j) {
          multiply_pixels<T>(value[i][j], low, high,
                             columns[j / Taps<T>::kCount].pixel[j % Taps<T>::kCount]);
        }
      }
    }
  }

  /// y: of the first position and filter of this lane. rows, cols, filters: how many there are from
  /// these on.
  template <bool kNchw>
  __device__ __forceinline__ void store(Operands<T> const& p, T* y, int rows, int cols, int filters,
                                        bool vectors) const {
    if (kNchw && !vectors) return store_elements(p, y, rows, cols, filters);
#pragma unroll
    for (int i = 0; i < kRowsEach; ++i) {
      if (i >= rows) return;
      T* const line = y + i * p.out_w * p.out_pitch;
      if constexpr (kNchw) {
#pragma unroll
        for (int f = 0; f < kEach; ++f) {
          float const* const sums = value[i][f / 2] + f % 2;
          Pair<T> const pair{{from_f32<T>(sums[0]), from_f32<T>(sums[2])}};
          if (cols > 0 && f < filters) *reinterpret_cast<Pair<T>*>(line + f * p.out_plane) = pair;
        }
      } else {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          T* const to = line + half * p.out_pitch;
          Outputs outputs;
#pragma unroll
          for (int f = 0; f < kEach; ++f) {
            outputs.x[f] = from_f32<T>(value[i][f / 2][2 * half + f % 2]);
          }
          if (vectors) {
            if (half < cols && filters > 0) *reinterpret_cast<Outputs*>(to) = outputs;
          } else {
#pragma unroll
            for (int f = 0; f < kEach; ++f) {
              if (half < cols && f < filters) to[f] = outputs.x[f];
            }
          }
        }
      }
    }
  }

 private:
  struct alignas(16) Outputs {
    T x[kEach];
  };

  /// In nchw, where pairs are not aligned. Two lanes with the same positions exchange outputs, so that
  /// 16 store neighbouring ones of a filter.
  __device__ __forceinline__ void store_elements(Operands<T> const& p, T* y, int rows, int cols,
                                                 int filters) const {
    bool const is_second = threadIdx.x % 2 != 0;
    if (is_second) {  // it begins with the filters of the first, at its second position
      y += 1 - kEach * p.out_plane;
      cols -= 1;
      filters += kEach;
    }
#pragma unroll
    for (int i = 0; i < kRowsEach; ++i) {
      if (i >= rows) return;
#pragma unroll
      for (int f = 0; f < kEach; ++f) {
        float const low = value[i][f / 2][f % 2], high = value[i][f / 2][2 + f % 2];
        float const other = __shfl_xor_sync(~0U, is_second ? low : high, 1);
        T* const to = y + i * p.out_w + f * p.out_plane;
        if (cols > 0 && f < filters) to[0] = from_f32<T>(is_second ? other : low);
        if (cols > 0 && f + kEach < filters) {
          to[kEach * p.out_plane] = from_f32<T>(is_second ? high : other);
        }
      }
    }
  }
};

template <class T, bool kNchw>
__global__ void __launch_bounds__(kMostThreads, kBlocks)
    conv2d_few_channels_mma_kernel(Operands<T> p, Layout layout) {
  QUAD_DYNAMIC_SHARED(Pixel<T>, pixels);
  auto* const filters = reinterpret_cast<Taps<T>*>(pixels + layout.pixels);
  constexpr int kFragments = kFilterTiles / Taps<T>::kCount * 32;  // Taps of a step
  int const group_fragments = layout.steps * kFragments;
  auto* const taps = reinterpret_cast<int*>(filters + layout.groups * group_fragments);
  int const thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  int const lane = thread % 32, warp = thread / 32;

  // Taps that are missing have zeros as filters, and a pixel of the window.
  int const taps_of_all = p.r * p.s;
  for (int e = thread; e < layout.steps * kTapsEach; e += threads) {
    int const tap = min(e, taps_of_all - 1), i = p.by_s.quotient(tap);
    taps[e] = (i * layout.row_pitch + p.by_s.remainder(tap, i)) * p.dilation;
  }
  copy_in_flight(
      layout.groups * group_fragments * Taps<T>::kCount,
      [&](int e) {
        int const fragment = e / Taps<T>::kCount;
        int const of_lane = fragment % 32, in_step = fragment % kFragments;
        int const step_of_all = fragment / kFragments, group = step_of_all / layout.steps;
        int const tile = in_step / 32 * Taps<T>::kCount + e % Taps<T>::kCount;
        int const k = group * kFiltersEach + filter_of(tile, of_lane / 4);
        int const tap = (step_of_all - group * layout.steps) * kTapsEach + of_lane % 4;
        bool const is_there = k < p.k && tap < taps_of_all;
        return load_channels(p.w + (is_there ? k * p.terms + tap * p.pitch : 0), p.c,
                             kNchw ? taps_of_all : 1, is_there);
      },
      [&](int e, Channels<T> const& channels) {
        filters[e / Taps<T>::kCount].pixel[e % Taps<T>::kCount] = rounded(channels);
      });

#pragma unroll 1
  for (int number = static_cast<int>(blockIdx.x); number < layout.tiles.count;
       number += static_cast<int>(gridDim.x)) {
    Corner const tile{layout.tiles, number};
    __syncthreads();  // all have read the pixels of the tile before
    copy_pixels(p, layout.tiles, tile, [&](int row, int col, Channels<T> const& channels) {
      pixels[row * layout.row_pitch + col] = rounded(channels);
    });
    __syncthreads();  // all pixels are there, and all filters and taps

#pragma unroll 1
    for (int task = warp; task < kBands * layout.groups; task += threads / 32) {
      int const group = task / kBands, band = task % kBands * kRowsEach;
      if (tile.row + band >= p.out_h) continue;
      // The lane's first position and filter.
      int const col = lane / 4 * 2, k = group * kFiltersEach + lane % 4 * Sums<T>::kEach;
      Sums<T> sums;
      sums.add(pixels + (band * layout.row_pitch + col) * p.stride,
               filters + group * group_fragments + lane, taps + lane % 4, layout.steps, p.stride,
               p.stride * layout.row_pitch);
      T* const y = p.y + tile.image * p.k * p.out_h * p.out_w +
                   static_cast<std::int64_t>(k) * p.out_plane +
                   ((tile.row + band) * p.out_w + tile.col + col) * p.out_pitch;
      sums.template store<kNchw>(p, y, p.out_h - tile.row - band, p.out_w - tile.col - col, p.k - k,
                                 layout.stores_vectors);
    }
  }
}

template <class T, bool kNchw>
void enqueue(Problem const& problem, device::StreamView stream) {
  auto const p = operands<T>(problem);
  Shape const& z = problem.shape;
  auto const begins_at = [&](std::size_t bytes) {
    return reinterpret_cast<std::uintptr_t>(p.y) % bytes == 0;
  };
  auto const narrow = [](std::int64_t value) { return static_cast<int>(value); };
  Layout const layout{.tiles = {z, p, kTile},
                      .row_pitch = narrow(row_pitch(problem)),
                      .pixels = narrow(pixels(problem)),
                      .groups = narrow(filter_groups(z)),
                      .steps = narrow(steps(z)),
                      .stores_vectors = kNchw ? p.out_w % 2 == 0 && begins_at(2 * sizeof(T))
                                              : p.k % 8 == 0 && begins_at(16)};
  int const threads = std::min(layout.groups * kBands * 32, kMostThreads);
  std::int64_t const bytes = shared_bytes(problem);
  int const blocks = blocks_for(layout.tiles, threads, bytes, stream);
  QUAD_LAUNCH((conv2d_few_channels_mma_kernel<T, kNchw>), dim3(static_cast<unsigned>(blocks)),
              dim3(static_cast<unsigned>(threads)), static_cast<std::size_t>(bytes), stream, p,
              layout);
}

void launch(Problem const& problem, device::StreamView stream) {
  with_type_and_layout(problem, [&]<class T, bool kNchw>() { enqueue<T, kNchw>(problem, stream); });
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& p) { return unsupported_by_few_channels(p, shared_bytes); }

}  // namespace

extern constinit Variant<Problem> const few_channels_mma{
    {.name = "few_channels_mma",
     .where = Where::cuda,
     .types = {core::DataType::f16,
               core::DataType::bf16,
               {core::DataType::f32, core::Compute::tf32}},
     .needs = {.compute_capability = 90,
               .shared_bytes = kMostSharedBytes,
               .other = "1 to 4 channels, one group, filters that fit shared memory"},
     .preference = 45,
     .source = "own",
     .summary = "few_channels on the tensor cores, whose fragments are pixels of shared memory"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported}};

}  // namespace quadrille::kernels::conv2d
