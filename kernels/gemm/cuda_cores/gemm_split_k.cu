// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with k split among blocks.
///
///   C = alpha A B + beta C
///
/// Technique    k is split. Where C has fewer tiles than the device has multiprocessors, most of
///              these idle in all other variants. Here several blocks share a tile of C: each
///              multiplies a slice of k and stores its partial tile in scratch memory; a second
///              kernel adds the partial tiles, in a fixed order, and updates C. Worth it, as cuBLAS
///              knows, where k is large and C is small
/// Before       warp_tile
/// Shapes       row-major; outside the matrices, tiles are zero
/// Work         2 m n k flop; traffic m n k / 64 elements and 2 slices m n for partial tiles
/// Launch       256 threads, 16 KiB of shared memory, slices along z; then 256 threads for 1024
///              elements of C each
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/cuda_cores/gemm_warp_tile.cuh"

#include <algorithm>

namespace quadrille::kernels::gemm {
namespace {

/// Slices into which k is split, so that all multiprocessors have work and a slice is worth a
/// block.
int slices_of(Problem const& p) {
  constexpr std::int64_t kTile = 128;
  // About two for a multiprocessor of a large GPU.
  constexpr std::int64_t kBlocks = 264;
  // k-iterations of a slice; with fewer, its start and end weigh too much.
  constexpr std::int64_t kMinIterations = 128;
  constexpr std::int64_t kMaxSlices = 64;
  std::int64_t const tiles =
      std::max<std::int64_t>(1, ((p.m() + kTile - 1) / kTile) * ((p.n() + kTile - 1) / kTile));
  return static_cast<int>(
      std::clamp<std::int64_t>(std::min(kBlocks / tiles, p.k() / kMinIterations), 1, kMaxSlices));
}

/// The partial tiles of all slices, after the counters that variants share.
std::size_t scratch_bytes(Problem const& p, device::Facts const& /*device*/) {
  return sizeof(float) * static_cast<std::size_t>(kScratchCounters + slices_of(p) * p.m() * p.n());
}

std::string implementation(Problem const& problem) {
  int const slices = slices_of(problem);
  return slices > 1 ? std::to_string(slices) + " slices of k"
                    : "k not split: C has tiles enough, or k is below 256";
}

#ifdef QUAD_KERNELS

using namespace warp_tiles;

__global__ void __launch_bounds__(kThreads)
    gemm_split_k_partial_kernel(Operands<float> p, float* partial, int slice_k) {
  QUAD_SHARED(Tiles, tiles);
  int const thread = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.y) * kBM;
  int const col = static_cast<int>(blockIdx.x) * kBN;
  int const slice = static_cast<int>(blockIdx.z);
  int const end = min(p.k, (slice + 1) * slice_k);
  Position const position;
  float accumulators[kRows][kCols] = {};
  for (int first = slice * slice_k; first < end; first += kBK) {
    Words<> words;
    words.load(p, row, col, first, thread);
    words.store(tiles, thread);
    __syncthreads();  // both tiles are complete
    multiply(tiles, position, accumulators);
    __syncthreads();  // all have read the tiles
  }
  p.c = partial + std::int64_t{slice} * p.m * p.n;
  p.ldc = p.n;
  p.alpha = 1;
  p.beta = 0;
  write(p, position, row, col, accumulators);
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

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  std::size_t const bytes = scratch_bytes(problem, stream.facts());
  QUAD_REQUIRE(problem.scratch != nullptr && problem.scratch_bytes >= bytes,
               "gemm/split_k: needs " + std::to_string(bytes) + " bytes of scratch memory");
  QUAD_REQUIRE(reinterpret_cast<std::uintptr_t>(problem.scratch) % 16 == 0,
               "gemm/split_k: scratch memory must be aligned to 16 bytes");
  if (p.m == 0 || p.n == 0) return;
  int const slices = slices_of(problem);
  float* const partial = static_cast<float*>(problem.scratch) + kScratchCounters;
  // Whole tiles for every slice, so that only the last one has an edge.
  int const slice_k = divide_up(divide_up(p.k, slices), kBK) * kBK;
  dim3 grid = grid_of(p, kBM, kBN);
  grid.z = static_cast<unsigned>(slices);
  QUAD_LAUNCH(gemm_split_k_partial_kernel, grid, dim3(kThreads), 0, stream, p, partial, slice_k);
  auto const blocks = (std::int64_t{p.m} * p.n / 4 + kThreads - 1) / kThreads;
  QUAD_LAUNCH(gemm_split_k_sum_kernel, dim3(static_cast<unsigned>(blocks)), dim3(kThreads), 0,
              stream, p, partial, slices);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const split_k{
    {.name = "split_k",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.layouts = {Layout::nn},
               .row_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * warp_tiles::kBM,
               .other = "scratch"},
     .source = "own",
     .summary = "k split among blocks, partial tiles in scratch"},
    QUAD_KERNEL_LAUNCH(launch),
    {.scratch_bytes = scratch_bytes, .implementation = implementation}};

}  // namespace quadrille::kernels::gemm
