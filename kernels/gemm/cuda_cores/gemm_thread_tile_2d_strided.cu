// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with a thread tile of 8 x 8 whose elements are 16 apart.
///
///   C = alpha A B + beta C
///
/// Technique    another ladder's `thread_tile_2d`: a thread's 8 x 8 elements of C are 16 rows and
///              16 columns apart, one in each 16 x 16 part of the tile. So neighbouring threads
///              always have neighbouring columns: their reads of shared memory and their writes of
///              C are contiguous, without vectors. Variants show the neighbours: `_2x2` has 4
///              accumulators and a larger BK, `_16x16` 256 accumulators, more than a thread has
///              registers, so that they spill to memory, and `_unpadded` what padding is for (of
///              `_2x2`, whose warps read one row of A at a time, for nothing). `_1x1` has
///              tiles of 8 x 8, where it is for nothing: a warp reads or stores four rows of 8,
///              which fill the banks once, and rows of 9 overlap
/// Shapes       row-major, any extents and leading dimensions; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic 2 m n k / tile elements
/// Launch       16 x 16 threads (`_2x2`: 32 x 32, `_1x1`: 8 x 8), dynamic shared memory for a tile of A
///              and one of B; but for `_unpadded` and `_16x16`, rows of A have one element of padding, which
///              keeps columns of a tile out of one bank
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/gemm_cuda.cuh"

namespace quadrille::kernels::gemm {
namespace {

/// Threads each way, thread tile each way, k-iterations of a tile, elements behind its rows of A.
template <int Threads, int ThreadTile, int BK, int Padding = 1>
struct Shape {
  static constexpr int kThreads = Threads;
  static constexpr int kThreadTile = ThreadTile;
  static constexpr int kBK = BK;
  static constexpr int kTile = Threads * ThreadTile;
  static constexpr int kPitchA = BK + Padding;
  static constexpr TileExtents kExtents{kTile, kTile, BK};
  template <class T>
  static constexpr std::size_t kSharedBytes = (kTile * kPitchA + BK * kTile) * sizeof(T);
};
using Regular = Shape<16, 8, 16>;
using Unpadded = Shape<16, 8, 16, 0>;
using Fine = Shape<32, 2, 64>;
using FineUnpadded = Shape<32, 2, 64, 0>;
using Coarse = Shape<16, 16, 16, 0>;
using Finest = Shape<8, 1, 8>;
using FinestUnpadded = Shape<8, 1, 8, 0>;

#ifdef QUAD_KERNELS

template <class T, class Shape>
__global__ void __launch_bounds__(Shape::kThreads* Shape::kThreads)
    gemm_thread_tile_2d_strided_kernel(Operands<T> p) {
  constexpr int kThreads = Shape::kThreads, kThreadTile = Shape::kThreadTile, kBK = Shape::kBK;
  constexpr int kTile = Shape::kTile, kPitchA = Shape::kPitchA;
  QUAD_DYNAMIC_SHARED(T, tile_a);
  T* const tile_b = tile_a + kTile * kPitchA;
  int const x = static_cast<int>(threadIdx.x);
  int const y = static_cast<int>(threadIdx.y);
  int const thread = y * kThreads + x;
  int const row = static_cast<int>(blockIdx.y) * kTile;
  int const col = static_cast<int>(blockIdx.x) * kTile;
  T accumulators[kThreadTile][kThreadTile] = {};
  for (int first = 0; first < p.k; first += kBK) {
#pragma unroll
    for (int e = thread; e < kTile * kBK; e += kThreads * kThreads) {
      int const i = e / kBK, q = e % kBK;
      bool const inside = row + i < p.m && first + q < p.k;
      tile_a[i * kPitchA + q] = inside ? p.a[(row + i) * p.lda + first + q] : T{};
    }
#pragma unroll
    for (int e = thread; e < kBK * kTile; e += kThreads * kThreads) {
      int const q = e / kTile, j = e % kTile;
      bool const inside = first + q < p.k && col + j < p.n;
      tile_b[q * kTile + j] = inside ? p.b[(first + q) * p.ldb + col + j] : T{};
    }
    __syncthreads();  // both tiles are complete
#pragma unroll 4
    for (int q = 0; q < kBK; ++q) {
      T a[kThreadTile], b[kThreadTile];
#pragma unroll
      for (int s = 0; s < kThreadTile; ++s) a[s] = tile_a[(y + s * kThreads) * kPitchA + q];
#pragma unroll
      for (int s = 0; s < kThreadTile; ++s) b[s] = tile_b[q * kTile + x + s * kThreads];
#pragma unroll
      for (int i = 0; i < kThreadTile; ++i) {
#pragma unroll
        for (int j = 0; j < kThreadTile; ++j) accumulators[i][j] += a[i] * b[j];
      }
    }
    __syncthreads();  // all have read the tiles
  }
#pragma unroll
  for (int i = 0; i < kThreadTile; ++i) {
#pragma unroll
    for (int j = 0; j < kThreadTile; ++j) {
      int const c_row = row + y + i * kThreads;
      int const c_col = col + x + j * kThreads;
      if (c_row < p.m && c_col < p.n) update(p, c_row, c_col, accumulators[i][j]);
    }
  }
}

template <class T, class Shape>
void launch_as(Problem const& problem, device::StreamView stream) {
  auto const p = operands<T>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH((gemm_thread_tile_2d_strided_kernel<T, Shape>),
              grid_of(p, Shape::kTile, Shape::kTile), dim3(Shape::kThreads, Shape::kThreads),
              Shape::template kSharedBytes<T>, stream, p);
}

template <class Shape>
void launch(Problem const& problem, device::StreamView stream) {
  problem.c.type == core::DataType::f64 ? launch_as<double, Shape>(problem, stream)
                                        : launch_as<float, Shape>(problem, stream);
}

#endif  // QUAD_KERNELS

/// What the variants share; each launches another shape.
constexpr VariantInfo row(std::string_view name, int tile, std::string_view summary,
                          int preference = 0) {
  return {.name = name,
          .where = Where::cuda,
          .types = {core::DataType::f32, core::DataType::f64},
          .needs = {.layouts = {Layout::nn},
                    .max_extent = kMaxCudaExtent,
                    .max_rows = kMaxTileRows * tile},
          .preference = preference,
          .source = "after a DCU course",
          .summary = summary};
}

}  // namespace

extern constinit Variant<Problem> const thread_tile_2d_strided{
    row("thread_tile_2d_strided", Regular::kTile, "thread tile 8 x 8, elements 16 apart"),
    QUAD_KERNEL_LAUNCH(launch<Regular>),
    {.notes = {.tile = Regular::kExtents}}};

extern constinit Variant<Problem> const thread_tile_2d_strided_2x2{
    row("thread_tile_2d_strided_2x2", Fine::kTile, "thread tile 2 x 2, elements 32 apart"),
    QUAD_KERNEL_LAUNCH(launch<Fine>),
    {.notes = {.tile = Fine::kExtents}}};

extern constinit Variant<Problem> const thread_tile_2d_strided_2x2_unpadded{
    row("thread_tile_2d_strided_2x2_unpadded", FineUnpadded::kTile,
        "the same without padding, which a warp along a row does not need"),
    QUAD_KERNEL_LAUNCH(launch<FineUnpadded>),
    {.notes = {.tile = FineUnpadded::kExtents}}};

extern constinit Variant<Problem> const thread_tile_2d_strided_unpadded{
    row("thread_tile_2d_strided_unpadded", Unpadded::kTile,
        "thread_tile_2d_strided without padding: two rows of a warp's reads of A in one bank"),
    QUAD_KERNEL_LAUNCH(launch<Unpadded>),
    {.notes = {.tile = Unpadded::kExtents}}};

extern constinit Variant<Problem> const thread_tile_2d_strided_16x16{
    row("thread_tile_2d_strided_16x16", Coarse::kTile,
        "thread tile 16 x 16: more accumulators than a thread has registers", -1),
    QUAD_KERNEL_LAUNCH(launch<Coarse>),
    {.notes = {.tile = Coarse::kExtents}}};

extern constinit Variant<Problem> const thread_tile_2d_strided_1x1{
    row("thread_tile_2d_strided_1x1", Finest::kTile, "an element a thread, tiles of 8 x 8"),
    QUAD_KERNEL_LAUNCH(launch<Finest>),
    {.notes = {.tile = Finest::kExtents}}};

extern constinit Variant<Problem> const thread_tile_2d_strided_1x1_unpadded{
    row("thread_tile_2d_strided_1x1_unpadded", FinestUnpadded::kTile,
        "the same without padding, which this tile does not need"),
    QUAD_KERNEL_LAUNCH(launch<FinestUnpadded>),
    {.notes = {.tile = FinestUnpadded::kExtents}}};

}  // namespace quadrille::kernels::gemm
