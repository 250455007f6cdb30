// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution of images with few channels, such as photographs.
///
///   y(n, k, p, q) = sum_{c, i, j} x(n, c, p u + i d - o, q u + j d - o) w(k, c, i, j)
///
/// Technique    sums are short, so that reading images and writing outputs takes longer than
///              arithmetic, unless these wait for each other. Blocks stay for many tiles: they
///              bring all filters to shared memory once, and for each tile of positions the pixels
///              that it sees, with many loads of a thread on their way, while other blocks of the
///              multiprocessor compute all output channels of theirs. In f32 these are copies by
///              cp.async, of the next tile while this one is computed, where shared memory has room
///              for both: a thread has a column of pixels, whose place it finds once. A tile has
///              16 x 16 positions;
///              8 x 32 for filters of 3 rows with stride 1, where there are the most outputs: where
///              lines of nchw begin anywhere in a sector, tiles share the sectors at their sides.
///              In f32 these tiles overlap by a sector, so that each stores whole ones. A lane has
///              a column of positions, and a thread 8 of its rows by 8 filters: 8 values that the
///              warp shares, read as two vectors, serve 64 products. For filters of 3 and 7 rows
///              with strides for which the code is unrolled, a thread reads a column of pixels once
///              for all rows of the filter. With stride u, columns u apart lie side by side in
///              shared memory, so that the lanes' reads have no bank conflicts.
///                  filters 7 x 7, stride 2, padding 3: 16 x 16 positions see 37 x 37 pixels
///                  column of x   | -3 ...... 28 | 29 .. 33 | 34 ...... 65 |
///                  tile 0        |------- 37 pixels -------|
///                  tile 1                       |------- 37 pixels -------|
///                  of a tile       0   2   4  ...  36       1   3   5  ...  35
///                  word            0   1   2  ...  18      19  20  21  ...  36    of 39 in a row
///                  lanes 0-15      tap 0: words 0 to 15;  tap 1: 19 to 34;  tap 2: 1 to 16;  ...
///                  lanes 16-31     the same, 16 rows of pixels below: 624 words, 16 banks further
///              Stores are lines or half lines of a warp in nchw, vectors in nhwc, where two lanes
///              exchange halves of theirs in f32 to write whole sectors
/// Shapes       nchw or nhwc, any extents
/// Work         2 n k p q c r s flop, with a third more where tiles overlap; every pixel is read
///              once, but for the rims of tiles, and every output written once
/// Launch       128 threads for up to 32 filters, 256 for more; up to 128 registers; shared memory for
///              c (15 u + (r - 1) d + 1) (32 u + 2) pixels, or (15 u + s + 2) of a row where the
///              code is unrolled, once or twice, and c r s (k + 4) weights in f32
/// Accuracy     c r s eps w / 2 at worst, eps (sqrt(c r s) + 2) w for random data
#include "common/ptx/copies.cuh"
#include "conv2d/conv2d_few_channels.cuh"

namespace quadrille::kernels::conv2d {
namespace {

constexpr int kRowsEach = 8, kFiltersEach = 8;
constexpr int kMaxStrides = 17;  // in width, of a filter

/// A warp has 8 rows of 32 columns of positions, or twice 8 rows of 16.
constexpr TileShape kWide{.rows = 8, .cols = 32}, kSquare{.rows = 16, .cols = 16};
/// Where the code is unrolled for it.
bool is_unrolled(Shape const& z, int stride, int rows) {
  return z.stride == stride && z.r == rows && z.s <= rows && z.dilation == 1;
}
bool is_unrolled(Shape const& z) {
  return is_unrolled(z, 1, 3) || is_unrolled(z, 2, 3) || is_unrolled(z, 2, 7);
}
TileShape tile_of(Shape const& z) { return is_unrolled(z, 1, 3) ? kWide : kSquare; }

/// Columns of one remainder of the stride in shared memory, for filters of up to so many strides in width.
QUAD_HD constexpr int columns(TileShape tile, int strides) { return tile.cols - 1 + strides; }
QUAD_HD constexpr int strides_of(int width, int stride) { return (width + stride - 1) / stride; }
/// Words from row to row of pixels. Those of the two halves of a warp, 8 strides apart, lie in different
/// banks, unless 4 divides the stride.
QUAD_HD constexpr int row_pitch(int columns, int stride) {
  int pitch = stride * columns;
  for (int more = 0; more < 4; ++more) {
    if (8 * stride * (pitch + more) % 32 == 16) return pitch + more;
  }
  return pitch;
}
int columns_of(Shape const& z) {
  auto const narrow = [](std::int64_t value) { return static_cast<int>(value); };
  return columns(tile_of(z),
                 is_unrolled(z) ? strides_of(narrow(z.r), narrow(z.stride)) : kMaxStrides);
}
std::int64_t filter_tasks(Shape const& z) { return (z.k + kFiltersEach - 1) / kFiltersEach; }
/// Words from term to term of all filters. Those behind them keep stores of neighbouring terms out of
/// the same bank.
std::int64_t filter_row(Shape const& z) { return filter_tasks(z) * kFiltersEach + 4; }
/// Words for pixels, in whole 16 bytes.
std::int64_t pixels(Shape const& z) {
  int const pitch = row_pitch(columns_of(z), static_cast<int>(z.stride));
  return (z.c * tile_of(z).seen_rows(z) * pitch + 3) / 4 * 4;
}
std::int64_t shared_bytes(Problem const& p, int buffers) {
  return 4 * (buffers * pixels(p.shape) + p.shape.terms() * filter_row(p.shape));
}

#ifdef QUAD_KERNELS

/// What a block has beside the operands.
struct Layout {
  Tiles tiles;
  int pixels, filter_row, tasks;
  int buffers;          ///< for pixels
  bool stores_vectors;  ///< in nhwc: 8 neighbouring outputs begin at 16 bytes
};

/// 8 filters of one position, as they lie in nhwc.
template <class T>
struct alignas(16) Outputs {
  T value[kFiltersEach];
};

/// What shapes the code: where they are not 0, the stride, and the rows of a filter without dilation.
template <int kStride_, int kRows_>
struct Unrolled {
  static constexpr int kStride = kStride_, kRows = kRows_;
  static constexpr TileShape kTile = kStride == 1 && kRows == 3 ? kWide : kSquare;  // as tile_of()
  static constexpr int kColumns =  // as columns_of()
      columns(kTile, kRows > 0 ? strides_of(kRows, kStride) : kMaxStrides);
};

/// Whether tiles may overlap by a sector, to store whole ones: where that is a quarter of their
/// columns or less.
template <class T, bool kNchw, class Code>
QUAD_HD constexpr bool may_overlap() {
  return kNchw && Code::kTile.cols >= 4 * kSector<T>;
}

/// sums += a pixel times 8 factors, for each row of positions.
__device__ __forceinline__ void multiply_add(float (&accumulators)[kRowsEach][kFiltersEach],
                                             float const* filters, auto const& pixel_of) {
  auto const* const vectors = reinterpret_cast<float4 const*>(filters);
  float4 const low = vectors[0], high = vectors[1];
  float const factors[kFiltersEach]{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
  for (int l = 0; l < kRowsEach; ++l) {
    float const pixel = pixel_of(l);
#pragma unroll
    for (int f = 0; f < kFiltersEach; ++f) accumulators[l][f] += pixel * factors[f];
  }
}

/// Stores 8 filters of f32 of two neighbouring lanes, in nhwc at `to` and `pitch` further on: these
/// exchange halves, so that each instruction writes whole sectors. count: of the two, those that are
/// inside of the image. By whole warps.
__device__ __forceinline__ void store_pair(float* to, int pitch, int count,
                                           float const (&accumulators)[kFiltersEach]) {
  constexpr int kHalf = kFiltersEach / 2;
  bool const is_second = threadIdx.x % 2 != 0;
  to += is_second ? kHalf : 0;
  // Of its own position a lane has this half, of the other's it gets it.
  float own[kHalf], other[kHalf];
#pragma unroll
  for (int f = 0; f < kHalf; ++f) {
    float const low = accumulators[f], high = accumulators[kHalf + f];
    own[f] = is_second ? high : low;
    other[f] = __shfl_xor_sync(~0U, is_second ? low : high, 1);
  }
#pragma unroll
  for (int position = 0; position < 2; ++position) {
    float half[kHalf];
#pragma unroll
    for (int f = 0; f < kHalf; ++f) half[f] = is_second == (position == 1) ? own[f] : other[f];
    if (position < count) {
      *reinterpret_cast<float4*>(to + position * pitch) =
          make_float4(half[0], half[1], half[2], half[3]);
    }
  }
}

/// What a thread copies of each tile: elements of lines from `first` on, `span` apart, of the lines from
/// `line` on, `lines` apart; none where lines is 0.
struct CopyShare {
  int first, span, line, lines;

  __device__ explicit CopyShare(int elements)
      : span{min(static_cast<int>(blockDim.x), (elements + 7) / 8 * 8)} {
    int const thread = static_cast<int>(threadIdx.x), at_once = static_cast<int>(blockDim.x) / span;
    line = thread / span;
    first = thread - line * span;
    lines = line < at_once ? at_once : 0;
  }
};

/// Starts a thread's copies of the pixels that a tile sees, zeros outside of the image. place(column): where
/// a column of pixels begins in a row of shared memory.
template <bool kNchw, class Place>
__device__ __forceinline__ void start_copies(Operands<float> const& p, Tiles const& tiles,
                                             Corner const& corner, CopyShare const& share,
                                             float* pixels, int pitch, Place const& place) {
  if (share.lines == 0) return;
  int const top = corner.row * p.stride - p.padding, left = corner.col * p.stride - p.padding;
  int const elements = kNchw ? tiles.cols : tiles.cols * p.c;
  float const* const image = p.x + corner.image * p.c * p.h * p.width;
#pragma unroll 1
  for (int e = share.first; e < elements; e += share.span) {
    int const col = kNchw ? e : p.by_channels.quotient(e);
    int const of_pixel = kNchw ? 0 : p.by_channels.remainder(e, col);
    bool const is_column = static_cast<unsigned>(left + col) < static_cast<unsigned>(p.width);
#pragma unroll 1
    for (int c = 0; c < (kNchw ? p.c : 1); ++c) {
      float* const to = pixels + (of_pixel + c) * tiles.rows * pitch + place(col);
      float const* const from = image + (left + col) * p.pitch + of_pixel + c * p.plane;
#pragma unroll 4
      for (int i = share.line; i < tiles.rows; i += share.lines) {
        bool const is_row = static_cast<unsigned>(top + i) < static_cast<unsigned>(p.h);
        ptx::cp_async<4>(to + i * pitch, from + (top + i) * p.width * p.pitch, is_column && is_row);
      }
    }
  }
}

template <class T, bool kNchw, class Code>
__global__ void __launch_bounds__(kMaxThreads, kBlocks)
    conv2d_few_channels_kernel(Operands<T> p, Layout layout) {
  QUAD_DYNAMIC_SHARED(float, shared);
  float* const weights = shared + layout.buffers * layout.pixels;
  int const stride = Code::kStride > 0 ? Code::kStride : p.stride;
  constexpr TileShape kTile = Code::kTile;
  constexpr int kColumns = Code::kColumns;
  int const pitch = row_pitch(kColumns, stride);
  int const thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  int const lane = thread % 32, warp = thread / 32;
  int const taps = p.r * p.s;

  copy_in_flight(
      layout.tasks * kFiltersEach * taps,
      [&](int e) {
        int const k = p.by_taps.quotient(e), tap = p.by_taps.remainder(e, k);
        bool const is_there = k < p.k;
        return load_channels(p.w + (is_there ? k * p.terms + tap * p.pitch : 0), p.c,
                             kNchw ? taps : 1, is_there);
      },
      [&](int e, Channels<T> const& channels) {
        int const k = p.by_taps.quotient(e), tap = p.by_taps.remainder(e, k);
#pragma unroll
        for (int c = 0; c < kMaxChannels; ++c) {
          if (c < p.c) {
            weights[(c * taps + tap) * layout.filter_row + k] = to_f32(channels.value[c]);
          }
        }
      });

  int const tile_col = lane % kTile.cols, band = lane / kTile.cols * kRowsEach;
  auto const place = [&](int col) { return col % stride * kColumns + col / stride; };
  float *pixels = shared, *next_pixels = shared + (layout.buffers - 1) * layout.pixels;
  constexpr bool kIsAsync = std::is_same_v<T, float>;
  CopyShare const share{kNchw ? layout.tiles.cols : layout.tiles.cols * p.c};
  auto const start = [&](int number, float* to) {
    if constexpr (kIsAsync) {
      if (number < layout.tiles.count) {
        start_copies<kNchw>(p, layout.tiles, Corner{layout.tiles, number}, share, to, pitch, place);
      }
      ptx::cp_async_commit();
    }
  };
  int const mine = static_cast<int>(blockIdx.x), step = static_cast<int>(gridDim.x);
  if (layout.buffers == 2) start(mine, pixels);
#pragma unroll 1
  for (int number = mine; number < layout.tiles.count; number += step) {
    Corner const tile{layout.tiles, number};
    __syncthreads();  // all have read the pixels of the tile before
    if constexpr (!kIsAsync) {
      copy_pixels(p, layout.tiles, tile, [&](int row, int col, Channels<T> const& channels) {
        float* const to = pixels + row * pitch + place(col);
#pragma unroll
        for (int c = 0; c < kMaxChannels; ++c) {
          if (c < p.c) to[c * layout.tiles.rows * pitch] = to_f32(channels.value[c]);
        }
      });
    } else if (layout.buffers == 2) {
      start(number + step, next_pixels);
      ptx::cp_async_wait<1>();
    } else {
      start(number, pixels);
      ptx::cp_async_wait<0>();
    }
    __syncthreads();  // all pixels are there, and all filters

    int const q = tile.col + tile_col;
#pragma unroll 1
    for (int task = warp; task < layout.tasks; task += threads / 32) {
      int const k0 = task * kFiltersEach;
      float accumulators[kRowsEach][kFiltersEach] = {};
#pragma unroll 1
      for (int c = 0; c < p.c; ++c) {
#pragma unroll 1
        for (int j = 0; j < p.s; ++j) {
          int const behind = j * (Code::kRows > 0 ? 1 : p.dilation);
          float const* const column = pixels + (c * layout.tiles.rows + band * stride) * pitch +
                                      behind % stride * kColumns + behind / stride + tile_col;
          float const* factors = weights + (c * taps + j) * layout.filter_row + k0;
          int const to_next_row = p.s * layout.filter_row;
          if constexpr (Code::kRows > 0) {
            constexpr int kSeen = (kRowsEach - 1) * Code::kStride + Code::kRows;
            float seen[kSeen];
#pragma unroll
            for (int l = 0; l < kSeen; ++l) seen[l] = column[l * pitch];
#pragma unroll
            for (int i = 0; i < Code::kRows; ++i, factors += to_next_row) {
              multiply_add(accumulators, factors, [&](int l) { return seen[l * stride + i]; });
            }
          } else {
#pragma unroll 1
            for (int i = 0; i < p.r; ++i, factors += to_next_row) {
              float const* const first = column + i * p.dilation * pitch;
              multiply_add(accumulators, factors, [&](int l) { return first[l * stride * pitch]; });
            }
          }
        }
      }
      if constexpr (!kNchw && std::is_same_v<T, float>) {
        if (layout.stores_vectors) {
          int const first = q - lane % 2;
#pragma unroll
          for (int l = 0; l < kRowsEach; ++l) {
            int const row = tile.row + band + l;
            store_pair(p.y + tile.image * p.k * p.out_h * p.out_w +
                           (row * p.out_w + first) * p.out_pitch + k0,
                       p.out_pitch, row < p.out_h ? p.out_w - first : 0, accumulators[l]);
          }
          continue;
        }
      }
      if (q >= p.out_w) continue;
      WholeSectors<T> const sectors{layout.tiles, tile};
#pragma unroll
      for (int l = 0; l < kRowsEach; ++l) {
        int const row = tile.row + band + l;
        if (row >= p.out_h) break;
        T* const y = p.y + tile.image * p.k * p.out_h * p.out_w +
                     (row * p.out_w + q) * p.out_pitch + k0 * p.out_plane;
        if (!kNchw && layout.stores_vectors) {
          Outputs<T> outputs;
#pragma unroll
          for (int f = 0; f < kFiltersEach; ++f) outputs.value[f] = from_f32<T>(accumulators[l][f]);
          *reinterpret_cast<Outputs<T>*>(y) = outputs;
          continue;
        }
#pragma unroll
        for (int f = 0; f < kFiltersEach; ++f) {
          T* const to = y + f * p.out_plane;
          bool const is_stored = !may_overlap<T, kNchw, Code>() || sectors.has(to, tile_col);
          if (k0 + f < p.k && is_stored) *to = from_f32<T>(accumulators[l][f]);
        }
      }
    }
    float* const read = pixels;
    pixels = next_pixels;
    next_pixels = read;
  }
}

template <class T, bool kNchw, class Code>
void enqueue(Problem const& problem, device::StreamView stream) {
  auto const p = operands<T>(problem);
  Shape const& z = problem.shape;
  auto const narrow = [](std::int64_t value) { return static_cast<int>(value); };
  int const overlap = may_overlap<T, kNchw, Code>() && !lines_are_sectors(p) ? kSector<T> : 0;
  int const tasks = narrow(filter_tasks(z));
  int const threads = tasks <= 4 ? kMaxThreads / 2 : kMaxThreads;
  int const buffers = std::is_same_v<T, float> &&
                              resident(threads, shared_bytes(problem, 2)) == max_resident(threads)
                          ? 2
                          : 1;
  Layout const layout{
      .tiles = {z, p, Code::kTile, overlap},
      .pixels = narrow(pixels(z)),
      .filter_row = narrow(filter_row(z)),
      .tasks = tasks,
      .buffers = buffers,
      .stores_vectors = p.k % kFiltersEach == 0 && reinterpret_cast<std::uintptr_t>(p.y) % 16 == 0};
  std::int64_t const bytes = shared_bytes(problem, buffers);
  int const blocks = blocks_for(layout.tiles, threads, bytes, stream);
  QUAD_LAUNCH((conv2d_few_channels_kernel<T, kNchw, Code>), dim3(static_cast<unsigned>(blocks)),
              dim3(static_cast<unsigned>(threads)), static_cast<std::size_t>(bytes), stream, p,
              layout);
}

template <class T, bool kNchw>
void with_code(Problem const& problem, device::StreamView stream) {
  auto const is = [&](int stride, int rows) { return is_unrolled(problem.shape, stride, rows); };
  if (is(1, 3)) return enqueue<T, kNchw, Unrolled<1, 3>>(problem, stream);
  if (is(2, 3)) return enqueue<T, kNchw, Unrolled<2, 3>>(problem, stream);
  if (is(2, 7)) return enqueue<T, kNchw, Unrolled<2, 7>>(problem, stream);
  enqueue<T, kNchw, Unrolled<0, 0>>(problem, stream);
}

void launch(Problem const& problem, device::StreamView stream) {
  with_type_and_layout(problem,
                       [&]<class T, bool kNchw>() { with_code<T, kNchw>(problem, stream); });
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& p) {
  Shape const& z = p.shape;
  if ((z.s - 1) * z.dilation / z.stride >= kMaxStrides - 1) {
    return "takes filters of up to 16 strides in width";
  }
  return unsupported_by_few_channels(p, [](Problem const& q) { return shared_bytes(q, 1); });
}

}  // namespace

extern constinit Variant<Problem> const few_channels{
    {.name = "few_channels",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .needs = {.compute_capability = 90,
               .shared_bytes = kMaxSharedBytes,
               .other = "1 to 4 channels, one group, filters that fit shared memory and are up to "
                        "16 strides wide, tensors of less than 2^31 elements"},
     .preference = 40,
     .source = "own",
     .summary = "all output channels of a block of positions, pixels and filters read once"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported}};

}  // namespace quadrille::kernels::conv2d
