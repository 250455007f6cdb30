// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/ptx/atomics.cuh"
#include "common/ptx/barriers.cuh"
#include "gemm/cuda_cores/gemm_async_ring.cuh"
#include "gemm/hopper/gemm_stage_barriers.cuh"

#include <algorithm>
#include <limits>

/// Stream-k: tiles that are split along k so that every block gets the same number of stages.
namespace quadrille::kernels::gemm::simt_tiles {

/// Of a block.
inline constexpr std::int64_t kPartials = std::int64_t{kThreads} * kRows * kCols;

/// Floats of scratch memory with which tiles can be split along k: the counters that variants
/// share, and a tile for each block.
constexpr std::int64_t scratch_elements(int multiprocessors) {
  return kScratchCounters + multiprocessors * kPartials;
}
inline std::size_t scratch_bytes(Problem const&, device::Facts const& device) {
  return sizeof(float) * static_cast<std::size_t>(scratch_elements(device.multiprocessors));
}

#ifdef QUAD_KERNELS

/// How the stages of a product are distributed over blocks. The first `split` tiles are distributed
/// by stages, of which all blocks get the same number of consecutive ones, the first blocks one more
/// where they do not come out even; the tiles after them are distributed whole, cyclically.
struct Plan {
  int tiles_m, tiles_n;
  int stages;          ///< of a tile
  int tiles;           ///< of C
  int split;           ///< tiles; 0: every block has whole tiles
  float* partials;     ///< kThreads x kRows x kCols for each block
  unsigned* is_ready;  ///< whether they are complete, for each block; 0 between launches
  unsigned* started;   ///< blocks that have started, while some have not; 0 between launches
  int cluster = 1;     ///< blocks that take their work together, as one

  __device__ int blocks() const { return static_cast<int>(gridDim.x) / cluster; }
  /// The first stage of this block, counted over all stages of the tiles that are split.
  __device__ int first_of(int block) const {
    int const all = split * stages;
    int const blocks = this->blocks();
    return all / blocks * block + min(block, all % blocks);
  }
};

/// The number by which a block takes its work. Where it waits for blocks with smaller ones, the
/// order in which blocks start, whatever that is: those that it waits for run or have finished.
__device__ inline int number_of_block(Plan const& plan) {
  if (plan.split == 0) return static_cast<int>(blockIdx.x);
  QUAD_SHARED(unsigned, number);
  if (threadIdx.x == 0) {
    number = ptx::atomic_add_relaxed_gpu(plan.started, 1U);
    if (number == gridDim.x - 1) ptx::store_relaxed_gpu(plan.started, 0U);
  }
  __syncthreads();  // number is written
  return static_cast<int>(number);
}

/// The runs of this block. Of the tiles that it shares with others, it starts with the one whose
/// end another block has, and finishes with the one whose end it has itself: by then the others
/// have long stored their partials.
template <class Tile>
class SplitRuns {
 public:
  __device__ SplitRuns(Plan const& plan, int block)
      : plan_{plan},
        begin_{plan.first_of(block)},
        end_{plan.first_of(block + 1)},
        whole_{plan.split + block} {}

  __device__ Corner corner(int tile) const {
    return corner_in_bands<Tile>(plan_.tiles_m, plan_.tiles_n, tile);
  }

  __device__ bool next(Run& run) {
    if (begin_ < end_) {
      int const tile = (end_ - 1) / plan_.stages;
      int const from = max(begin_, tile * plan_.stages);
      run = {tile, from - tile * plan_.stages, end_ - from};
      end_ = from;
      return true;
    }
    if (whole_ >= plan_.tiles) return false;
    run = {whole_, 0, plan_.stages};
    whole_ += plan_.blocks();
    return true;
  }

 private:
  Plan const& plan_;
  int begin_, end_, whole_;
};

/// Stores the partials of this block's run for the block that has the end of the tile.
__device__ __forceinline__ void store_partials(Plan const& plan, int block,
                                               float const (&accumulators)[kRows][kCols]) {
  int const thread = static_cast<int>(threadIdx.x);
  // Word by word, which puts no constraint on the registers of the accumulators.
  float* const to = plan.partials + block * kPartials + thread;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kCols; ++j) to[(i * kCols + j) * kThreads] = accumulators[i][j];
  }
  ptx::bar_sync(1, kThreads);  // all partials are written
  if (thread == 0) ptx::store_release_gpu(plan.is_ready + block, 1U);
}

/// Adds the partials of the blocks that have the stages of the tile before this one's.
__device__ __forceinline__ void fix_up(Plan const& plan, int block, int tile,
                                       float (&accumulators)[kRows][kCols]) {
  int const thread = static_cast<int>(threadIdx.x);
  int other = block;
  do {
    --other;
    if (thread == 0) {
      while (ptx::load_acquire_gpu(plan.is_ready + other) == 0) {
      }
    }
    ptx::bar_sync(1, kThreads);  // the partials are there
    float const* const from = plan.partials + other * kPartials + thread;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kCols; ++j) accumulators[i][j] += from[(i * kCols + j) * kThreads];
    }
    ptx::bar_sync(1, kThreads);  // all have read them
    if (thread == 0) ptx::store_relaxed_gpu(plan.is_ready + other, 0U);
  } while (plan.first_of(other) > tile * plan.stages);
}

/// Whole tiles.
template <class Tile>
Plan plan_of(Operands<float> const& p) {
  Plan plan{};
  plan.tiles_m = divide_up(p.m, Tile::kBM);
  plan.tiles_n = divide_up(p.n, Tile::kBN);
  plan.tiles = plan.tiles_m * plan.tiles_n;
  plan.stages = divide_up(p.k, Tile::kBK);
  return plan;
}

/// Whether `split` tiles can be split, and then the plan's split.
inline bool split_tiles(Plan& plan, int split, device::Span<float> scratch, int multiprocessors) {
  std::int64_t const stages = std::int64_t{split} * plan.stages;
  if (stages > std::numeric_limits<int>::max() || stages < multiprocessors ||
      multiprocessors >= kScratchCounters || scratch.size < scratch_elements(multiprocessors)) {
    return false;
  }
  plan.split = split;
  plan.is_ready = reinterpret_cast<unsigned*>(scratch.data);
  plan.started = plan.is_ready + multiprocessors;
  plan.partials = scratch.data + kScratchCounters;
  return true;
}

/// Of more tiles than blocks, all whole waves but one stay as they are, because blocks at the same
/// stage share A and B in L2.
inline bool split_tiles(Plan& plan, device::Span<float> scratch, int multiprocessors) {
  int const split =
      plan.tiles % multiprocessors + (plan.tiles > multiprocessors ? multiprocessors : 0);
  return split_tiles(plan, split, scratch, multiprocessors);
}

/// Splits tiles along k where that takes less time than a last wave that is not full: those of that
/// wave alone, among many units each where they are few, or with another wave, which then share less of
/// A and B in L2. A unit is a block, or a cluster of them. `store`, `add`: of partials of a unit
/// through the L2 cache, there and back. Times are in stages, as is the returned one, of the plan.
inline double split_where_quicker(Plan& plan, device::Span<float> scratch, int multiprocessors,
                                  double store, double add) {
  int const units = multiprocessors / plan.cluster;
  int const waves = plan.tiles / units, rest = plan.tiles % units;
  double time = static_cast<double>(waves + (rest > 0 ? 1 : 0)) * plan.stages;
  for (int wave = 0; rest > 0 && wave <= std::min(waves, 1); ++wave) {
    int const split = rest + wave * units;
    double const units_of_a_tile = static_cast<double>(units) / split;
    double const split_time =
        (waves - wave + 1 / units_of_a_tile) * plan.stages + store + add * (units_of_a_tile + 1);
    if (split_time < time && split_tiles(plan, split, scratch, multiprocessors)) time = split_time;
  }
  return time;
}

/// For tiles that are split; none where blocks are to end soon, or some would wait for others.
inline device::Span<float> scratch_of(Problem const& problem) {
  if (problem.yields) return {};
  return {static_cast<float*>(problem.scratch),
          static_cast<std::int64_t>(problem.scratch_bytes / sizeof(float))};
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm::simt_tiles
