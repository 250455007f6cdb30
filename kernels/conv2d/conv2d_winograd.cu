// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution of 3 x 3 by Winograd's minimal filtering, F(2 x 2, 3 x 3).
///
///   Y = A^T (sum_c (G w G^T) * (B^T x B)) A for each 2 x 2 outputs and the 4 x 4 pixels they see
///
/// Technique    4 outputs of a tile take 16 products where their definition has 36: pixels and
///              filters are transformed by additions, multiplied element by element, which makes 16
///              independent products of matrices over the channels, and transformed back.
///                  pixels of a line    0  1  2  3  4  5  6  7     0: column -padding of x
///                  tile 0             |0  1  2  3|                outputs 0, 1
///                  tile 1                   |2  3  4  5|          outputs 2, 3
///                  tile 2                         |4  5  6  7|    outputs 4, 5
///                  of 4 pixels x and 3 weights w, along columns and then along rows:
///                  pixels      x0 - x2    x1 + x2               x2 - x1               x1 - x3
///                  filters     w0         (w0 + w1 + w2) / 2    (w0 - w1 + w2) / 2    w2
///                  products    m0         m1                    m2                    m3
///                  outputs     y0 = m0 + m1 + m2                y1 = m1 - m2 - m3
///              A first launch transforms the filters, to 16 / 9 of their size in scratch memory. A
///              block then has 32 tiles and 32 filters: a thread loads and transforms the 4 x 4
///              pixels of one tile and channel into shared memory while the 8 channels before are
///              multiplied; a warp has two of the 16 products, a lane 4 tiles x 8 filters of each.
///              The way back goes through shared memory, since a tile needs all 16
/// Shapes       nchw or nhwc, filters of 3 x 3 with stride and dilation 1; tiles over the border are
///              cut
/// Work         8 n k p q c / groups flop in products, 2.25 times fewer than the definition, by which
///              its rate counts; every pixel is read about 4 times for each 32 filters, mostly from
///              caches
/// Launch       256 threads, 34 KiB of shared memory; up to 128 registers
/// Accuracy     random data: terms have 1.7 times the norm of those of the definition, since a
///              transformed pixel is a sum of 4 and an output one of 9 products, but sums are 9 times
///              shorter: below the same bound, eps (sqrt(9 c) + 2) w. Small whole numbers are exact below
///              3600 channels, as fractions of 4 take two bits more
#include "conv2d/conv2d_cuda.cuh"

namespace quadrille::kernels::conv2d {
namespace {

constexpr int kThreads = 256;
constexpr int kProducts = 16;  // pixels of a tile, products of matrices
constexpr int kTiles = 32, kFilters = 32, kChannels = 8;
constexpr int kTilesEach = 4, kFiltersEach = 8;  // of a lane
constexpr int kProductsEach = 2;                 // of a warp
constexpr std::size_t kCounterBytes = gemm::kScratchCounters * sizeof(std::uint32_t);

#ifdef QUAD_KERNELS

static_assert(kTiles * kChannels == kThreads, "a thread has one tile and channel");
static_assert(kTiles / kTilesEach * (kFilters / kFiltersEach) == 32);
static_assert(kProductsEach * kThreads / 32 == kProducts);

struct alignas(16) Kept {
  /// Of pixels; at the end of 8 filters. Words behind each row keep channels, which are neighbours in
  /// nhwc, out of one bank.
  float tiles[kProducts][kChannels][kTiles + 4];
  float filters[kProducts][kChannels][kFilters];
};

/// G w G^T of every filter and channel, as the products read them: transformed[product][c][k].
template <bool kNchw>
__global__ void __launch_bounds__(kThreads)
    conv2d_winograd_filters_kernel(Operands<float> p, float* transformed) {
  int const at = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (at >= p.k * p.channels) return;
  int const k = at % p.k, c = at / p.k;
  float w[3][3], rows[4][3];
#pragma unroll
  for (int i = 0; i < 3; ++i) {
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      int const tap = i * 3 + j;
      w[i][j] = p.w[k * p.terms + (kNchw ? c * 9 + tap : tap * p.channels + c)];
    }
  }
#pragma unroll
  for (int j = 0; j < 3; ++j) {
    float const ends = 0.5F * (w[0][j] + w[2][j]), middle = 0.5F * w[1][j];
    rows[0][j] = w[0][j];
    rows[1][j] = ends + middle;
    rows[2][j] = ends - middle;
    rows[3][j] = w[2][j];
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float const ends = 0.5F * (rows[i][0] + rows[i][2]), middle = 0.5F * rows[i][1];
    float const row[4]{rows[i][0], ends + middle, ends - middle, rows[i][2]};
#pragma unroll
    for (int j = 0; j < 4; ++j) transformed[(i * 4 + j) * p.channels * p.k + c * p.k + k] = row[j];
  }
}

/// A thread's part of 8 channels on its way to shared memory.
struct Loaded {
  float pixels[4][4];
  float filters[kProducts];
};

/// Where a tile's first output and first pixel lie.
struct TilePlace {
  int image, row, col;
  bool exists;
};
__device__ TilePlace tile_place(Operands<float> const& p, int tile) {
  int const across = divide_up(p.out_w, 2);
  int const of_image = divide_up(p.out_h, 2) * across;
  int const image = tile / of_image, at = tile % of_image;
  return {image, at / across * 2, at % across * 2, image < p.n};
}

/// B^T x B into shared memory.
__device__ void store_pixels(float const (&x)[4][4], Kept& kept, int channel, int tile) {
  float rows[4][4];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    rows[0][j] = x[0][j] - x[2][j];
    rows[1][j] = x[1][j] + x[2][j];
    rows[2][j] = x[2][j] - x[1][j];
    rows[3][j] = x[1][j] - x[3][j];
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    kept.tiles[i * 4][channel][tile] = rows[i][0] - rows[i][2];
    kept.tiles[i * 4 + 1][channel][tile] = rows[i][1] + rows[i][2];
    kept.tiles[i * 4 + 2][channel][tile] = rows[i][2] - rows[i][1];
    kept.tiles[i * 4 + 3][channel][tile] = rows[i][1] - rows[i][3];
  }
}

template <bool kNchw>
__global__ void __launch_bounds__(kThreads, 2)
    conv2d_winograd_kernel(Operands<float> p, float const* transformed) {
  QUAD_SHARED(Kept, kept, [1]);
  int const thread = static_cast<int>(threadIdx.x);
  int const warp = thread / 32, lane = thread % 32;
  int const group = static_cast<int>(blockIdx.z);
  int const first_filter = static_cast<int>(blockIdx.y) * kFilters;
  // Neighbouring threads have neighbours in memory: tiles in nchw, channels and filters in nhwc.
  int const my_tile = kNchw ? lane : thread / kChannels;
  int const my_channel = kNchw ? warp : thread % kChannels;
  TilePlace const place = tile_place(p, static_cast<int>(blockIdx.x) * kTiles + my_tile);
  int const top = place.row - p.padding, left = place.col - p.padding;
  // A bit for each pixel of the tile, which is the same for all channels.
  unsigned inside = 0;
#pragma unroll
  for (int e = 0; e < kProducts; ++e) {
    if (place.exists && is_inside(p, top + e / 4, left + e % 4)) inside |= 1U << e;
  }
  int const line = p.width * p.pitch;
  // Of the tile's first pixel, which may lie outside of the image, in the group's first channel.
  int const corner = place.image * p.c * p.h * p.width + group * p.channels * p.plane +
                     (top * p.width + left) * p.pitch;

  auto const load = [&](Loaded& loaded, int first) {
    int const c = first + my_channel;
    unsigned const valid = c < p.channels ? inside : 0;
#pragma unroll
    for (int e = 0; e < kProducts; ++e) {
      int const at = corner + c * p.plane + e / 4 * line + e % 4 * p.pitch;
      loaded.pixels[e / 4][e % 4] = (valid >> e & 1) != 0 ? p.x[at] : 0.0F;
    }
    bool const is_there = first + warp < p.channels && first_filter + lane < p.filters;
    float const* const from =
        transformed + (first + warp) * p.k + group * p.filters + first_filter + lane;
#pragma unroll
    for (int f = 0; f < kProducts; ++f) {
      loaded.filters[f] = is_there ? from[f * p.channels * p.k] : 0.0F;
    }
  };
  auto const store = [&](Loaded const& loaded) {
    store_pixels(loaded.pixels, kept[0], my_channel, my_tile);
#pragma unroll
    for (int f = 0; f < kProducts; ++f) kept[0].filters[f][warp][lane] = loaded.filters[f];
  };

  int const tile0 = lane % (kTiles / kTilesEach) * kTilesEach;
  int const filter0 = lane / (kTiles / kTilesEach) * kFiltersEach;
  float accumulators[kProductsEach][kFiltersEach][kTilesEach] = {};
  Loaded loaded;
  if (p.channels > 0) load(loaded, 0);
  for (int first = 0; first < p.channels; first += kChannels) {
    store(loaded);
    __syncthreads();  // pixels and filters are there
    if (first + kChannels < p.channels) load(loaded, first + kChannels);
#pragma unroll
    for (int own = 0; own < kProductsEach; ++own) {
      int const f = warp * kProductsEach + own;
#pragma unroll 2
      for (int c = 0; c < kChannels; ++c) {
        float const* const from = &kept[0].filters[f][c][filter0];
        float4 const low = *reinterpret_cast<float4 const*>(from);
        float4 const high = *reinterpret_cast<float4 const*>(from + 4);
        float4 const v = *reinterpret_cast<float4 const*>(&kept[0].tiles[f][c][tile0]);
        float const w[kFiltersEach]{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
        float const t[kTilesEach]{v.x, v.y, v.z, v.w};
#pragma unroll
        for (int i = 0; i < kFiltersEach; ++i) {
#pragma unroll
          for (int j = 0; j < kTilesEach; ++j) accumulators[own][i][j] += w[i] * t[j];
        }
      }
    }
    __syncthreads();  // all have read them
  }

  // The way back, 8 filters at a time: those of 8 lanes of each warp.
  for (int pass = 0; pass < kFilters / kFiltersEach; ++pass) {
    if (filter0 == pass * kFiltersEach) {
#pragma unroll
      for (int own = 0; own < kProductsEach; ++own) {
#pragma unroll
        for (int i = 0; i < kFiltersEach; ++i) {
          *reinterpret_cast<float4*>(&kept[0].tiles[warp * kProductsEach + own][i][tile0]) =
              make_float4(accumulators[own][i][0], accumulators[own][i][1], accumulators[own][i][2],
                          accumulators[own][i][3]);
        }
      }
    }
    __syncthreads();  // all 16 products of these filters are there
    float rows[2][4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float m[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) m[i] = kept[0].tiles[i * 4 + j][my_channel][my_tile];
      rows[0][j] = m[0] + m[1] + m[2];
      rows[1][j] = m[1] - m[2] - m[3];
    }
    int const filter = first_filter + pass * kFiltersEach + my_channel;
    if (place.exists && filter < p.filters) {
      int const k = group * p.filters + filter;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float const row[2]{rows[i][0] + rows[i][1] + rows[i][2],
                           rows[i][1] - rows[i][2] - rows[i][3]};
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          int const down = place.row + i, across = place.col + j;
          if (down >= p.out_h || across >= p.out_w) continue;
          p.y[place.image * p.k * p.out_h * p.out_w + k * p.out_plane +
              (down * p.out_w + across) * p.out_pitch] = row[j];
        }
      }
    }
    __syncthreads();  // all have read these filters' products
  }
}

template <bool kNchw>
void enqueue(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  auto* const transformed =
      reinterpret_cast<float*>(static_cast<std::byte*>(problem.scratch) + kCounterBytes);
  if (p.channels > 0) {
    auto const blocks = static_cast<unsigned>(divide_up(p.k * p.channels, kThreads));
    QUAD_LAUNCH(conv2d_winograd_filters_kernel<kNchw>, dim3(blocks), dim3(kThreads), 0, stream, p,
                transformed);
  }
  int const tiles = p.n * divide_up(p.out_h, 2) * divide_up(p.out_w, 2);
  dim3 const grid(static_cast<unsigned>(divide_up(tiles, kTiles)),
                  static_cast<unsigned>(divide_up(p.filters, kFilters)),
                  static_cast<unsigned>(problem.shape.groups));
  QUAD_LAUNCH(conv2d_winograd_kernel<kNchw>, grid, dim3(kThreads), 0, stream, p, transformed);
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.shape.n == 0 || problem.shape.k == 0) return;
  problem.layout == DataLayout::nchw ? enqueue<true>(problem, stream)
                                     : enqueue<false>(problem, stream);
}

#endif  // QUAD_KERNELS

std::size_t scratch_bytes(Problem const& p, device::Facts const&) {
  return kCounterBytes +
         sizeof(float) * static_cast<std::size_t>(kProducts * p.shape.k * p.shape.group_channels());
}

std::string unsupported(Problem const& p) {
  Shape const& z = p.shape;
  if (z.r != 3 || z.s != 3 || z.stride != 1 || z.dilation != 1) {
    return "takes filters of 3 x 3 with stride and dilation 1";
  }
  constexpr std::int64_t kMax = std::int64_t{1} << 31;
  bool const fits = z.groups <= kMaxGridRows && z.group_filters() <= kMaxGridRows * kFilters &&
                    kProducts * z.k * z.group_channels() < kMax;
  return fits ? few_elements(p)
              : "takes up to 65535 groups, and 2^27 weights in a tap of all filters";
}

}  // namespace

extern constinit Variant<Problem> const winograd{
    {.name = "winograd",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.other = "filters of 3 x 3, stride and dilation 1, tensors of less than 2^31 "
                        "elements, up to 65535 groups"},
     .preference = 5,
     .source = "after Lavin and Gray 2016",
     .summary = "3 x 3 by 16 products for 4 outputs in place of 36"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported, .scratch_bytes = scratch_bytes}};

}  // namespace quadrille::kernels::conv2d
