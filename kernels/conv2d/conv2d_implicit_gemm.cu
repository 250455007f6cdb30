// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Convolution as a product whose column matrix is never stored.
///
///   Y = W X_col
///
/// Technique    the tiles of a matrix product, of which a slice of X_col is gathered from the image
///              by cp.async, element by element, which needs no registers and fills in the zeros of
///              the padding, which CUDATutorial, chapter 12, leaves out. What a position means, its
///              image and corner, is worked out once for a block and kept in shared memory; a term
///              is split into channel and tap on the fly, by products in place of divisions.
///              Neighbouring threads copy neighbouring words: positions of a term in nchw, channels
///              of a tap in nhwc. Two slices are on their way while one is multiplied; thread tiles
///              of 8 x 8, read as vectors
/// Shapes       nchw or nhwc, any extents
/// Work         2 n k p q (c / groups) r s flop; traffic n k p q c r s (4 / 128 + 4 / 128) bytes, most
///              of it from caches
/// Launch       256 threads and tiles of 128 filters x 128 positions, or 128 and 64 x 128 for up to 64
///              filters; slices of 16 terms; 51 or 38 KiB of shared memory
/// Accuracy     c r s eps w / 2 at worst, eps (sqrt(c r s) + 2) w for random data
#include "common/ptx/copies.cuh"
#include "conv2d/conv2d_cuda.cuh"

namespace quadrille::kernels::conv2d {
namespace {

/// Filters x positions of a block.
template <int kFilters>
struct Tile {
  static constexpr int kBM = kFilters, kBN = 128, kBK = 16;
  static constexpr int kThreads = kBM * kBN / 64;
  static constexpr int kStages = 3;
  // Words behind each row that keep a warp's copies along k out of the same bank.
  static constexpr int kRowA = kBM + 4, kRowB = kBN + 4;
  static constexpr int kStageFloats = kBK * (kRowA + kRowB);
  static constexpr int kSharedBytes = kStages * kStageFloats * 4;
};
using Wide = Tile<128>;
using Narrow = Tile<64>;

#ifdef QUAD_KERNELS

/// Copies a slice of terms from `first` on to a stage.
template <class Tile, bool kNchw>
__device__ void copy_slice(Operands<float> const& p, Window const* windows, float const* x,
                           float const* w, int filters, int first, float* stage) {
  int const thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int e = thread; e < Tile::kBM * Tile::kBK; e += Tile::kThreads) {
    int const t = e % Tile::kBK, m = e / Tile::kBK;
    bool const is_there = m < filters && first + t < p.terms;
    float const* const from = is_there ? w + m * p.terms + first + t : w;
    ptx::cp_async<4>(stage + t * Tile::kRowA + m, from, is_there);
  }
  float* const slice = stage + Tile::kBK * Tile::kRowA;
#pragma unroll
  for (int e = thread; e < Tile::kBN * Tile::kBK; e += Tile::kThreads) {
    int const t = kNchw ? e / Tile::kBN : e % Tile::kBK;
    int const j = kNchw ? e % Tile::kBN : e / Tile::kBK;
    Window const window = windows[j];
    Term const term = term_of<kNchw>(p, first + t);
    int const row = window.row + term.row, col = window.col + term.col;
    bool const is_there = first + t < p.terms && is_inside(p, row, col);
    int const at = window.image + term.channel * p.plane + (row * p.width + col) * p.pitch;
    ptx::cp_async<4>(slice + t * Tile::kRowB + j, is_there ? x + at : x, is_there);
  }
}

template <class Tile, bool kNchw>
__global__ void __launch_bounds__(Tile::kThreads, 2)
    conv2d_implicit_gemm_kernel(Operands<float> p) {
  QUAD_DYNAMIC_SHARED(float, shared);
  QUAD_SHARED(Window, windows, [Tile::kBN]);
  int const thread = static_cast<int>(threadIdx.x);
  int const group = static_cast<int>(blockIdx.z);
  int const first_filter = static_cast<int>(blockIdx.y) * Tile::kBM;
  int const first_position = static_cast<int>(blockIdx.x) * Tile::kBN;
  int const filters = p.filters - first_filter;
  int const k0 = group * p.filters + first_filter;
  float const* const x = p.x + group * p.channels * p.plane;
  float const* const w = p.w + k0 * p.terms;
  for (int j = thread; j < Tile::kBN; j += Tile::kThreads) {
    constexpr Window kNowhere{kOutside, 0, 0, 0};
    int const position = first_position + j;
    windows[j] = position < p.positions ? window_of(p, position) : kNowhere;
  }
  __syncthreads();  // all windows are there

  int const slices = divide_up(p.terms, Tile::kBK);
  auto const stage = [&](int slice) { return shared + slice % Tile::kStages * Tile::kStageFloats; };
  for (int s = 0; s < Tile::kStages - 1; ++s) {
    if (s < slices) {
      copy_slice<Tile, kNchw>(p, windows, x, w, filters, s * Tile::kBK, stage(s));
    }
    ptx::cp_async_commit();
  }
  // Two times 4 neighbours each way, so that fragments are vectors without bank conflicts.
  int const m0 = thread / 16 * 4, n0 = thread % 16 * 4;
  float accumulators[8][8] = {};
  for (int s = 0; s < slices; ++s) {
    ptx::cp_async_wait<Tile::kStages - 2>();
    __syncthreads();  // the slice is there for all, and all have read the one before
    int const next = s + Tile::kStages - 1;
    if (next < slices) {
      copy_slice<Tile, kNchw>(p, windows, x, w, filters, next * Tile::kBK, stage(next));
    }
    ptx::cp_async_commit();
    float const* const a = stage(s) + m0;
    float const* const b = stage(s) + Tile::kBK * Tile::kRowA + n0;
#pragma unroll
    for (int t = 0; t < Tile::kBK; ++t) {
      float4 factors[2], line[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        factors[half] =
            *reinterpret_cast<float4 const*>(a + t * Tile::kRowA + half * (Tile::kBM / 2));
        line[half] = *reinterpret_cast<float4 const*>(b + t * Tile::kRowB + half * (Tile::kBN / 2));
      }
      auto const* const f = reinterpret_cast<float const*>(factors);
      auto const* const l = reinterpret_cast<float const*>(line);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) accumulators[i][j] += f[i] * l[j];
      }
    }
  }

#pragma unroll
  for (int j = 0; j < 8; ++j) {
    int const in_block = n0 + j % 4 + j / 4 * (Tile::kBN / 2);
    if (first_position + in_block >= p.positions) continue;
    float* const y = p.y + windows[in_block].out + k0 * p.out_plane;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      int const m = m0 + i % 4 + i / 4 * (Tile::kBM / 2);
      if (m < filters) y[m * p.out_plane] = accumulators[i][j];
    }
  }
}

template <class Tile>
void enqueue(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  dim3 const grid(static_cast<unsigned>(divide_up(p.positions, Tile::kBN)),
                  static_cast<unsigned>(divide_up(p.filters, Tile::kBM)),
                  static_cast<unsigned>(problem.shape.groups));
  if (problem.layout == DataLayout::nchw) {
    QUAD_LAUNCH((conv2d_implicit_gemm_kernel<Tile, true>), grid, dim3(Tile::kThreads),
                Tile::kSharedBytes, stream, p);
  } else {
    QUAD_LAUNCH((conv2d_implicit_gemm_kernel<Tile, false>), grid, dim3(Tile::kThreads),
                Tile::kSharedBytes, stream, p);
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.shape.n == 0 || problem.shape.k == 0) return;
  if (problem.shape.group_filters() <= Narrow::kBM) {
    enqueue<Narrow>(problem, stream);
  } else {
    enqueue<Wide>(problem, stream);
  }
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& p) {
  bool const fits =
      p.shape.groups <= kMaxGridRows && p.shape.group_filters() <= kMaxGridRows * Narrow::kBM;
  return fits ? few_elements(p) : "takes up to 65535 groups of up to 4194240 filters";
}

}  // namespace

extern constinit Variant<Problem> const implicit_gemm{
    {.name = "implicit_gemm",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.compute_capability = 80,
               .shared_bytes = Wide::kSharedBytes,
               .other = "tensors of less than 2^31 elements, up to 65535 groups"},
     .preference = 20,
     .source = "own",
     .summary = "tiles of a product whose columns cp.async gathers from the image"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported}};

}  // namespace quadrille::kernels::conv2d
