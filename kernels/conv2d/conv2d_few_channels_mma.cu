// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution of images with few channels on the tensor cores.
///
///   y(n, k, p, q) = sum_{c, i, j} x(n, c, p u + i d - o, q u + j d - o) w(k, c, i, j)
///
/// Technique    mma: the pixels that 16 x 16 positions see lie in shared memory, 4 channels side by
///              side, those that are missing zero. A fragment of 16 positions and 4 taps is then
///              one aligned load of a pixel for each lane and half, wherever windows begin and
///              overlap: nothing is copied twice, and there is no column matrix, not even a slice
///              of it. Rows 2 g and 2 g + 1 of positions are halves of a lane, so that loads have
///              no bank conflicts for strides 1 and 2 and lanes store pairs in nchw, where lines
///              are sectors; columns of filters are ordered such that a lane has 8 neighbours to
///              store in nhwc. Where lines of nchw begin anywhere in a sector, tiles have 4 x 64
///              positions and overlap by a sector: a warp brings a line of all its filters to
///              shared memory and stores whole sectors, as tensor cores have time for what is
///              computed twice. Blocks stay for many tiles: they bring the filters to shared
///              memory, in the order of fragments, once. While one waits for its pixels, others of
///              the multiprocessor compute and store
/// Before       few_channels
/// Shapes       nchw or nhwc, any extents
/// Work         2 n k p q c r s flop, with channels rounded up to 4, taps to 4 and filters to 32,
///              and with up to a third more where tiles overlap; every pixel is read once, but for
///              the rims of tiles, and every output written once
/// Launch       128 threads for up to 32 filters, 256 for more; up to 128 registers; shared memory
///              for 15 u + (r - 1) d + 1 rows of 15 u + (s - 1) d + 1 pixels and up to 15 places
///              more, or 3 u and 63 u for 15 u and 66 outputs of 32 filters for each warp, and for
///              r s + 3 taps of all filters, each with 4 channels
/// Accuracy     eps (sqrt(c r s) + 2) w for random data; tf32 rounds operands to 11 bits first. Where a
///              tap's pixel is not finite, NaN may stand for what would be infinite
#include "conv2d/conv2d_few_channels.cuh"
#include "conv2d/conv2d_mma.cuh"

namespace quadrille::kernels::conv2d {
namespace {

/// What a warp stores.
enum class Store {
  filters,  ///< in nhwc, 8 of each position by a lane
  pairs,    ///< in nchw, 2 positions of each filter by a lane
  sectors  ///< in nchw, where lines begin anywhere in a sector: WholeSectors, by way of shared memory
};
/// A warp has 4 fragments of 16 positions: below each other, or in one line.
constexpr int kPositions = 16, kFragmentsEach = 4;
constexpr TileShape tile_of(Store store) {
  return store == Store::sectors ? TileShape{.rows = 4, .cols = kPositions * kFragmentsEach}
                                 : TileShape{.rows = 4 * kFragmentsEach, .cols = kPositions};
}
constexpr int kBands = 4;         // of a tile, each for a warp
constexpr int kFiltersEach = 32;  // of a warp
constexpr int kTapsEach = 4;      // of a step
/// Outputs from filter to filter where a warp keeps those of its line: 2 more than a line, so that
/// lanes with pairs of 16 bits for different filters store to different banks.
constexpr int kKeptPitch = kPositions * kFragmentsEach + 2;

std::int64_t filter_groups(Shape const& z) { return (z.k + kFiltersEach - 1) / kFiltersEach; }
std::int64_t steps(Shape const& z) { return (z.r * z.s + kTapsEach - 1) / kTapsEach; }

std::int64_t pixel_bytes(Problem const& p) {
  return kMaxChannels * static_cast<std::int64_t>(core::size_of(p.x.type));
}
/// From row to row of pixels in shared memory. Where a row of the filter ends among the four taps of a
/// step, pixels of the next row lie in the banks that come next: behind those of all lanes that are
/// served together, or, where the lanes of even strides leave gaps between them, in these.
std::int64_t row_pitch(Problem const& p, Store store) {
  Shape const& z = p.shape;
  std::int64_t const cycle = z.stride % 2 == 0 ? kTapsEach : 128 / pixel_bytes(p);  // pixels
  std::int64_t const positions = cycle / kTapsEach;
  std::int64_t const next = z.s + (positions - 1) * 2 * z.stride,
                     cols = tile_of(store).seen_cols(z);
  return cols + ((next - cols) % cycle + cycle) % cycle;
}
/// Places for pixels, in whole 16 bytes.
std::int64_t pixels(Problem const& p, Store store) {
  return (tile_of(store).seen_rows(p.shape) * row_pitch(p, store) + 1) / 2 * 2;
}
std::int64_t threads_for(Shape const& z) {
  return std::min<std::int64_t>(filter_groups(z) * kBands * 32, kMaxThreads);
}
/// What a block keeps: pixels, filters, the place of each tap, and outputs of its warps.
std::int64_t shared_bytes(Problem const& p, Store store) {
  Shape const& z = p.shape;
  std::int64_t const taps = steps(z) * kTapsEach;
  std::int64_t const outputs =
      store == Store::sectors ? threads_for(z) / 32 * kFiltersEach * kKeptPitch : 0;
  return (pixels(p, store) + taps * filter_groups(z) * kFiltersEach) * pixel_bytes(p) + 4 * taps +
         outputs * static_cast<std::int64_t>(core::size_of(p.y.type));
}
/// The most of them, wherever y begins.
std::int64_t max_shared_bytes(Problem const& p) {
  if (p.layout == DataLayout::nhwc) return shared_bytes(p, Store::filters);
  return std::max(shared_bytes(p, Store::pairs), shared_bytes(p, Store::sectors));
}

#ifdef QUAD_KERNELS

/// What a block has beside the operands.
struct Layout {
  Tiles tiles;
  int row_pitch, pixels;
  int groups, steps;    ///< of filters; of taps
  bool stores_vectors;  ///< in nhwc: 8 neighbouring outputs begin at 16 bytes
};

/// A pixel or tap as it lies in shared memory, which is also what a lane loads of a fragment: the
/// channels of one tap for one position or filter. Tensor cores do not mind in which order the terms of
/// a sum come: lane % 4 is the tap, and its registers are pairs of channels in 16 bits, or channels.
template <class T>
struct alignas(kMaxChannels * sizeof(T)) Pixel {
  static constexpr int kRegisters = kMaxChannels * sizeof(T) / 4;
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
    for (int c = 0; c < kMaxChannels; ++c) pixel.value[c] = ptx::to_tf32(channels.value[c]);
  } else {
#pragma unroll
    for (int c = 0; c < kMaxChannels; c += 2) {
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

/// The sums of a warp: 4 times 16 positions, and 32 filters.
template <class T>
struct Sums {
  static constexpr int kEach = kFiltersEach / 4;  ///< filters of a lane, neighbours
  float value[kFragmentsEach][kFilterTiles][4] = {};

  /// pixels: of the first position of this lane; filters: of its first tap; taps: likewise. pitches:
  /// pixels from position to position, and from fragment to fragment.
  __device__ __forceinline__ void add(Pixel<T> const* pixels, Taps<T> const* filters,
                                      int const* taps, int steps, int position_pitch,
                                      int fragment_pitch) {
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      Pixel<T> const* first = pixels + taps[step * kTapsEach];
      Taps<T> columns[kFilterTiles / Taps<T>::kCount];
#pragma unroll
      for (auto& column : columns) {
        column = *filters;
        filters += 32;
      }
#pragma unroll
      for (int i = 0; i < kFragmentsEach; ++i, first += fragment_pitch) {
        Pixel<T> const low = first[0], high = first[position_pitch];
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
  __device__ __forceinline__ void store_pairs(Operands<T> const& p, T* y, int rows, int cols,
                                              int filters) const {
#pragma unroll
    for (int i = 0; i < kFragmentsEach; ++i) {
      if (i >= rows) return;
      T* const line = y + i * p.out_w;
#pragma unroll
      for (int f = 0; f < kEach; ++f) {
        T* const to = line + f * p.out_plane;
        if (cols > 0 && f < filters) *reinterpret_cast<Pair<T>*>(to) = pair(i, f);
      }
    }
  }

  /// As store_pairs.
  __device__ __forceinline__ void store_filters(Operands<T> const& p, T* y, int rows, int cols,
                                                int filters, bool vectors) const {
#pragma unroll
    for (int i = 0; i < kFragmentsEach; ++i) {
      if (i >= rows) return;
      T* const line = y + i * p.out_w * p.out_pitch;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        T* const to = line + half * p.out_pitch;
        Outputs outputs;
#pragma unroll
        for (int f = 0; f < kEach; ++f) outputs.x[f] = pair(i, f).x[half];
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

  /// Stores a line of all fragments. y: of its first position and of the first filter of the warp.
  /// cols, filters: how many there are from these on. kept: what the warp has for outputs.
  __device__ __forceinline__ void store_sectors(Operands<T> const& p,
                                                WholeSectors<T> const& sectors, T* y, int cols,
                                                int filters, T* kept) const {
    int const lane = static_cast<int>(threadIdx.x) % 32;
    T* const mine = kept + lane % 4 * kEach * kKeptPitch + lane / 4 * 2;
    __syncwarp();  // all lanes have read the outputs of the line before
#pragma unroll
    for (int i = 0; i < kFragmentsEach; ++i) {
#pragma unroll
      for (int f = 0; f < kEach; ++f) {
        *reinterpret_cast<Pair<T>*>(mine + f * kKeptPitch + i * kPositions) = pair(i, f);
      }
    }
    __syncwarp();  // all outputs of the line are there
#pragma unroll 4
    for (int f = 0; f < min(filters, kFiltersEach); ++f) {
      T* const line = y + f * p.out_plane;
      T const* const outputs = kept + f * kKeptPitch;
      int const place = WholeSectors<T>::place(line);
      int const begin = place == 0 ? 0 : kSector<T> - place;  // of the first sector in the tile
      int const end = min(cols, sectors.end + begin);
      if (sectors.first < 0 && lane < min(begin, cols)) line[lane] = outputs[lane];
#pragma unroll
      for (int round = 0; round < kLine; round += 32) {
        int const col = begin + round + lane;
        if (col < end) line[col] = outputs[col];
      }
    }
  }

 private:
  static constexpr int kLine = kPositions * kFragmentsEach;

  struct alignas(16) Outputs {
    T x[kEach];
  };

  /// Both positions of a fragment that the lane has, of its filter `f`.
  __device__ __forceinline__ Pair<T> pair(int fragment, int f) const {
    float const* const accumulators = value[fragment][f / 2] + f % 2;
    return {{from_f32<T>(accumulators[0]), from_f32<T>(accumulators[2])}};
  }
};

template <class T, Store kStore>
__global__ void __launch_bounds__(kMaxThreads, kBlocks)
    conv2d_few_channels_mma_kernel(Operands<T> p, Layout layout) {
  QUAD_DYNAMIC_SHARED(Pixel<T>, pixels);
  auto* const filters = reinterpret_cast<Taps<T>*>(pixels + layout.pixels);
  constexpr int kFragments = kFilterTiles / Taps<T>::kCount * 32;  // Taps of a step
  int const group_fragments = layout.steps * kFragments;
  auto* const taps = reinterpret_cast<int*>(filters + layout.groups * group_fragments);
  auto* const kept = reinterpret_cast<T*>(taps + layout.steps * kTapsEach);
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
                             kStore == Store::filters ? 1 : taps_of_all, is_there);
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
      constexpr bool kIsLine = kStore == Store::sectors;
      int const group = task / kBands, band = task % kBands * (kIsLine ? 1 : kFragmentsEach);
      int const row = tile.row + band;
      if (row >= p.out_h) continue;
      // The lane's first position and filter.
      int const col = lane / 4 * 2, k = group * kFiltersEach + lane % 4 * Sums<T>::kEach;
      Sums<T> accumulators;
      accumulators.add(pixels + (band * layout.row_pitch + col) * p.stride,
                       filters + group * group_fragments + lane, taps + lane % 4, layout.steps,
                       p.stride, p.stride * (kIsLine ? kPositions : layout.row_pitch));
      auto const output = [&](int of_tile, int filter) {
        return p.y + tile.image * p.k * p.out_h * p.out_w +
               static_cast<std::int64_t>(filter) * p.out_plane +
               (row * p.out_w + tile.col + of_tile) * p.out_pitch;
      };
      int const rows = p.out_h - row, cols = p.out_w - tile.col;
      if constexpr (kStore == Store::sectors) {
        int const first = group * kFiltersEach;
        accumulators.store_sectors(p, {layout.tiles, tile}, output(0, first), cols, p.k - first,
                                   kept + warp * kFiltersEach * kKeptPitch);
      } else if constexpr (kStore == Store::pairs) {
        accumulators.store_pairs(p, output(col, k), rows, cols - col, p.k - k);
      } else {
        accumulators.store_filters(p, output(col, k), rows, cols - col, p.k - k,
                                   layout.stores_vectors);
      }
    }
  }
}

template <class T, Store kStore>
void enqueue(Problem const& problem, device::StreamView stream) {
  auto const p = operands<T>(problem);
  Shape const& z = problem.shape;
  auto const narrow = [](std::int64_t value) { return static_cast<int>(value); };
  Layout const layout{
      .tiles = {z, p, tile_of(kStore), kStore == Store::sectors ? kSector<T> : 0},
      .row_pitch = narrow(row_pitch(problem, kStore)),
      .pixels = narrow(pixels(problem, kStore)),
      .groups = narrow(filter_groups(z)),
      .steps = narrow(steps(z)),
      .stores_vectors = p.k % 8 == 0 && reinterpret_cast<std::uintptr_t>(p.y) % 16 == 0};
  int const threads = narrow(threads_for(z));
  std::int64_t const bytes = shared_bytes(problem, kStore);
  int const blocks = blocks_for(layout.tiles, threads, bytes, stream);
  QUAD_LAUNCH((conv2d_few_channels_mma_kernel<T, kStore>), dim3(static_cast<unsigned>(blocks)),
              dim3(static_cast<unsigned>(threads)), static_cast<std::size_t>(bytes), stream, p,
              layout);
}

void launch(Problem const& problem, device::StreamView stream) {
  with_type_and_layout(problem, [&]<class T, bool kNchw>() {
    if constexpr (!kNchw) return enqueue<T, Store::filters>(problem, stream);
    lines_are_sectors(operands<T>(problem)) ? enqueue<T, Store::pairs>(problem, stream)
                                            : enqueue<T, Store::sectors>(problem, stream);
  });
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& p) {
  return unsupported_by_few_channels(p, max_shared_bytes);
}

}  // namespace

extern constinit Variant<Problem> const few_channels_mma{
    {.name = "few_channels_mma",
     .where = Where::cuda,
     .types = {core::DataType::f16,
               core::DataType::bf16,
               {core::DataType::f32, core::Compute::tf32}},
     .needs = {.compute_capability = 90,
               .shared_bytes = kMaxSharedBytes,
               .other = "1 to 4 channels, one group, filters that fit shared memory, tensors of "
                        "less than 2^31 elements"},
     .preference = 45,
     .source = "own",
     .summary = "few_channels on the tensor cores, whose fragments are pixels of shared memory"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported}};

}  // namespace quadrille::kernels::conv2d
