// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with k split among blocks.
///
///   C = alpha A B + beta C
///
/// Technique    where C has fewer tiles than the device has multiprocessors, most of these idle in
///              all other variants. Here several blocks share a tile of C: each sums a slice of k
///              and writes its partial tile to scratch memory; a second kernel adds the slices, in
///              a fixed order, and updates C. Worth it where k is large and C is small
/// Shapes       row-major; outside the matrices, tiles are zero
/// Types        f32, sums in f32
/// Work         2 m n k flop; traffic m n k / 64 elements and 2 slices m n for partial sums
/// Constraints  k, n and leading dimensions multiples of 4; A, B and C aligned to 16 bytes; A and B
///              not transposed; extents below 2^31 - 1024; scratch of split_k_scratch() elements
/// Launch       256 threads, 16 KiB of shared memory, slices along z; then 256 threads for 1024
///              elements of C each
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
/// Source       own, after what cuBLAS does for small matrices
#include "gemm/gemm_warp_tile.cuh"

#include <algorithm>

namespace quadrille::kernels::gemm {
namespace {

using namespace warp_tile;

__global__ void __launch_bounds__(kThreads)
    gemm_split_k_partial_kernel(Operands<float> p, float* partial, int steps) {
  QUAD_SHARED(Tiles, tiles);
  int const thread = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) * kM;
  int const col = static_cast<int>(blockIdx.x) * kN;
  int const slice = static_cast<int>(blockIdx.z);
  int const end = min(p.k, (slice + 1) * steps);
  Place const place;
  float sum[kRows][kCols] = {};
  for (int first = slice * steps; first < end; first += kDepth) {
    Words<> words;
    words.load(p, row, col, first, thread);
    words.store(tiles, thread);
    __syncthreads();  // both tiles are complete
    multiply(tiles, place, sum);
    __syncthreads();  // all have read the tiles
  }
  p.c = partial + std::int64_t{slice} * p.m * p.n;
  p.ldc = p.n;
  p.alpha = 1;
  p.beta = 0;
  write(p, place, row, col, sum);
}

__global__ void __launch_bounds__(kThreads)
    gemm_split_k_sum_kernel(Operands<float> p, float const* partial, int slices) {
  std::int64_t const elements = std::int64_t{p.m} * p.n;
  std::int64_t const e = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * 4;
  if (e >= elements) return;
  float sum[4] = {};
  for (int slice = 0; slice < slices; ++slice) {
    float4 const value = *reinterpret_cast<float4 const*>(partial + slice * elements + e);
    sum[0] += value.x;
    sum[1] += value.y;
    sum[2] += value.z;
    sum[3] += value.w;
  }
  update_vector(p, static_cast<int>(e / p.n), static_cast<int>(e % p.n), sum);
}

}  // namespace

void launch_split_k(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem, "split_k");
  require_vectors(p, "split_k", "simt_async");
  int const units = stream.device().facts().units;
  auto const needed = split_k_scratch(p.m, p.n, p.k, units);
  QUAD_REQUIRE(problem.scratch.size >= needed && problem.scratch.data != nullptr,
               "gemm/split_k: needs " + std::to_string(needed) +
                   " elements of scratch memory; use variant 'warp_tile'");
  QUAD_REQUIRE(reinterpret_cast<std::uintptr_t>(problem.scratch.data) % 16 == 0,
               "gemm/split_k: scratch memory must be aligned to 16 bytes");
  if (p.m == 0 || p.n == 0) return;
  int const slices = split_k_slices(p.m, p.n, p.k, units);
  float* const partial = problem.scratch.data + kScratchCounters;
  // Whole tiles for every slice, so that only the last one has an edge.
  int const steps = divide_up(divide_up(p.k, slices), kDepth) * kDepth;
  dim3 grid = grid_of(p, kM, kN, "split_k");
  grid.z = static_cast<unsigned>(slices);
  QUAD_LAUNCH(gemm_split_k_partial_kernel, grid, dim3(kThreads), 0, stream, p, partial, steps);
  auto const blocks = (std::int64_t{p.m} * p.n / 4 + kThreads - 1) / kThreads;
  QUAD_LAUNCH(gemm_split_k_sum_kernel, dim3(static_cast<unsigned>(blocks)), dim3(kThreads), 0,
              stream, p, partial, slices);
}

}  // namespace quadrille::kernels::gemm
