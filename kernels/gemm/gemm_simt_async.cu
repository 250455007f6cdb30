// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product on the FP32 cores, with asynchronous copies and a thread tile of 8 x 16.
///
///   C = alpha A B + beta C
///
/// Technique    Each thread has 8 x 16 accumulators. In a k-iteration it reads 8 + 16 values from
///              shared memory in six 16-byte loads and issues 128 multiply-adds: the loads take at
///              most three quarters of the cycles that the multiply-adds take, where a thread tile
///              of 8 x 8 needs all of them. Four neighbouring lanes share their values of A, and
///              every fourth lane its values of B, so that a load of a warp touches few different
///              words. Values of the next k-iteration are read while this one multiplies. Tiles
///              reach a ring of kStages stages by cp.async, without registers, with a barrier once
///              in kBK k-iterations. A is copied word by word, which transposes it, whatever its
///              alignment. A block has 8 warps, each with a warp tile of 64 x 64. Blocks are
///              persistent: they copy the next tile while they write a tile. Tiles that would leave
///              a wave of blocks half empty are split along k, so that every block gets the same
///              number of stages (stream-k): blocks store their partials, and the block that has
///              the end of such a tile adds them in a fixed order (fix-up). Where C is small, warps
///              of a block share one tile and split k among them (slices), so the tile shrinks but
///              not the work per thread; `simt_async` picks what takes least time
/// Shapes       row-major, any extents and leading dimensions; edges are filled with zeros
/// Types        f32, accumulators f32
/// Work         2 m n k flop; traffic m n k (4 / BM + 4 / BN) bytes through the L2 cache
/// Constraints  A and B not transposed; extents below 2^31 - 1024; tiles are split only where there
///              is scratch of scratch_elements(), zero at first
/// Launch       256 threads, one block per multiprocessor, 128 accumulators and 48 values in
///              registers; tiles in groups of 8 rows so that blocks that run together share A and B
///              in L2. A block waits only for blocks that started before it
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
/// Source       own; stream-k after M. Osama et al., Stream-K: Work-centric Parallel Decomposition
///              for Dense Matrix-Matrix Multiplication on the GPU
#include "common/ptx/atomics.cuh"
#include "common/ptx/copies.cuh"
#include "gemm/gemm_cuda.cuh"

#include <algorithm>
#include <array>
#include <limits>

namespace quadrille::kernels::gemm {
namespace {

inline constexpr int kThreads = 256;
inline constexpr int kWarps = kThreads / 32;
inline constexpr int kWarpTile = 64;  // rows and columns of C of one warp
inline constexpr int kRows = 8;       // of one thread
inline constexpr int kCols = 16;

/// WarpsM x WarpsN warps side by side on C, the others share the k-iterations of a stage.
template <int WarpsM, int WarpsN>
struct Tile {
  static constexpr int kBM = WarpsM * kWarpTile;
  static constexpr int kBN = WarpsN * kWarpTile;
  static constexpr int kWarpsN = WarpsN;
  static constexpr int kTileWarps = WarpsM * WarpsN;
  static constexpr int kSlices = kWarps / kTileWarps;
  static constexpr int kWarpBK = kSlices == 1 ? 32 : 8;  // of one warp
  static constexpr int kBK = kWarpBK * kSlices;          // of a stage
  // Four words of padding put the 4 rows and 8 columns of a warp's copy of A in 32 different banks.
  static constexpr int kPitchA = kBM + 4;
  static constexpr int kPitchB = kBN;
  static constexpr int kStageA = kBK * kPitchA;
  static constexpr int kStage = kStageA + kBK * kPitchB;
  static constexpr int kStages = 4;
  static constexpr int kSharedFloats = kStages * kStage;
  static constexpr std::size_t kSharedBytes = kSharedFloats * sizeof(float);
  // What slices cost: more barriers and copies for as many multiply-adds.
  static constexpr double kRate = kSlices == 1   ? 1.00
                                  : kSlices == 2 ? 0.93
                                  : kSlices == 4 ? 0.92
                                                 : 0.76;
  static_assert(kSharedBytes <= 227 * 1024);
  static_assert((kSlices - 1) * kBM * kBN <= kSharedFloats, "partials of slices reuse the stages");
};

using Large = Tile<2, 4>;
using Medium = Tile<2, 2>;
using Small = Tile<1, 2>;
using Smallest = Tile<1, 1>;

/// Floats of scratch memory with which tiles can be split along k: the counters that variants
/// share, and a tile for each block.
constexpr std::int64_t scratch_elements(int multiprocessors) {
  return kScratchCounters + std::int64_t{multiprocessors} * Large::kBM * Large::kBN;
}

#ifdef QUAD_KERNELS

/// How the stages of a product are distributed over blocks. The first `split` tiles are distributed
/// by stages, of which all blocks get the same number of consecutive ones; the tiles after them are
/// distributed whole, cyclically.
struct Plan {
  int tiles_m, tiles_n;
  int stages;          ///< of a tile
  int tiles;           ///< of C
  int split;           ///< tiles; 0: every block has whole tiles
  float* partials;     ///< kBM x kBN for each block
  unsigned* is_ready;  ///< whether they are complete, for each block; 0 between launches
  unsigned* started;   ///< blocks that have started, while some have not; 0 between launches

  /// The first stage of this block, counted over all stages of the tiles that are split.
  __device__ int first_of(int block) const {
    return static_cast<int>(std::int64_t{block} * split * stages / static_cast<int>(gridDim.x));
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

/// Stages [first, first + count) of a tile.
struct Run {
  int tile, first, count;
};

/// The runs of this block. Of the tiles that it shares with others, it starts with the one whose
/// end another block has, and finishes with the one whose end it has itself: by then the others
/// have long stored their partials.
class Runs {
 public:
  __device__ Runs(Plan const& plan, int block)
      : begin_{plan.first_of(block)}, end_{plan.first_of(block + 1)}, whole_{plan.split + block} {}

  __device__ bool next(Plan const& plan, Run& run) {
    if (begin_ < end_) {
      int const tile = (end_ - 1) / plan.stages;
      int const from = max(begin_, tile * plan.stages);
      run = {tile, from - tile * plan.stages, end_ - from};
      end_ = from;
      return true;
    }
    if (whole_ >= plan.tiles) return false;
    run = {whole_, 0, plan.stages};
    whole_ += static_cast<int>(gridDim.x);
    return true;
  }

 private:
  int begin_, end_, whole_;
};

/// Where a tile lies in C: tiles go in bands of 8 rows, column by column.
template <class Tile>
struct Corner {
  int row, col;

  __device__ Corner(Plan const& plan, int tile) {
    constexpr int kBand = 8;
    int const band = tile / (kBand * plan.tiles_n);
    int const band_rows = min(kBand, plan.tiles_m - band * kBand);
    int const in_band = tile - band * kBand * plan.tiles_n;
    row = (band * kBand + in_band % band_rows) * Tile::kBM;
    col = in_band / band_rows * Tile::kBN;
  }
};

/// Copies stages of A and B, by all threads. Vectors: rows of B consist of whole 16 bytes.
template <class Tile, bool kVectors>
class Loader {
 public:
  __device__ Loader(Operands<float> const& p, Plan const& plan, int block)
      : p_{p},
        plan_{plan},
        runs_{plan, block},
        q_a_{thread() % 8},
        row_a_{thread() / 8},
        q_b_{thread() / kGroups},
        col_b_{thread() % kGroups * (kVectors ? 4 : 1)} {
    start_run();
  }

  /// Does nothing after the last stage.
  __device__ void copy(float* stage) {
    if (left_ == 0) return;
    if (is_inside_ && k_left_ >= Tile::kBK) {
      copy_stage<false>(stage);
    } else {
      copy_stage<true>(stage);
    }
  }

  /// Moves to the next stage. Apart from copy(): a pointer that changes right after the copy that
  /// takes it waits until the copy has read it.
  __device__ void advance() {
    if (left_ == 0) return;
    if (--left_ == 0) return start_run();
    a_ += Tile::kBK;
    b_ += Tile::kBK * p_.ldb;
    k_left_ -= Tile::kBK;
  }

 private:
  // A: 4 rows x 8 columns in a warp, so that its 32 words come from 4 sectors.
  static constexpr int kRowsAtOnceA = kThreads / 8;
  static constexpr int kCopiesA = Tile::kBM / kRowsAtOnceA;
  // B: a thread copies four words of a row, side by side in one copy or else kGroups apart.
  static constexpr int kGroups = Tile::kBN / 4;
  static constexpr int kRowsAtOnceB = kThreads / kGroups;
  static constexpr int kCopiesB = Tile::kBK / kRowsAtOnceB;
  static_assert(Tile::kBK % kRowsAtOnceB == 0);

  /// Guarded: words outside of the matrices are zero.
  template <bool kGuarded>
  __device__ void copy_stage(float* stage) {
    float* const to_a = stage + q_a_ * Tile::kPitchA + row_a_;
#pragma unroll
    for (int r = 0; r < kCopiesA; ++r) {
#pragma unroll
      for (int s = 0; s < Tile::kBK; s += 8) {
        ptx::cp_async<4>(to_a + s * Tile::kPitchA + r * kRowsAtOnceA,
                         a_ + r * kRowsAtOnceA * p_.lda + s,
                         !kGuarded || (r * kRowsAtOnceA < rows_left_ && q_a_ + s < k_left_));
      }
    }
    float* const to_b = stage + Tile::kStageA + q_b_ * Tile::kPitchB + col_b_;
#pragma unroll
    for (int s = 0; s < kCopiesB; ++s) {
      float* const to = to_b + s * kRowsAtOnceB * Tile::kPitchB;
      float const* const from = b_ + s * kRowsAtOnceB * p_.ldb;
      bool const in_k = !kGuarded || q_b_ + s * kRowsAtOnceB < k_left_;
      if constexpr (kVectors) {
        ptx::cp_async<16>(to, from, in_k && (!kGuarded || cols_left_ > 0));
      } else {
#pragma unroll
        for (int c = 0; c < Tile::kBN; c += kGroups) {
          ptx::cp_async<4>(to + c, from + c, in_k && (!kGuarded || c < cols_left_));
        }
      }
    }
  }

  __device__ static int thread() { return static_cast<int>(threadIdx.x); }

  __device__ void start_run() {
    Run run;
    left_ = 0;
    if (!runs_.next(plan_, run)) return;
    left_ = run.count;
    Corner<Tile> const corner{plan_, run.tile};
    int const k = run.first * Tile::kBK;
    is_inside_ = corner.row + Tile::kBM <= p_.m && corner.col + Tile::kBN <= p_.n;
    rows_left_ = p_.m - corner.row - row_a_;
    cols_left_ = p_.n - corner.col - col_b_;
    k_left_ = p_.k - k;
    a_ = p_.a + (corner.row + row_a_) * p_.lda + k + q_a_;
    b_ = p_.b + (k + q_b_) * p_.ldb + corner.col + col_b_;
  }

  Operands<float> const& p_;
  Plan const& plan_;
  Runs runs_;
  int q_a_, row_a_, q_b_, col_b_;
  int left_;  // stages of this run
  bool is_inside_;
  int rows_left_, cols_left_, k_left_;
  float const *a_, *b_;
};

/// What one thread reads for one k-iteration.
struct Values {
  float a[kRows];
  float b[kCols];

  __device__ void read(float const* from_a, float const* from_b) {
#pragma unroll
    for (int i = 0; i < kRows; i += 4) {
      *reinterpret_cast<float4*>(a + i) = *reinterpret_cast<float4 const*>(from_a + i * 8);
    }
#pragma unroll
    for (int j = 0; j < kCols; j += 4) {
      *reinterpret_cast<float4*>(b + j) = *reinterpret_cast<float4 const*>(from_b + j * 4);
    }
  }
};

/// Row by row there and back: each multiply-add shares a value with the one before.
__device__ inline void add_products(float (&accumulators)[kRows][kCols], Values const& values) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int jj = 0; jj < kCols; ++jj) {
      int const j = i % 2 == 0 ? jj : kCols - 1 - jj;
      accumulators[i][j] += values.a[i] * values.b[j];
    }
  }
}

/// Stores the partials of a slice in shared memory, four columns at once, one after the other for
/// all `threads` of the slice. In swapped pairs: words that are stored at once lie in registers
/// side by side, as do values of B that are read at once, and a multiply-add is slower if its
/// accumulator and its value of B are both in even registers or both in odd ones.
__device__ inline void store_slice(float* to, int threads,
                                   float const (&accumulators)[kRows][kCols]) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kCols; j += 4) {
      *reinterpret_cast<float4*>(to + (i * kCols + j) * threads) =
          float4{accumulators[i][j + 1], accumulators[i][j], accumulators[i][j + 3],
                 accumulators[i][j + 2]};
    }
  }
}

__device__ inline void add_slice(float const* from, int threads,
                                 float (&accumulators)[kRows][kCols]) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kCols; j += 4) {
      float4 const value = *reinterpret_cast<float4 const*>(from + (i * kCols + j) * threads);
      accumulators[i][j + 1] += value.x;
      accumulators[i][j] += value.y;
      accumulators[i][j + 3] += value.z;
      accumulators[i][j + 2] += value.w;
    }
  }
}

/// Stores the partials of this block's run for the block that has the end of the tile.
template <class Tile>
__device__ void store_partials(Plan const& plan, int block,
                               float const (&accumulators)[kRows][kCols]) {
  int const thread = static_cast<int>(threadIdx.x);
  // Word by word, which puts no constraint on the registers of the accumulators.
  float* const to = plan.partials + std::int64_t{block} * Tile::kBM * Tile::kBN + thread;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kCols; ++j) to[(i * kCols + j) * kThreads] = accumulators[i][j];
  }
  __syncthreads();  // all partials are written
  if (thread == 0) ptx::store_release_gpu(plan.is_ready + block, 1U);
}

/// Adds the partials of the blocks that have the stages of the tile before this one's.
template <class Tile>
__device__ void fix_up(Plan const& plan, int block, int tile, float (&accumulators)[kRows][kCols]) {
  int const thread = static_cast<int>(threadIdx.x);
  int other = block;
  do {
    --other;
    if (thread == 0) {
      while (ptx::load_acquire_gpu(plan.is_ready + other) == 0) {
      }
    }
    __syncthreads();  // the partials are there
    float const* const from = plan.partials + std::int64_t{other} * Tile::kBM * Tile::kBN + thread;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kCols; ++j) accumulators[i][j] += from[(i * kCols + j) * kThreads];
    }
    __syncthreads();  // all have read them
    if (thread == 0) ptx::store_relaxed_gpu(plan.is_ready + other, 0U);
  } while (plan.first_of(other) > tile * plan.stages);
}

template <class Tile, bool kVectors>
__global__ void __launch_bounds__(kThreads, 1)
    gemm_simt_async_kernel(Operands<float> p, Plan plan) {
  QUAD_DYNAMIC_SHARED(float, shared);
  int const warp = static_cast<int>(threadIdx.x) / 32;
  int const lane = static_cast<int>(threadIdx.x) % 32;
  int const slice = warp / Tile::kTileWarps;
  int const warp_row = warp % Tile::kTileWarps / Tile::kWarpsN * kWarpTile;
  int const warp_col = warp % Tile::kWarpsN * kWarpTile;
  // 8 groups of rows by 4 groups of columns.
  int const lane_row = lane >> 2;
  int const lane_col = lane & 3;

  int const block = number_of_block(plan);
  Loader<Tile, kVectors> loader{p, plan, block};
#pragma unroll 1
  for (int t = 0; t < Tile::kStages - 1; ++t) {
    loader.copy(shared + t * Tile::kStage);
    ptx::cp_async_commit();  // also an empty one, so that a wait counts stages
    loader.advance();
  }

  float const* const my_a =
      shared + slice * Tile::kWarpBK * Tile::kPitchA + warp_row + lane_row * 4;
  float const* const my_b =
      shared + Tile::kStageA + slice * Tile::kWarpBK * Tile::kPitchB + warp_col + lane_col * 4;
  int read_at = 0;                                    // offset of the stage that is multiplied
  int write_at = (Tile::kStages - 1) * Tile::kStage;  // and of the one that is filled

  ptx::cp_async_wait<Tile::kStages - 2>();
  __syncthreads();  // the copies of all threads have arrived

  Runs runs{plan, block};
  Run run;
#pragma unroll 1
  while (runs.next(plan, run)) {
    float accumulators[kRows][kCols] = {};
    Values values[2] = {};
    // Each k-iteration reads its values, then multiplies those of the iteration before, also across
    // stages: so the first values of a stage are read while there is work.
#pragma unroll 1
    for (int t = 0; t < run.count; ++t) {
      loader.copy(shared + write_at);
      ptx::cp_async_commit();
      float const* from_a = my_a + read_at;
      float const* from_b = my_b + read_at;
      // Unrolled no further: in a short loop without anything else the compiler keeps reads well
      // ahead of their use and registers of a multiply-add in different banks.
#pragma unroll 1
      for (int s = 0; s < Tile::kWarpBK; s += 2) {
        values[0].read(from_a, from_b);
        add_products(accumulators, values[1]);
        values[1].read(from_a + Tile::kPitchA, from_b + Tile::kPitchB);
        add_products(accumulators, values[0]);
        from_a += 2 * Tile::kPitchA;
        from_b += 2 * Tile::kPitchB;
      }
      loader.advance();
      write_at = read_at;
      read_at = read_at == (Tile::kStages - 1) * Tile::kStage ? 0 : read_at + Tile::kStage;
      ptx::cp_async_wait<Tile::kStages - 2>();
      __syncthreads();  // the next stage is complete, and all have read this one
    }
    add_products(accumulators, values[1]);

    if constexpr (Tile::kSlices > 1) {
      // Slices are added in shared memory; blocks of slices have one run, so the stages are free.
      __syncthreads();  // the last values have been read
      constexpr int kTileThreads = Tile::kTileWarps * 32;
      int const thread = static_cast<int>(threadIdx.x) % kTileThreads;
      constexpr int kTileSize = Tile::kBM * Tile::kBN;
      if (slice > 0) {
        store_slice(shared + (slice - 1) * kTileSize + thread * 4, kTileThreads, accumulators);
      }
      __syncthreads();  // all partials have arrived
      if (slice > 0) return;
#pragma unroll 1
      for (int other = 0; other < Tile::kSlices - 1; ++other) {
        add_slice(shared + other * kTileSize + thread * 4, kTileThreads, accumulators);
      }
    } else {
      if (run.first + run.count < plan.stages) {
        store_partials<Tile>(plan, block, accumulators);
        continue;
      }
      if (run.first > 0) fix_up<Tile>(plan, block, run.tile, accumulators);
    }

    Corner<Tile> const corner{plan, run.tile};
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      int const c_row = corner.row + warp_row + i / 4 * 32 + lane_row * 4 + i % 4;
      if (c_row < p.m) {
#pragma unroll
        for (int j = 0; j < kCols; j += 4) {
          int const c_col = corner.col + warp_col + j * 4 + lane_col * 4;
          if constexpr (kVectors) {
            if (c_col < p.n) update_vector(p, c_row, c_col, accumulators[i] + j);
          } else {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
              if (c_col + e < p.n) update(p, c_row, c_col + e, accumulators[i][j + e]);
            }
          }
        }
      }
    }
  }
}

/// What a product costs with a kind of tile, and how.
struct Choice {
  double time;  ///< in k-iterations of a warp tile on one multiprocessor
  Plan plan;
  void (*enqueue)(Operands<float> const&, Plan const&, int multiprocessors, device::StreamView);
};

template <class Tile>
void enqueue(Operands<float> const& p, Plan const& plan, int multiprocessors,
             device::StreamView stream) {
  auto const aligned = [](float const* x) { return reinterpret_cast<std::uintptr_t>(x) % 16 == 0; };
  bool const vectors =
      p.n % 4 == 0 && p.ldb % 4 == 0 && p.ldc % 4 == 0 && aligned(p.b) && aligned(p.c);
  int const blocks = Tile::kSlices > 1 ? plan.tiles
                     : plan.split > 0  ? multiprocessors
                                       : std::min(plan.tiles, multiprocessors);
  dim3 const grid(static_cast<unsigned>(blocks));
  if (vectors) {
    QUAD_LAUNCH((gemm_simt_async_kernel<Tile, true>), grid, dim3(kThreads), Tile::kSharedBytes,
                stream, p, plan);
  } else {
    QUAD_LAUNCH((gemm_simt_async_kernel<Tile, false>), grid, dim3(kThreads), Tile::kSharedBytes,
                stream, p, plan);
  }
}

/// The best plan for this tile.
template <class Tile>
Choice choice_of(Operands<float> const& p, device::Span<float> scratch, int multiprocessors) {
  // In k-iterations: filling the ring and writing C; partials through the L2 cache.
  constexpr double kStart = 64;
  constexpr double kFixUp = 48;
  Choice choice{};
  choice.enqueue = enqueue<Tile>;
  Plan& plan = choice.plan;
  plan.tiles_m = divide_up(p.m, Tile::kBM);
  plan.tiles_n = divide_up(p.n, Tile::kBN);
  plan.stages = divide_up(p.k, Tile::kBK);
  auto const tiles = std::int64_t{plan.tiles_m} * plan.tiles_n;
  plan.tiles = static_cast<int>(tiles);
  auto const time = [&](double stages) {
    return Tile::kTileWarps * (stages * Tile::kBK + kStart) / Tile::kRate;
  };
  choice.time =
      time(static_cast<double>((tiles + multiprocessors - 1) / multiprocessors) * plan.stages);

  // All whole waves but one stay as they are: blocks at the same stage share A and B in L2.
  std::int64_t const split =
      tiles % multiprocessors + (tiles > multiprocessors ? multiprocessors : 0);
  double const split_time =
      time(static_cast<double>(tiles) * plan.stages / multiprocessors) + kFixUp * 8;
  bool const possible =
      Tile::kSlices == 1 && split * plan.stages <= std::numeric_limits<int>::max() &&
      split * plan.stages >= multiprocessors && multiprocessors < kScratchCounters &&
      scratch.size >= scratch_elements(multiprocessors);
  if (possible && split_time < choice.time) {
    choice.time = split_time;
    plan.split = static_cast<int>(split);
    plan.is_ready = reinterpret_cast<unsigned*>(scratch.data);
    plan.started = plan.is_ready + multiprocessors;
    plan.partials = scratch.data + kScratchCounters;
  }
  return choice;
}

/// Runs the quickest of the tiles.
template <class... Tiles>
void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  int const multiprocessors = stream.facts().multiprocessors;
  device::Span<float> const scratch{static_cast<float*>(problem.scratch),
                                    static_cast<std::int64_t>(problem.scratch_bytes / 4)};
  std::array const choices{choice_of<Tiles>(p, scratch, multiprocessors)...};
  Choice const& best = *std::min_element(
      choices.begin(), choices.end(), [](auto const& x, auto const& y) { return x.time < y.time; });
  best.enqueue(p, best.plan, multiprocessors, stream);
}

#endif  // QUAD_KERNELS

std::size_t scratch_bytes(Problem const&, device::Facts const& device) {
  return sizeof(float) * static_cast<std::size_t>(scratch_elements(device.multiprocessors));
}

constexpr VariantInfo row(std::string_view name, int preference, std::string_view summary) {
  return {.name = name,
          .where = Where::cuda,
          .types = {core::DataType::f32},
          // Half a tile each way, because places in the order of tiles go up to twice their number.
          .needs = {.layouts = {Layout::nn}, .most_extent = kMostCudaExtent, .tile = {32, 32}},
          .preference = preference,
          .source = "own",
          .summary = summary};
}

}  // namespace

extern constinit Variant<Problem> const simt_async{
    row("simt_async", 30, "ring of asynchronous copies, thread tile 8 x 16, chosen tiles"),
    QUAD_KERNEL_LAUNCH(launch<Large, Medium, Small, Smallest>),
    {.scratch_bytes = scratch_bytes}};

extern constinit Variant<Problem> const simt_async_128x256{
    row("simt_async_128x256", 0, "simt_async with tiles of 128 x 256"),
    QUAD_KERNEL_LAUNCH(launch<Large>),
    {.scratch_bytes = scratch_bytes}};

extern constinit Variant<Problem> const simt_async_128x128{
    row("simt_async_128x128", 0, "simt_async with tiles of 128 x 128"),
    QUAD_KERNEL_LAUNCH(launch<Medium>),
    {.scratch_bytes = scratch_bytes}};

extern constinit Variant<Problem> const simt_async_64x128{
    row("simt_async_64x128", 0, "simt_async with tiles of 64 x 128"),
    QUAD_KERNEL_LAUNCH(launch<Small>),
    {.scratch_bytes = scratch_bytes}};

extern constinit Variant<Problem> const simt_async_64x64{
    row("simt_async_64x64", 0, "simt_async with tiles of 64 x 64"),
    QUAD_KERNEL_LAUNCH(launch<Smallest>),
    {.scratch_bytes = scratch_bytes}};

}  // namespace quadrille::kernels::gemm
