// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product on the FP32 units, with asynchronous copies and 128 sums per thread.
///
///   C = alpha A B + beta C
///
/// Technique    Each thread keeps 8 x 16 sums. For one step of k it reads 8 + 16 values from shared
///              memory in six 16-byte loads and issues 128 multiply-adds: the loads take at most
///              three quarters of the cycles that the multiply-adds take, where 8 x 8 sums need all
///              of them. Four neighbouring lanes share their values of A, and every fourth lane
///              its values of B, so that a load of a warp touches few different words.
///              Values of the next step are read while this step multiplies. Tiles reach a ring of
///              kStages stages by cp.async, without registers and a barrier once in kDepth steps.
///              A is copied word by word, which transposes it on the way, whatever its alignment.
///              A block has 8 warps of 64 x 64 sums each. Blocks are persistent: copies of the next
///              tile are under way while a tile is written. Tiles that would leave a wave of blocks
///              half empty are cut along k, so that every block gets the same number of stages
///              (stream-k); who has the end of such a tile adds the partial sums of the others, in
///              a fixed order. Where C is small, warps of a block share one tile and split k among
///              them (slices), so the tile shrinks but not the work per thread; `simt_async` picks
///              what takes least time
/// Shapes       row-major, any extents and leading dimensions; edges are filled with zeros
/// Types        f32, sums in f32
/// Work         2 m n k flop; traffic m n k (4 / BM + 4 / BN) bytes through the L2 cache
/// Constraints  A and B not transposed; extents below 2^31 - 1024; tiles are cut only where there
///              is scratch of scratch_elements(), zero at first
/// Launch       256 threads, one block per multiprocessor, 128 sums and 48 values in registers;
///              tiles in groups of 8 rows so that blocks that run together share A and B in L2. A
///              block waits only for blocks before it, which the device starts first
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

/// WarpsM x WarpsN warps side by side on C, the others share the steps of a stage.
template <int WarpsM, int WarpsN>
struct Tile {
  static constexpr int kM = WarpsM * kWarpTile;
  static constexpr int kN = WarpsN * kWarpTile;
  static constexpr int kWarpsN = WarpsN;
  static constexpr int kTileWarps = WarpsM * WarpsN;
  static constexpr int kSlices = kWarps / kTileWarps;
  static constexpr int kSteps = kSlices == 1 ? 32 : 8;  // of one warp in a stage
  static constexpr int kDepth = kSteps * kSlices;       // of a stage
  // Four words of padding put 4 rows and 8 steps of a warp's copy in 32 different banks.
  static constexpr int kPitchA = kM + 4;
  static constexpr int kPitchB = kN;
  static constexpr int kStageA = kDepth * kPitchA;
  static constexpr int kStage = kStageA + kDepth * kPitchB;
  static constexpr int kStages = 4;
  static constexpr int kSharedFloats = kStages * kStage;
  static constexpr std::size_t kSharedBytes = kSharedFloats * sizeof(float);
  // What slices cost: more barriers and copies for as many multiply-adds.
  static constexpr double kRate = kSlices == 1   ? 1.00
                                  : kSlices == 2 ? 0.93
                                  : kSlices == 4 ? 0.92
                                                 : 0.76;
  static_assert(kSharedBytes <= 227 * 1024);
  static_assert((kSlices - 1) * kM * kN <= kSharedFloats, "sums of slices reuse the stages");
};

using Large = Tile<2, 4>;
using Medium = Tile<2, 2>;
using Small = Tile<1, 2>;
using Smallest = Tile<1, 1>;

/// Floats of scratch memory with which tiles can be cut along k: the counters that variants share,
/// and a tile for each block.
constexpr std::int64_t scratch_elements(int units) {
  return kScratchCounters + std::int64_t{units} * Large::kM * Large::kN;
}

#ifdef QUAD_KERNELS

/// How the stages of a product are dealt to blocks. The first `cut` tiles are dealt by stages, every
/// block getting as many in a row as any other; the tiles behind them whole, in turn.
struct Plan {
  int tiles_m, tiles_n;
  int stages;          ///< of a tile
  int tiles;           ///< of C
  int cut;             ///< 0: every block has whole tiles
  float* partial;      ///< kM x kN sums for each block
  unsigned* is_ready;  ///< whether they are complete, for each block; 0 between launches

  /// First of the stages that the tiles cut have together which this block has.
  __device__ int first_of(int block) const {
    return static_cast<int>(std::int64_t{block} * cut * stages / static_cast<int>(gridDim.x));
  }
};

/// Stages [first, first + count) of a tile.
struct Run {
  int tile, first, count;
};

/// The runs of this block. Of the tiles that it shares with others, it begins with the one whose
/// end another block has, and ends with the one whose end it has itself: by then the others have
/// long done their part.
class Runs {
 public:
  __device__ explicit Runs(Plan const& plan)
      : begin_{plan.first_of(block())},
        end_{plan.first_of(block() + 1)},
        whole_{plan.cut + block()} {}

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
  __device__ static int block() { return static_cast<int>(blockIdx.x); }

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
    row = (band * kBand + in_band % band_rows) * Tile::kM;
    col = in_band / band_rows * Tile::kN;
  }
};

/// Copies stages of A and B, by all threads. Whole: all tiles lie inside C, k is a multiple of the
/// depth and rows of B are aligned to 16 bytes.
template <class Tile, bool kWhole>
class Loader {
 public:
  __device__ Loader(Operands<float> const& p, Plan const& plan)
      : p_{p},
        plan_{plan},
        runs_{plan},
        step_a_{thread() % 8},
        row_a_{thread() / 8},
        step_b_{thread() / kGroups},
        col_b_{thread() % kGroups * (kWhole ? 4 : 1)} {
    start_run();
  }

  /// Does nothing behind the last stage.
  __device__ void copy(float* stage) {
    if (left_ == 0) return;
    float* const to_a = stage + step_a_ * Tile::kPitchA + row_a_;
#pragma unroll
    for (int r = 0; r < kCopiesA; ++r) {
#pragma unroll
      for (int s = 0; s < Tile::kDepth; s += 8) {
        ptx::cp_async<4>(to_a + s * Tile::kPitchA + r * kRowsAtOnce,
                         a_ + r * kRowsAtOnce * p_.lda + s,
                         kWhole || (r * kRowsAtOnce < rows_left_ && step_a_ + s < k_left_));
      }
    }
    float* const to_b = stage + Tile::kStageA + step_b_ * Tile::kPitchB + col_b_;
#pragma unroll
    for (int s = 0; s < kCopiesB; ++s) {
      float* const to = to_b + s * kStepsAtOnce * Tile::kPitchB;
      float const* const from = b_ + s * kStepsAtOnce * p_.ldb;
      if constexpr (kWhole) {
        ptx::cp_async<16>(to, from);
      } else {
        bool const in_k = step_b_ + s * kStepsAtOnce < k_left_;
#pragma unroll
        for (int c = 0; c < Tile::kN; c += kGroups) {
          ptx::cp_async<4>(to + c, from + c, in_k && c < cols_left_);
        }
      }
    }
  }

  /// Turns to the next stage. Apart from copy(): a pointer that changes right behind the copy that
  /// takes it waits until the copy has read it.
  __device__ void advance() {
    if (left_ == 0) return;
    if (--left_ == 0) return start_run();
    a_ += Tile::kDepth;
    b_ += Tile::kDepth * p_.ldb;
    k_left_ -= Tile::kDepth;
  }

 private:
  // A: 8 steps x 4 rows in a warp, so that its 32 words come from 4 sectors.
  static constexpr int kRowsAtOnce = kThreads / 8;
  static constexpr int kCopiesA = Tile::kM / kRowsAtOnce;
  // B: a thread copies four words of a row, side by side in one copy or else kGroups apart.
  static constexpr int kGroups = Tile::kN / 4;
  static constexpr int kStepsAtOnce = kThreads / kGroups;
  static constexpr int kCopiesB = Tile::kDepth / kStepsAtOnce;
  static_assert(Tile::kDepth % kStepsAtOnce == 0);

  __device__ static int thread() { return static_cast<int>(threadIdx.x); }

  __device__ void start_run() {
    Run run;
    left_ = 0;
    if (!runs_.next(plan_, run)) return;
    left_ = run.count;
    Corner<Tile> const corner{plan_, run.tile};
    int const k = run.first * Tile::kDepth;
    rows_left_ = p_.m - corner.row - row_a_;
    cols_left_ = p_.n - corner.col - col_b_;
    k_left_ = p_.k - k;
    a_ = p_.a + (corner.row + row_a_) * p_.lda + k + step_a_;
    b_ = p_.b + (k + step_b_) * p_.ldb + corner.col + col_b_;
  }

  Operands<float> const& p_;
  Plan const& plan_;
  Runs runs_;
  int step_a_, row_a_, step_b_, col_b_;
  int left_;  // stages of this run
  int rows_left_, cols_left_, k_left_;
  float const *a_, *b_;
};

/// What one thread reads for one step.
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
__device__ inline void add_products(float (&sum)[kRows][kCols], Values const& values) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int jj = 0; jj < kCols; ++jj) {
      int const j = i % 2 == 0 ? jj : kCols - 1 - jj;
      sum[i][j] += values.a[i] * values.b[j];
    }
  }
}

/// Where slices of a block leave their sums, four columns at once, one after the other for all
/// threads that have some. In swapped pairs: words that are stored at once lie in registers side by
/// side, as do values of B that are read at once, and a multiply-add is slower if its sum and its
/// value of B are both in even registers or both in odd ones.
__device__ inline void store_slice(float* to, int threads, float const (&sum)[kRows][kCols]) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kCols; j += 4) {
      *reinterpret_cast<float4*>(to + (i * kCols + j) * threads) =
          float4{sum[i][j + 1], sum[i][j], sum[i][j + 3], sum[i][j + 2]};
    }
  }
}

__device__ inline void add_slice(float const* from, int threads, float (&sum)[kRows][kCols]) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kCols; j += 4) {
      float4 const value = *reinterpret_cast<float4 const*>(from + (i * kCols + j) * threads);
      sum[i][j + 1] += value.x;
      sum[i][j] += value.y;
      sum[i][j + 3] += value.z;
      sum[i][j + 2] += value.w;
    }
  }
}

/// Leaves the sums of this block's first run for the block that has the end of the tile.
template <class Tile>
__device__ void hand_over(Plan const& plan, float const (&sum)[kRows][kCols]) {
  int const block = static_cast<int>(blockIdx.x);
  int const thread = static_cast<int>(threadIdx.x);
  // Word by word, which asks nothing of the registers that hold them.
  float* const to = plan.partial + std::int64_t{block} * Tile::kM * Tile::kN + thread;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kCols; ++j) to[(i * kCols + j) * kThreads] = sum[i][j];
  }
  __syncthreads();  // all sums are written
  if (thread == 0) ptx::store_release_gpu(plan.is_ready + block, 1U);
}

/// Adds the sums of the blocks that have the stages of the tile before this one's.
template <class Tile>
__device__ void take_over(Plan const& plan, int tile, float (&sum)[kRows][kCols]) {
  int const thread = static_cast<int>(threadIdx.x);
  int other = static_cast<int>(blockIdx.x);
  do {
    --other;
    if (thread == 0) {
      while (ptx::load_acquire_gpu(plan.is_ready + other) == 0) {
      }
    }
    __syncthreads();  // the sums are there
    float const* const from = plan.partial + std::int64_t{other} * Tile::kM * Tile::kN + thread;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kCols; ++j) sum[i][j] += from[(i * kCols + j) * kThreads];
    }
    __syncthreads();  // all have read them
    if (thread == 0) ptx::store_relaxed_gpu(plan.is_ready + other, 0U);
  } while (plan.first_of(other) > tile * plan.stages);
}

template <class Tile, bool kWhole>
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

  Loader<Tile, kWhole> loader{p, plan};
#pragma unroll 1
  for (int t = 0; t < Tile::kStages - 1; ++t) {
    loader.copy(shared + t * Tile::kStage);
    ptx::cp_async_commit();  // also an empty one, so that a wait counts stages
    loader.advance();
  }

  float const* const my_a = shared + slice * Tile::kSteps * Tile::kPitchA + warp_row + lane_row * 4;
  float const* const my_b =
      shared + Tile::kStageA + slice * Tile::kSteps * Tile::kPitchB + warp_col + lane_col * 4;
  int read_at = 0;                                    // offset of the stage that is multiplied
  int write_at = (Tile::kStages - 1) * Tile::kStage;  // and of the one that is filled

  ptx::cp_async_wait<Tile::kStages - 2>();
  __syncthreads();  // the copies of all threads have arrived

  Runs runs{plan};
  Run run;
#pragma unroll 1
  while (runs.next(plan, run)) {
    float sum[kRows][kCols] = {};
    Values values[2] = {};
    // Each step reads its values, then multiplies those of the step before, the last one of the
    // stage before included: so the first values of a stage are under way while there is work.
#pragma unroll 1
    for (int t = 0; t < run.count; ++t) {
      loader.copy(shared + write_at);
      ptx::cp_async_commit();
      float const* from_a = my_a + read_at;
      float const* from_b = my_b + read_at;
      // Unrolled no further: in a short loop without anything else the compiler keeps reads well
      // ahead of their use and registers of a multiply-add in different banks.
#pragma unroll 1
      for (int s = 0; s < Tile::kSteps; s += 2) {
        values[0].read(from_a, from_b);
        add_products(sum, values[1]);
        values[1].read(from_a + Tile::kPitchA, from_b + Tile::kPitchB);
        add_products(sum, values[0]);
        from_a += 2 * Tile::kPitchA;
        from_b += 2 * Tile::kPitchB;
      }
      loader.advance();
      write_at = read_at;
      read_at = read_at == (Tile::kStages - 1) * Tile::kStage ? 0 : read_at + Tile::kStage;
      ptx::cp_async_wait<Tile::kStages - 2>();
      __syncthreads();  // the next stage is complete, and all have read this one
    }
    add_products(sum, values[1]);

    if constexpr (Tile::kSlices > 1) {
      // Slices meet in shared memory; blocks of slices have one run, so the stages are free.
      __syncthreads();  // the last values have been read
      constexpr int kTileThreads = Tile::kTileWarps * 32;
      int const thread = static_cast<int>(threadIdx.x) % kTileThreads;
      constexpr int kTileSize = Tile::kM * Tile::kN;
      if (slice > 0) store_slice(shared + (slice - 1) * kTileSize + thread * 4, kTileThreads, sum);
      __syncthreads();  // all sums have arrived
      if (slice > 0) return;
#pragma unroll 1
      for (int other = 0; other < Tile::kSlices - 1; ++other) {
        add_slice(shared + other * kTileSize + thread * 4, kTileThreads, sum);
      }
    } else {
      if (run.first + run.count < plan.stages) {
        hand_over<Tile>(plan, sum);
        continue;
      }
      if (run.first > 0) take_over<Tile>(plan, run.tile, sum);
    }

    Corner<Tile> const corner{plan, run.tile};
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      int const c_row = corner.row + warp_row + i / 4 * 32 + lane_row * 4 + i % 4;
      if (kWhole || c_row < p.m) {
#pragma unroll
        for (int j = 0; j < kCols; j += 4) {
          int const c_col = corner.col + warp_col + j * 4 + lane_col * 4;
          if constexpr (kWhole) {
            update_vector(p, c_row, c_col, sum[i] + j);
          } else {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
              if (c_col + e < p.n) update(p, c_row, c_col + e, sum[i][j + e]);
            }
          }
        }
      }
    }
  }
}

/// What a product costs with a kind of tile, and how.
struct Choice {
  double time;  ///< in steps of a warp tile on one multiprocessor
  Plan plan;
  void (*enqueue)(Operands<float> const&, Plan const&, int units, device::StreamView);
};

template <class Tile>
void enqueue(Operands<float> const& p, Plan const& plan, int units, device::StreamView stream) {
  auto const aligned = [](float const* x) { return reinterpret_cast<std::uintptr_t>(x) % 16 == 0; };
  bool const whole = p.m % Tile::kM == 0 && p.n % Tile::kN == 0 && p.k % Tile::kDepth == 0 &&
                     p.ldb % 4 == 0 && p.ldc % 4 == 0 && aligned(p.b) && aligned(p.c);
  int const blocks = Tile::kSlices > 1 ? plan.tiles
                     : plan.cut > 0    ? units
                                       : std::min(plan.tiles, units);
  dim3 const grid(static_cast<unsigned>(blocks));
  if (whole) {
    QUAD_LAUNCH((gemm_simt_async_kernel<Tile, true>), grid, dim3(kThreads), Tile::kSharedBytes,
                stream, p, plan);
  } else {
    QUAD_LAUNCH((gemm_simt_async_kernel<Tile, false>), grid, dim3(kThreads), Tile::kSharedBytes,
                stream, p, plan);
  }
}

/// The best plan for this tile.
template <class Tile>
Choice choice_of(Operands<float> const& p, device::Span<float> scratch, int units) {
  constexpr double kStart = 64;     // steps: filling the ring and writing C
  constexpr double kHandOver = 48;  // steps: partial sums through the L2 cache
  Choice choice{};
  choice.enqueue = enqueue<Tile>;
  Plan& plan = choice.plan;
  plan.tiles_m = divide_up(p.m, Tile::kM);
  plan.tiles_n = divide_up(p.n, Tile::kN);
  plan.stages = divide_up(p.k, Tile::kDepth);
  auto const tiles = std::int64_t{plan.tiles_m} * plan.tiles_n;
  QUAD_REQUIRE(tiles <= std::numeric_limits<int>::max() / 2,
               "gemm/simt_async: 2^30 tiles or more; cut the product into blocks");
  plan.tiles = static_cast<int>(tiles);
  auto const steps = [&](double stages) {
    return Tile::kTileWarps * (stages * Tile::kDepth + kStart) / Tile::kRate;
  };
  choice.time = steps(static_cast<double>((tiles + units - 1) / units) * plan.stages);

  // All whole waves but one stay as they are: stages in step share A and B in the L2 cache.
  std::int64_t const cut = tiles % units + (tiles > units ? units : 0);
  double const cut_time = steps(static_cast<double>(tiles) * plan.stages / units) + kHandOver * 8;
  bool const possible = Tile::kSlices == 1 &&
                        cut * plan.stages <= std::numeric_limits<int>::max() &&
                        cut * plan.stages >= units && units <= kScratchCounters &&
                        scratch.size >= scratch_elements(units);
  if (possible && cut_time < choice.time) {
    choice.time = cut_time;
    plan.cut = static_cast<int>(cut);
    plan.is_ready = reinterpret_cast<unsigned*>(scratch.data);
    plan.partial = scratch.data + kScratchCounters;
  }
  return choice;
}

/// Runs the quickest of the tiles.
template <class... Tiles>
void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  int const units = stream.device().facts().units;
  device::Span<float> const scratch{static_cast<float*>(problem.scratch),
                                    static_cast<std::int64_t>(problem.scratch_bytes / 4)};
  std::array const choices{choice_of<Tiles>(p, scratch, units)...};
  Choice const& best = *std::min_element(
      choices.begin(), choices.end(), [](auto const& x, auto const& y) { return x.time < y.time; });
  best.enqueue(p, best.plan, units, stream);
}

#endif  // QUAD_KERNELS

std::size_t scratch_bytes(Problem const&, device::Facts const& device) {
  return sizeof(float) * static_cast<std::size_t>(scratch_elements(device.units));
}

constexpr VariantInfo row(std::string_view name, int preference, std::string_view summary) {
  return {.name = name,
          .where = Where::cuda,
          .types = {core::DataType::f32},
          .needs = {.layouts = {Layout::nn}, .most_extent = kMostCudaExtent},
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
