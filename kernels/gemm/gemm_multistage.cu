// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with a ring of four stages that asynchronous copies fill.
///
///   C = alpha A B + beta C
///
/// Technique    tiles reach shared memory by cp.async: no registers, no instructions that wait for
///              global memory, and three stages of 32 k-iterations on their way while one is
///              multiplied, where a prefetch to registers has one of 16. A is copied word by word,
///              which transposes it; four words of padding behind its columns avoid bank conflicts.
///              One barrier in 32 k-iterations; the values of a k-iteration are read while the one
///              before is multiplied, across stages too
///
///   k-tile copied        0  1  2  3  4  5  6       each to stage number % 4, as a group of its own
///   k-tile multiplied             0  1  2  3       while the one three further on is copied
///
/// Before       thread_tile_8x16
/// Shapes       row-major, any extents; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k (4 / 128 + 4 / 256) bytes
/// Launch       256 threads, 194 KiB of shared memory, one block per multiprocessor
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/gemm_async_ring.cuh"

namespace quadrille::kernels::gemm {
namespace {

using Large = simt_tiles::Tile<2, 4>;

#ifdef QUAD_KERNELS

using namespace simt_tiles;

/// One tile with all its k-tiles.
class OneTile {
 public:
  __device__ explicit OneTile(int k_tiles) : k_tiles_{k_tiles} {}
  __device__ Corner corner(int) const {
    return {static_cast<int>(blockIdx.y) * Large::kBM, static_cast<int>(blockIdx.x) * Large::kBN};
  }
  __device__ bool next(Run& run) {
    run = {0, 0, k_tiles_};
    k_tiles_ = 0;
    return run.count > 0;
  }

 private:
  int k_tiles_;
};

__global__ void __launch_bounds__(kThreads, 1) gemm_multistage_kernel(Operands<float> p) {
  QUAD_DYNAMIC_SHARED(float, shared);
  Position const position{static_cast<int>(threadIdx.x) / 32, Large::kWarpsN};
  int const k_tiles = divide_up(p.k, Large::kBK);
  OneTile const tile{k_tiles};
  Loader<Large, true, OneTile> loader{p, tile};
  float const* const from_a = shared + position.row;
  float const* const from_b = shared + Large::kStageA + position.col;
  RingState<Large> ring;
#pragma unroll 1
  for (int t = 0; t < Large::kStages - 1; ++t) {
    loader.copy(shared + t * Large::kStage);
    ptx::cp_async_commit();  // also an empty group, so that a wait counts stages
    loader.advance();
  }
  ptx::cp_async_wait<Large::kStages - 2>();
  __syncthreads();  // the copies of all threads to the first stage have arrived
  float accumulators[kRows][kCols] = {};
  Values values[2] = {};
#pragma unroll 1
  for (int t = 0; t < k_tiles; ++t) {
    loader.copy(shared + ring.writing);
    ptx::cp_async_commit();
    multiply_stage<Large>(from_a + ring.reading, from_b + ring.reading, values, accumulators);
    loader.advance();
    ring.advance();
    ptx::cp_async_wait<Large::kStages - 2>();
    __syncthreads();  // the next stage is complete, and all have read this one
  }
  add_products(accumulators, values[1]);
  Corner const corner = tile.corner(0);
  write<true>(p, corner.row + position.row, corner.col + position.col, accumulators);
}

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  QUAD_LAUNCH(gemm_multistage_kernel, grid_of(p, Large::kBM, Large::kBN), dim3(kThreads),
              Large::kSharedBytes, stream, p);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const multistage{
    {.name = "multistage",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.shared_bytes = Large::kSharedBytes,
               .layouts = {Layout::nn},
               .row_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * 128},
     .source = "own",
     .summary = "ring of four stages filled by cp.async, thread tile 8 x 16"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.tile = Large::kExtents}}};

}  // namespace quadrille::kernels::gemm
