// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution of images with few channels, such as photographs.
///
///   y(n, k, p, q) = sum_{c, i, j} x(n, c, p u + i d - o, q u + j d - o) w(k, c, i, j)
///
/// Technique    sums are short, so that reading images and writing outputs takes longer than
///              arithmetic: a block copies the pixels that 16 x 32 positions see, and all filters, to
///              shared memory once and computes all output channels of these positions. A lane has a
///              column of positions, and a thread 8 of its rows by 8 filters: 8 values that the warp
///              shares, read as two vectors, and 8 pixels serve 64 products. With stride u, columns u
///              apart lie side by side in shared memory, so that the lanes' reads have no bank
///              conflicts. Stores are whole lines of a warp in nchw, vectors in nhwc
/// Shapes       nchw or nhwc, any extents
/// Types        f32, f16, bf16; sums in f32
/// Work         2 n k p q c r s flop; every pixel is read once, but for the rims of blocks, and every
///              output written once
/// Constraints  1 to 4 channels, one group; what a block keeps fits in 200 KiB; dilation (s - 1) up to
///              16 strides; tensors of less than 2^31 elements
/// Launch       256 threads, up to 128 registers; shared memory for c (15 u + (r - 1) d + 1) 48 u
///              pixels and c r s (k + 4) weights in f32
/// Accuracy     c r s eps w / 2 at worst, eps (sqrt(c r s) + 2) w for random data
/// Source       own
#include "conv2d/conv2d_cuda.cuh"

namespace quadrille::kernels::conv2d {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kTileRows = 16, kTileCols = 32;  // of positions
constexpr int kRowsEach = 8, kFiltersEach = 8;
constexpr int kColumns = 48;  // of one remainder of the stride, in shared memory
constexpr int kMostColumnsBehind = kColumns - kTileCols;
constexpr std::int64_t kMostSharedBytes = 200 << 10;
constexpr std::int64_t kMostChannels = 4;

/// What a block keeps in shared memory.
struct Kept {
  std::int64_t rows;         ///< of pixels
  std::int64_t pixels;       ///< floats
  std::int64_t filter_row;   ///< floats of all filters for a term, and padding
  std::int64_t total_bytes;  ///< both
};
Kept kept(Shape const& z) {
  Kept kept{};
  kept.rows = (kTileRows - 1) * z.stride + (z.r - 1) * z.dilation + 1;
  kept.pixels = z.c * kept.rows * z.stride * kColumns;
  // Words behind each row, which keep stores of neighbouring terms out of the same bank.
  kept.filter_row = (z.k + kFiltersEach - 1) / kFiltersEach * kFiltersEach + 4;
  kept.total_bytes = 4 * (kept.pixels + z.terms() * kept.filter_row);
  return kept;
}

#ifdef QUAD_KERNELS

/// What a block has beside the operands.
struct Layout {
  int rows, pixels, filter_row;
  int tiles_down, tiles_across;
  bool stores_vectors;  ///< in nhwc: 8 neighbouring outputs begin at 16 bytes
};

/// 8 filters of one position, as they lie in nhwc.
template <class T>
struct alignas(16) Outputs {
  T value[kFiltersEach];
};

/// kStride, where it is not 0, is p.stride.
template <class T, bool kNchw, int kStride>
__global__ void __launch_bounds__(kThreads, 2)
    conv2d_few_channels_kernel(Operands<T> p, Layout layout) {
  QUAD_DYNAMIC_SHARED(float, pixels);
  float* const weights = pixels + layout.pixels;
  int const stride = kStride > 0 ? kStride : p.stride;
  int const lane = static_cast<int>(threadIdx.x) % 32;
  int const warp = static_cast<int>(threadIdx.x) / 32;
  int const tile = static_cast<int>(blockIdx.x);
  int const tile_q = tile % layout.tiles_across;
  int const tile_p = tile / layout.tiles_across % layout.tiles_down;
  int const image = tile / layout.tiles_across / layout.tiles_down;
  int const row0 = tile_p * kTileRows * stride - p.padding;
  int const col0 = tile_q * kTileCols * stride - p.padding;
  T const* const x = p.x + image * p.c * p.h * p.width;

  // Filters: neighbouring threads read neighbouring terms.
  int const filters_up = divide_up(p.k, kFiltersEach) * kFiltersEach;
  for (int k = warp; k < filters_up; k += kWarps) {
    for (int t = lane; t < p.terms; t += 32) {
      weights[t * layout.filter_row + k] = k < p.k ? to_f32(p.w[k * p.terms + t]) : 0.0F;
    }
  }
  // Pixels: a warp for each row, whose neighbouring threads read neighbouring words.
  int const cols = (kTileCols - 1) * stride + (p.s - 1) * p.dilation + 1;
  for (int line = warp; line < layout.rows * (kNchw ? p.c : 1); line += kWarps) {
    int const row = kNchw ? line % layout.rows : line;
    for (int e = lane; e < cols * (kNchw ? 1 : p.c); e += 32) {
      int const col = kNchw ? e : p.by_channels.quotient(e);
      int const c = kNchw ? line / layout.rows : p.by_channels.remainder(e, col);
      bool const is_there = is_inside(p, row0 + row, col0 + col);
      int const from = c * p.plane + ((row0 + row) * p.width + col0 + col) * p.pitch;
      pixels[((c * layout.rows + row) * stride + col % stride) * kColumns + col / stride] =
          is_there ? to_f32(x[from]) : 0.0F;
    }
  }
  __syncthreads();  // all pixels and filters are there

  int const row_pitch = stride * kColumns;
  int const q = tile_q * kTileCols + lane;
  constexpr int kBands = kTileRows / kRowsEach;
  for (int task = warp; task < kBands * (filters_up / kFiltersEach); task += kWarps) {
    int const band = task % kBands * kRowsEach;
    int const k0 = task / kBands * kFiltersEach;
    float sums[kRowsEach][kFiltersEach] = {};
    for (int c = 0; c < p.c; ++c) {
      for (int i = 0; i < p.r; ++i) {
        float const* const line =
            pixels + (c * layout.rows + band * stride + i * p.dilation) * row_pitch + lane;
        for (int j = 0; j < p.s; ++j) {
          int const behind = j * p.dilation;
          float const* const pixel = line + behind % stride * kColumns + behind / stride;
          int const t = kNchw ? (c * p.r + i) * p.s + j : (i * p.s + j) * p.c + c;
          auto const* const vectors =
              reinterpret_cast<float4 const*>(weights + t * layout.filter_row + k0);
          float4 const low = vectors[0], high = vectors[1];
          float const factors[kFiltersEach]{low.x,  low.y,  low.z,  low.w,
                                            high.x, high.y, high.z, high.w};
#pragma unroll
          for (int l = 0; l < kRowsEach; ++l) {
            float const value = pixel[l * stride * row_pitch];
#pragma unroll
            for (int f = 0; f < kFiltersEach; ++f) sums[l][f] += value * factors[f];
          }
        }
      }
    }
    if (q >= p.out_w) continue;
#pragma unroll
    for (int l = 0; l < kRowsEach; ++l) {
      int const row = tile_p * kTileRows + band + l;
      if (row >= p.out_h) continue;
      T* const y = p.y + image * p.k * p.out_h * p.out_w + (row * p.out_w + q) * p.out_pitch +
                   k0 * p.out_plane;
      if (!kNchw && layout.stores_vectors) {
        Outputs<T> outputs;
#pragma unroll
        for (int f = 0; f < kFiltersEach; ++f) outputs.value[f] = from_f32<T>(sums[l][f]);
        *reinterpret_cast<Outputs<T>*>(y) = outputs;
        continue;
      }
#pragma unroll
      for (int f = 0; f < kFiltersEach; ++f) {
        if (k0 + f < p.k) y[f * p.out_plane] = from_f32<T>(sums[l][f]);
      }
    }
  }
}

template <class T, bool kNchw, int kStride>
void enqueue(Problem const& problem, device::StreamView stream) {
  auto const p = operands<T>(problem);
  Kept const room = kept(problem.shape);
  bool const stores_vectors =
      p.k % kFiltersEach == 0 && reinterpret_cast<std::uintptr_t>(p.y) % 16 == 0;
  Layout const layout{static_cast<int>(room.rows),       static_cast<int>(room.pixels),
                      static_cast<int>(room.filter_row), divide_up(p.out_h, kTileRows),
                      divide_up(p.out_w, kTileCols),     stores_vectors};
  dim3 const grid(static_cast<unsigned>(layout.tiles_down * layout.tiles_across * p.n));
  QUAD_LAUNCH((conv2d_few_channels_kernel<T, kNchw, kStride>), grid, dim3(kThreads),
              static_cast<std::size_t>(room.total_bytes), stream, p, layout);
}

template <class T, bool kNchw>
void with_stride(Problem const& problem, device::StreamView stream) {
  switch (problem.shape.stride) {
    case 1: return enqueue<T, kNchw, 1>(problem, stream);
    case 2: return enqueue<T, kNchw, 2>(problem, stream);
    default: return enqueue<T, kNchw, 0>(problem, stream);
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  with_type(problem, [&]<class T>() {
    if (problem.layout == DataLayout::nchw) {
      with_stride<T, true>(problem, stream);
    } else {
      with_stride<T, false>(problem, stream);
    }
  });
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& p) {
  Shape const& z = p.shape;
  if (z.groups != 1) return "takes one group";
  if (z.c < 1 || z.c > kMostChannels) return "takes 1 to 4 channels";
  if ((z.s - 1) * z.dilation / z.stride >= kMostColumnsBehind) {
    return "takes filters of up to 16 strides in width";
  }
  std::string reason = few_elements(p);
  // Extents of a filter that is larger than this overflow no product in kept().
  bool const is_small = z.r * z.dilation < kMostSharedBytes && z.stride < kMostSharedBytes;
  if (reason.empty() && (!is_small || kept(z).total_bytes > kMostSharedBytes)) {
    reason = "takes filters and windows that fit 200 KiB of shared memory together";
  }
  return reason;
}

}  // namespace

extern constinit Variant<Problem> const few_channels{
    {.name = "few_channels",
     .where = Where::cuda,
     .types = {core::DataType::f32, core::DataType::f16, core::DataType::bf16},
     .needs = {.compute_capability = 90,
               .shared_bytes = kMostSharedBytes,
               .other = "1 to 4 channels, one group, filters that fit shared memory"},
     .preference = 40,
     .source = "own",
     .summary = "all output channels of a block of positions, pixels and filters read once"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported}};

}  // namespace quadrille::kernels::conv2d
