// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with a thread tile whose loops the compiler cannot unroll.
///
///   C = alpha A B + beta C
///
/// Technique    a mistake added in two steps. `runtime_copies`: the copies stride by the block's
///              size as the launch has it, which keeps a counter and a branch for each word.
///              `runtime_bounds`: so does the product, and as an index of the accumulators is then
///              known at run time only, they are no longer in registers but in local memory, which
///              lies off chip
/// Before       thread_tile_2d_strided_unpadded
/// Shapes       row-major, any extents and leading dimensions; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k / 64 elements, and with `runtime_bounds` three more for
///              each multiply-add, most of them from caches
/// Launch       16 x 16 threads, dynamic shared memory for a tile of 128 x 16 of A and one of 16 x 128
///              of B
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/gemm_cuda.cuh"

namespace quadrille::kernels::gemm {
namespace {

constexpr int kSide = 16;  // threads each way
constexpr int kMax = 8;    // thread tile each way
constexpr int kTile = kSide * kMax, kBK = 16;
template <class T>
constexpr std::size_t kSharedBytes = 2 * kTile* kBK * sizeof(T);

#ifdef QUAD_KERNELS

/// kProductToo: loops of the product have bounds of the launch, too, not only those of the copies.
template <class T, bool kProductToo>
__global__ void __launch_bounds__(kSide* kSide)
    gemm_thread_tile_2d_runtime_bounds_kernel(Operands<T> p) {
  QUAD_DYNAMIC_SHARED(T, tile_a);
  T* const tile_b = tile_a + kTile * kBK;
  int const x = static_cast<int>(threadIdx.x);
  int const y = static_cast<int>(threadIdx.y);
  int const width = static_cast<int>(blockDim.x);
  int const threads = width * static_cast<int>(blockDim.y);
  int const side = kProductToo ? width : kSide;
  int const thread_tile = kTile / side;
  int const row = static_cast<int>(blockIdx.y) * kTile;
  int const col = static_cast<int>(blockIdx.x) * kTile;
  T accumulators[kMax][kMax] = {};
  for (int first = 0; first < p.k; first += kBK) {
#pragma unroll 1
    for (int e = y * width + x; e < kTile * kBK; e += threads) {
      int const i = e / kBK, q = e % kBK;
      bool const inside = row + i < p.m && first + q < p.k;
      tile_a[i * kBK + q] = inside ? p.a[(row + i) * p.lda + first + q] : T{};
    }
#pragma unroll 1
    for (int e = y * width + x; e < kBK * kTile; e += threads) {
      int const q = e / kTile, j = e % kTile;
      bool const inside = first + q < p.k && col + j < p.n;
      tile_b[q * kTile + j] = inside ? p.b[(first + q) * p.ldb + col + j] : T{};
    }
    __syncthreads();  // both tiles are complete
#pragma unroll(kProductToo ? 1 : 4)
    for (int q = 0; q < kBK; ++q) {
#pragma unroll(kProductToo ? 1 : kMax)
      for (int i = 0; i < thread_tile; ++i) {
        T const a = tile_a[(y + i * side) * kBK + q];
#pragma unroll(kProductToo ? 1 : kMax)
        for (int j = 0; j < thread_tile; ++j) {
          accumulators[i][j] += a * tile_b[q * kTile + x + j * side];
        }
      }
    }
    __syncthreads();  // all have read the tiles
  }
#pragma unroll(kProductToo ? 1 : kMax)
  for (int i = 0; i < thread_tile; ++i) {
#pragma unroll(kProductToo ? 1 : kMax)
    for (int j = 0; j < thread_tile; ++j) {
      int const c_row = row + y + i * side;
      int const c_col = col + x + j * side;
      if (c_row < p.m && c_col < p.n) update(p, c_row, c_col, accumulators[i][j]);
    }
  }
}

template <class T, bool kProductToo>
void launch_as(Problem const& problem, device::StreamView stream) {
  auto const p = operands<T>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH((gemm_thread_tile_2d_runtime_bounds_kernel<T, kProductToo>), grid_of(p, kTile, kTile),
              dim3(kSide, kSide), kSharedBytes<T>, stream, p);
}

template <bool kProductToo>
void launch(Problem const& problem, device::StreamView stream) {
  problem.c.type == core::DataType::f64 ? launch_as<double, kProductToo>(problem, stream)
                                        : launch_as<float, kProductToo>(problem, stream);
}

#endif  // QUAD_KERNELS

constexpr VariantInfo row(std::string_view name, std::string_view summary) {
  return {.name = name,
          .where = Where::cuda,
          .types = {core::DataType::f32, core::DataType::f64},
          .needs = {.layouts = {Layout::nn},
                    .max_extent = kMaxCudaExtent,
                    .max_rows = kMaxTileRows * kTile},
          .preference = -1,
          .source = "after a DCU course",
          .summary = summary};
}

}  // namespace

extern constinit Variant<Problem> const thread_tile_2d_runtime_copies{
    row("thread_tile_2d_runtime_copies", "strided, copies in loops that cannot be unrolled"),
    QUAD_KERNEL_LAUNCH(launch<false>)};

extern constinit Variant<Problem> const thread_tile_2d_runtime_bounds{
    row("thread_tile_2d_runtime_bounds", "the product in such loops, too: accumulators off chip"),
    QUAD_KERNEL_LAUNCH(launch<true>)};

}  // namespace quadrille::kernels::gemm
