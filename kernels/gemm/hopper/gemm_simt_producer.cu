// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product on the FP32 cores with a producer warpgroup that copies, whatever the alignment.
///
///   C = alpha A B + beta C
///
/// Technique    a third warpgroup does all copies by cp.async, which transpose A: the warps that
///              multiply spend no instruction on copies and edges, and wait for the mbarrier of a
///              stage instead of for all others. Unlike `tma_producer` it takes rows that are not
///              aligned, whose words are copied one by one, where copies by the warps that multiply
///              cost most
/// Before       stream_k
/// Shapes       row-major, any extents and leading dimensions; edges are filled with zeros
/// Work         2 m n k flop; traffic m n k (4 / 128 + 4 / 256) bytes through the L2 cache
/// Launch       384 threads, 194 KiB of shared memory, one block per multiprocessor. A quarter of a
///              multiprocessor has registers for three warps of 168 per thread: the producers leave
///              all but 72 to the others, which get 216 (setmaxnreg)
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "common/ptx/threads.cuh"
#include "gemm/cuda_cores/gemm_stream_k.cuh"
#include "gemm/hopper/gemm_stage_barriers.cuh"

#include <algorithm>

namespace quadrille::kernels::gemm {
namespace {

using namespace simt_tiles;

using BlockTile = Tile<2, 4>;
constexpr int kProducers = 128;

#ifdef QUAD_KERNELS

using Barriers = StageBarriers<BlockTile::kStages>;
constexpr std::size_t kSharedBytes = BlockTile::kSharedBytes + sizeof(Barriers);

template <bool kVectors>
__device__ void produce(Operands<float> const& p, SplitRuns<BlockTile> const& runs, float* stages,
                        Barriers& barriers) {
  // Stages on their way at a time; fewer than the ring has, or all would wait for all.
  constexpr int kAhead = 2;
  Loader<BlockTile, kVectors, SplitRuns<BlockTile>, kProducers> loader{p, runs};
  PipelineState<BlockTile::kStages> filled, arrived;
  int ahead = 0;
#pragma unroll 1
  for (; !loader.is_done(); filled.advance()) {
    ptx::mbarrier_wait(&barriers.empty[filled.stage], filled.parity ^ 1U);
    loader.copy(stages + filled.stage * BlockTile::kStage);
    ptx::cp_async_commit();
    loader.advance();
    if (++ahead > kAhead) {
      --ahead;
      ptx::cp_async_wait<kAhead>();
      ptx::mbarrier_arrive(&barriers.full[arrived.stage]);
      arrived.advance();
    }
  }
  ptx::cp_async_wait_all();
  for (; ahead > 0; --ahead, arrived.advance()) {
    ptx::mbarrier_arrive(&barriers.full[arrived.stage]);
  }
}

template <bool kVectors>
__global__ void __launch_bounds__(kThreads + kProducers, 1)
    gemm_simt_producer_kernel(Operands<float> p, Plan plan) {
  QUAD_DYNAMIC_SHARED(float, stages);
  auto& barriers = *reinterpret_cast<Barriers*>(stages + BlockTile::kSharedFloats);
  if (threadIdx.x == 0) barriers.init(kProducers, kWarps);
  int const block = number_of_block(plan);
  SplitRuns<BlockTile> runs{plan, block};
  __syncthreads();  // the barriers are ready
  if (threadIdx.x >= kThreads) {
    ptx::setmaxnreg_dec<72>();
    produce<kVectors>(p, runs, stages, barriers);
    return;
  }
  ptx::setmaxnreg_inc<216>();

  Position const position{static_cast<int>(threadIdx.x) / 32, BlockTile::kWarpsN};
  float const* const my_a = stages + position.row;
  float const* const my_b = stages + BlockTile::kStageA + position.col;
  PipelineState<BlockTile::kStages> state;
  Run run;
#pragma unroll 1
  while (runs.next(run)) {
    float accumulators[kRows][kCols] = {};
    Values values[2] = {};
#pragma unroll 1
    for (int t = 0; t < run.count; ++t, state.advance()) {
      ptx::mbarrier_wait(&barriers.full[state.stage], state.parity);
      int const at = state.stage * BlockTile::kStage;
      multiply_stage<BlockTile>(my_a + at, my_b + at, values, accumulators);
      __syncwarp();  // all lanes have read the stage
      if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&barriers.empty[state.stage]);
    }
    add_products(accumulators, values[1]);

    if (run.first + run.count < plan.stages) {
      store_partials(plan, block, accumulators);
      continue;
    }
    if (run.first > 0) fix_up(plan, block, run.tile, accumulators);
    Corner const corner = runs.corner(run.tile);
    write<kVectors>(p, corner.row + position.row, corner.col + position.col, accumulators);
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  int const multiprocessors = multiprocessors_of(problem, stream.facts());
  Plan plan = plan_of<BlockTile>(p);
  bool const is_split =
      plan.tiles % multiprocessors != 0 && split_tiles(plan, scratch_of(problem), multiprocessors);
  int const blocks = is_split ? multiprocessors : blocks_of(problem, plan.tiles, multiprocessors);
  auto const kernel =
      takes_vectors(p) ? gemm_simt_producer_kernel<true> : gemm_simt_producer_kernel<false>;
  QUAD_LAUNCH(kernel, dim3(static_cast<unsigned>(blocks)), dim3(kThreads + kProducers),
              kSharedBytes, stream, p, plan);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const simt_producer{
    {.name = "simt_producer",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     // Half a tile each way, because places in the order of tiles go up to twice their number.
     .needs = {.compute_capability = 90,
               .shared_bytes = BlockTile::kSharedBytes,
               .layouts = {Layout::nn},
               .max_extent = kMaxCudaExtent,
               .tile = {64, 128}},
     .preference = 40,
     .source = "own",
     .summary = "stream_k with a producer warpgroup that copies by cp.async"},
    QUAD_KERNEL_LAUNCH(launch),
    {.scratch_bytes = simt_tiles::scratch_bytes, .notes = {.bounds_multiprocessors = true}}};

}  // namespace quadrille::kernels::gemm
