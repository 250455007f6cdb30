// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product on the FP32 cores that a producer warp feeds by tensor copies.
///
///   C = alpha A B + beta C
///
/// Technique    the tiles reach shared memory by tensor copies (TMA), which one thread of a
///              producer warpgroup starts: the warps that multiply spend no instruction on copies
///              and edges and wait for no block, only for the mbarrier of a stage. A keeps its
///              rows: boxes of 128 rows x 32 k, swizzled by 128 bytes, so that eight lanes that
///              read four k-iterations of eight rows at once access all banks. A thread reads its
///              rows of the next four k-iterations while it multiplies the last of these, row after
///              row, into the same registers. B has boxes of 32 k x 128 columns
/// Before       stream_k
/// Shapes       row-major, any extents; the copies fill edges with zeros
/// Work         2 m n k flop; traffic m n k (4 / 128 + 4 / 256) bytes through the L2 cache
/// Launch       384 threads, 193 KiB of shared memory, one block per multiprocessor. A quarter of a
///              multiprocessor has registers for three warps of 168 per thread: the producer leaves
///              all but 24 to the others, which get 240 (setmaxnreg)
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "common/ptx/bulk_copies.cuh"
#include "common/ptx/threads.cuh"
#include "gemm/cuda_cores/gemm_stream_k.cuh"
#include "gemm/hopper/gemm_stage_barriers.cuh"

#include <algorithm>

namespace quadrille::kernels::gemm {
namespace {

using namespace simt_tiles;

using BlockTile = Tile<2, 4>;

constexpr int kBlockThreads = kThreads + 128;
constexpr int kSide = 128;  // of a box, in rows of A and columns of B
constexpr int kBK = 32;
constexpr int kBox = kSide * kBK;
constexpr int kBoxes = 3;  // of a stage: one of A, two of B
constexpr int kStage = kBoxes * kBox;
constexpr int kStages = 4;
constexpr std::size_t kSharedBytes = kStages * (kStage * sizeof(float) + 2 * sizeof(std::uint64_t));

#ifdef QUAD_KERNELS

/// Starts the copies of all stages, each as soon as it is empty; one thread.
__device__ void produce(ptx::TensorMap const& a, ptx::TensorMap const& b, SplitRuns<BlockTile> runs,
                        float* stages, StageBarriers<kStages>& barriers) {
  PipelineState<kStages> state;
  Run run;
#pragma unroll 1
  while (runs.next(run)) {
    Corner const corner = runs.corner(run.tile);
#pragma unroll 1
    for (int t = run.first; t < run.first + run.count; ++t, state.advance()) {
      ptx::MBarrier* const full = barriers.producer_acquire(state, kStage * sizeof(float));
      float* const stage = stages + state.stage * kStage;
      ptx::tensor_load(stage, a, corner.row, t * kBK, full);
      ptx::tensor_load(stage + kBox, b, t * kBK, corner.col, full);
      ptx::tensor_load(stage + 2 * kBox, b, t * kBK, corner.col + kSide, full);
    }
  }
}

/// What a thread reads of A for four k-iterations: its rows are 8 apart. One of B for each.
struct Values {
  float a[kRows][4];
  float b[2][kCols];

  __device__ void read_row(float const* from, int i) {
    *reinterpret_cast<float4*>(a[i]) = *reinterpret_cast<float4 const*>(from + i * 8 * kBK);
  }
  __device__ void read_b(float const* from, int q) {
#pragma unroll
    for (int j = 0; j < kCols; j += 4) {
      *reinterpret_cast<float4*>(b[q % 2] + j) = *reinterpret_cast<float4 const*>(from + j * 4);
    }
  }
  /// The products of row i in k-iteration q, there and back.
  __device__ void add_products(float (&accumulators)[kRows][kCols], int i, int q) const {
#pragma unroll
    for (int jj = 0; jj < kCols; ++jj) {
      int const j = i % 2 == 0 ? jj : kCols - 1 - jj;
      accumulators[i][j] += a[i][q] * b[q % 2][j];
    }
  }
};

/// All k-iterations of a stage, each multiplied while the next is read; the first reads while the
/// last of the stage before is multiplied. `swizzle`: of this lane's rows, in floats.
__device__ __forceinline__ void multiply(float const* from_a, float const* from_b, int swizzle,
                                         Values& values, float (&accumulators)[kRows][kCols]) {
#pragma unroll 1
  for (int k = 0; k < kBK; k += 4) {
    float const* const rows = from_a + (k ^ swizzle);
    values.read_b(from_b, 0);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      values.add_products(accumulators, i, 3);
      values.read_row(rows, i);
    }
#pragma unroll
    for (int q = 0; q < 3; ++q) {
      values.read_b(from_b + (q + 1) * kSide, q + 1);
#pragma unroll
      for (int i = 0; i < kRows; ++i) values.add_products(accumulators, i, q);
    }
    from_b += 4 * kSide;
  }
}

__global__ void __launch_bounds__(kBlockThreads, 1)
    gemm_tma_producer_kernel(const __grid_constant__ ptx::TensorMap a,
                             const __grid_constant__ ptx::TensorMap b, Operands<float> p,
                             Plan plan) {
  QUAD_DYNAMIC_SHARED(float, stages);
  auto& barriers = *reinterpret_cast<StageBarriers<kStages>*>(stages + kStages * kStage);
  int const warp = static_cast<int>(threadIdx.x) / 32;
  int const lane = static_cast<int>(threadIdx.x) % 32;
  if (threadIdx.x == 0) barriers.init(1, kWarps);
  int const block = number_of_block(plan);
  SplitRuns<BlockTile> runs{plan, block};
  __syncthreads();  // the barriers are ready
  if (warp >= kWarps) {
    ptx::setmaxnreg_dec<24>();
    if (threadIdx.x == kThreads) produce(a, b, runs, stages, barriers);
    return;
  }
  ptx::setmaxnreg_inc<240>();

  int const lane_row = lane >> 2;
  int const lane_col = (lane & 3) * 4;
  int const row = warp / BlockTile::kWarpsN * kWarpTile;
  int const col = warp % BlockTile::kWarpsN * kWarpTile;
  float const* const my_a = stages + (row + lane_row) * kBK;
  float const* const my_b = stages + (1 + col / kSide) * kBox + col % kSide + lane_col;
  PipelineState<kStages> state;
  Run run;
#pragma unroll 1
  while (runs.next(run)) {
    float accumulators[kRows][kCols] = {};
    Values values = {};
#pragma unroll 1
    for (int t = 0; t < run.count; ++t) {
      ptx::mbarrier_wait(&barriers.full[state.stage], state.parity);
      int const at = state.stage * kStage;
      multiply(my_a + at, my_b + at, lane_row * 4, values, accumulators);
      __syncwarp();  // all lanes have read the stage
      if (lane == 0) ptx::mbarrier_arrive(&barriers.empty[state.stage]);
      state.advance();
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) values.add_products(accumulators, i, 3);

    if (run.first + run.count < plan.stages) {
      store_partials(plan, block, accumulators);
      continue;
    }
    if (run.first > 0) fix_up(plan, block, run.tile, accumulators);
    Corner const corner = runs.corner(run.tile);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      int const c_row = corner.row + row + lane_row + i * 8;
      if (c_row < p.m) {
#pragma unroll
        for (int j = 0; j < kCols; j += 4) {
          int const c_col = corner.col + col + lane_col + j * 4;
          if (c_col + 3 < p.n) {
            update_vector(p, c_row, c_col, accumulators[i] + j);
          } else {
#pragma unroll
            for (int e = 0; e < 3; ++e) {
              if (c_col + e < p.n) update(p, c_row, c_col + e, accumulators[i][j + e]);
            }
          }
        }
      }
    }
  }
}

ptx::TensorMap map_of(device::MatrixView const& x, int box_rows, int box_cols,
                      ptx::Swizzle swizzle) {
  return ptx::make_tensor_map_2d({.data = x.data,
                                  .type = core::DataType::f32,
                                  .rows = x.rows,
                                  .columns = x.cols,
                                  .leading = x.ld,
                                  .box_rows = static_cast<unsigned>(box_rows),
                                  .box_columns = static_cast<unsigned>(box_cols),
                                  .swizzle = swizzle});
}

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  int const multiprocessors = multiprocessors_of(problem, stream.facts());
  Plan plan = plan_of<BlockTile>(p);
  bool const is_split =
      plan.tiles % multiprocessors != 0 && split_tiles(plan, scratch_of(problem), multiprocessors);
  int const blocks = is_split ? multiprocessors : blocks_of(problem, plan.tiles, multiprocessors);
  // Without k-iterations nothing is loaded, and any matrix has a map.
  device::MatrixView const& a = p.k == 0 ? problem.c : problem.a;
  device::MatrixView const& b = p.k == 0 ? problem.c : problem.b;
  QUAD_LAUNCH(gemm_tma_producer_kernel, dim3(static_cast<unsigned>(blocks)), dim3(kBlockThreads),
              kSharedBytes, stream, map_of(a, kSide, kBK, ptx::Swizzle::bytes_128),
              map_of(b, kBK, kSide, ptx::Swizzle::none), p, plan);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const tma_producer{
    {.name = "tma_producer",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     // Half a tile each way, because places in the order of tiles go up to twice their number.
     .needs = {.compute_capability = 90,
               .shared_bytes = kSharedBytes,
               .layouts = {Layout::nn},
               .ld_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .tile = {64, 128}},
     .source = "own",
     .summary = "stream_k with tensor copies by a producer warp"},
    QUAD_KERNEL_LAUNCH(launch),
    {.scratch_bytes = simt_tiles::scratch_bytes, .notes = {.bounds_multiprocessors = true}}};

}  // namespace quadrille::kernels::gemm
