// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with tiles copied asynchronously, each pair with a barrier of its own.
///
///   C = alpha A B + beta C
///
/// Technique    an mbarrier tells that a pair of tiles is complete: what cuda::memcpy_async and
///              cuda::barrier compile to. Every copy arrives at the barrier of its pair by itself,
///              threads wait for the phase of that pair alone, and no thread waits for its own
///              copies. A barrier of the block remains, for the buffer that is filled next is still
///              read
/// Before       double_buffer_async
/// Shapes       row-major; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k / 64 elements
/// Launch       256 threads, 32 KiB of shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "common/ptx/barriers.cuh"
#include "common/ptx/copies.cuh"
#include "gemm/cuda_cores/gemm_warp_tile.cuh"

namespace quadrille::kernels::gemm {
namespace {

using namespace warp_tiles;

#ifdef QUAD_KERNELS

/// Starts the copies of one pair of tiles, which arrive at its barrier.
__device__ void copy(Operands<float> const& p, Tiles& tiles, ptx::MBarrier& complete, int row,
                     int col, int first) {
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
  ptx::cp_async_mbarrier_arrive_noinc(&complete);
}

__global__ void __launch_bounds__(kThreads) gemm_double_buffer_barrier_kernel(Operands<float> p) {
  QUAD_SHARED(Tiles, tiles, [2]);
  QUAD_SHARED(ptx::MBarrier, complete, [2]);
  int const row = static_cast<int>(blockIdx.y) * kBM;
  int const col = static_cast<int>(blockIdx.x) * kBN;
  Position const position;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&complete[0], kThreads);
    ptx::mbarrier_init(&complete[1], kThreads);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();  // the barriers are there
  float accumulators[kRows][kCols] = {};
  if (p.k > 0) copy(p, tiles[0], complete[0], row, col, 0);
  unsigned parity = 0;  // of the phase of the pair that is multiplied
  for (int first = 0, buffer = 0; first < p.k; first += kBK, buffer = 1 - buffer) {
    if (first + kBK < p.k) copy(p, tiles[1 - buffer], complete[1 - buffer], row, col, first + kBK);
    ptx::mbarrier_wait(&complete[buffer], parity);
    multiply(tiles[buffer], position, accumulators);
    __syncthreads();  // all have read this pair
    if (buffer == 1) parity ^= 1U;
  }
  write(p, position, row, col, accumulators);
}

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_double_buffer_barrier_kernel, grid_of(p, kBM, kBN), dim3(kThreads), 0, stream,
              p);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const double_buffer_barrier{
    {.name = "double_buffer_barrier",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.layouts = {Layout::nn},
               .row_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * kBM},
     .source = "after Boehm 2022",
     .summary = "asynchronous copies that arrive at a barrier object of their tiles"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.tile = {kBM, kBN, kBK}}}};

}  // namespace quadrille::kernels::gemm
