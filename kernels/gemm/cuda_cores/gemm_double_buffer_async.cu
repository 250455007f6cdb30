// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with tiles copied asynchronously.
///
///   C = alpha A B + beta C
///
/// Technique    cp.async moves words from global to shared memory without registers and without
///              waiting: the next pair of tiles is copied while this one is multiplied. B is copied
///              16 bytes at a time, A word by word, because only then the copy transposes it
/// Before       double_buffer_pingpong
/// Shapes       row-major; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k / 64 elements
/// Launch       256 threads, 32 KiB of shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "common/ptx/copies.cuh"
#include "gemm/cuda_cores/gemm_warp_tile.cuh"

namespace quadrille::kernels::gemm {
namespace {

using namespace warp_tiles;

#ifdef QUAD_KERNELS

/// Starts the copies of one pair of tiles.
__device__ void copy(Operands<float> const& p, Tiles& tiles, int row, int col, int first) {
  int const thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int e = thread; e < kBM * kBK; e += kThreads) {
    int const i = e / kBK, q = e % kBK;
    bool const inside = row + i < p.m && first + q < p.k;
    ptx::cp_async<4>(&tiles.a[q][i], inside ? p.a + (row + i) * p.lda + first + q : p.a, inside);
  }
#pragma unroll
  for (int e = thread * 4; e < kBK * kBN; e += kThreads * 4) {
    int const q = e / kBN, j = e % kBN;
    bool const inside = first + q < p.k && col + j < p.n;
    ptx::cp_async<16>(&tiles.b[q][j], inside ? p.b + (first + q) * p.ldb + col + j : p.b, inside);
  }
  ptx::cp_async_commit();
}

__global__ void __launch_bounds__(kThreads) gemm_double_buffer_async_kernel(Operands<float> p) {
  QUAD_SHARED(Tiles, tiles, [2]);
  int const row = static_cast<int>(blockIdx.y) * kBM;
  int const col = static_cast<int>(blockIdx.x) * kBN;
  Position const position;
  float accumulators[kRows][kCols] = {};
  // changed: copies are started and fill the first pair, without registers
  if (p.k > 0) copy(p, tiles[0], row, col, 0);
  for (int first = 0, buffer = 0; first < p.k; first += kBK, buffer = 1 - buffer) {
    // changed: a pair was copied while the one before was multiplied
    ptx::cp_async_wait<0>();
    __syncthreads();  // this pair is complete, and all have read the other one
    // changed: the next pair is on its way before this one is read
    if (first + kBK < p.k) copy(p, tiles[1 - buffer], row, col, first + kBK);
    multiply(tiles[buffer], position, accumulators);
  }
  write(p, position, row, col, accumulators);
}

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_double_buffer_async_kernel, grid_of(p, kBM, kBN), dim3(kThreads), 0, stream, p);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const double_buffer_async{
    {.name = "double_buffer_async",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.layouts = {Layout::nn},
               .row_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * kBM},
     .source = "after Boehm 2022",
     .summary = "asynchronous copies to two pairs of tiles"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.tile = {kBM, kBN, kBK}}}};

}  // namespace quadrille::kernels::gemm
