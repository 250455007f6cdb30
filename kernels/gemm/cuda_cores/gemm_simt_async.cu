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
///              number of stages (stream-k, Osama et al.), where there is scratch of
///              scratch_elements(), zero at first: blocks store their partials, and the block that
///              has the end of such a tile adds them in a fixed order (fix-up). Where C is small,
///              warps of a block share one tile and split k among them (slices), so the tile
///              shrinks but not the work per thread; `simt_async` picks what takes least time by a
///              model, or takes the TILE that `quadrille tune` found or `config` names
/// Shapes       row-major, any extents and leading dimensions; edges are filled with zeros
/// Work         2 m n k flop; traffic m n k (4 / BM + 4 / BN) bytes through the L2 cache
/// Launch       256 threads, one block per multiprocessor, 128 accumulators and 48 values in
///              registers; tiles in groups of 8 rows so that blocks that run together share A and B
///              in L2. A block waits only for blocks that started before it
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
#include "gemm/cuda_cores/gemm_stream_k.cuh"

#include <algorithm>
#include <array>

namespace quadrille::kernels::gemm {
namespace {

using namespace simt_tiles;

using Large = Tile<2, 4>;
using Medium = Tile<2, 2>;
using Small = Tile<1, 2>;
using Smallest = Tile<1, 1>;

#ifdef QUAD_KERNELS

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

template <class Tile, bool kVectors>
__global__ void __launch_bounds__(kThreads, 1)
    gemm_simt_async_kernel(Operands<float> p, Plan plan) {
  QUAD_DYNAMIC_SHARED(float, shared);
  int const warp = static_cast<int>(threadIdx.x) / 32;
  int const slice = warp / Tile::kTileWarps;
  Position const position{warp % Tile::kTileWarps, Tile::kWarpsN};

  int const block = number_of_block(plan);
  SplitRuns<Tile> runs{plan, block};
  Loader<Tile, kVectors, SplitRuns<Tile>> loader{p, runs};
  // The k-iterations of a stage that this warp has.
  float const* const from_a = shared + slice * Tile::kWarpBK * Tile::kPitchA + position.row;
  float const* const from_b =
      shared + Tile::kStageA + slice * Tile::kWarpBK * Tile::kPitchB + position.col;
  RingState<Tile> ring;
#pragma unroll 1
  for (int t = 0; t < Tile::kStages - 1; ++t) {
    loader.copy(shared + t * Tile::kStage);
    ptx::cp_async_commit();  // also an empty group, so that a wait counts stages
    loader.advance();
  }
  ptx::cp_async_wait<Tile::kStages - 2>();
  __syncthreads();  // the copies of all threads to the first stage have arrived

  Run run;
#pragma unroll 1
  while (runs.next(run)) {
    float accumulators[kRows][kCols] = {};
    Values values[2] = {};
#pragma unroll 1
    for (int t = 0; t < run.count; ++t) {
      loader.copy(shared + ring.writing);
      ptx::cp_async_commit();
      multiply_stage<Tile>(from_a + ring.reading, from_b + ring.reading, values, accumulators);
      loader.advance();
      ring.advance();
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
        store_partials(plan, block, accumulators);
        continue;
      }
      if (run.first > 0) fix_up(plan, block, run.tile, accumulators);
    }

    Corner const corner = runs.corner(run.tile);
    write<kVectors>(p, corner.row + position.row, corner.col + position.col, accumulators);
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
  int const blocks = Tile::kSlices > 1 ? plan.tiles
                     : plan.split > 0  ? multiprocessors
                                       : std::min(plan.tiles, multiprocessors);
  dim3 const grid(static_cast<unsigned>(blocks));
  if (takes_vectors(p)) {
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
  choice.plan = plan_of<Tile>(p);
  Plan& plan = choice.plan;
  std::int64_t const tiles = plan.tiles;
  auto const time = [&](double stages) {
    return Tile::kTileWarps * (stages * Tile::kBK + kStart) / Tile::kRate;
  };
  choice.time =
      time(static_cast<double>((tiles + multiprocessors - 1) / multiprocessors) * plan.stages);

  double const split_time =
      time(static_cast<double>(tiles) * plan.stages / multiprocessors) + kFixUp * 8;
  if (Tile::kSlices == 1 && split_time < choice.time &&
      split_tiles(plan, scratch, multiprocessors)) {
    choice.time = split_time;
  }
  return choice;
}

/// Runs the quickest of the tiles.
template <class... Tiles>
void launch(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem);
  if (p.m == 0 || p.n == 0) return;
  int const multiprocessors = stream.facts().multiprocessors;
  device::Span<float> const scratch = scratch_of(problem);
  std::array const choices{choice_of<Tiles>(p, scratch, multiprocessors)...};
  Choice const& best = *std::min_element(
      choices.begin(), choices.end(), [](auto const& x, auto const& y) { return x.time < y.time; });
  best.enqueue(p, best.plan, multiprocessors, stream);
}

#endif  // QUAD_KERNELS

constexpr std::string_view kTileWords[] = {"chosen", "128x256", "128x128", "64x128", "64x64"};
constexpr int kTileValues[] = {0, 1, 2, 3, 4};
constexpr TunedParameter kParameters[] = {{"TILE", kTileValues, kTileWords}};
constexpr Configuration kCompiled[] = {Configuration{0}, Configuration{1}, Configuration{2},
                                       Configuration{3}, Configuration{4}};

std::optional<device::BlockNeeds> needs_of(Configuration const& configuration, ProblemKind const&) {
  constexpr std::size_t kSharedBytes[] = {Large::kSharedBytes, Large::kSharedBytes,
                                          Medium::kSharedBytes, Small::kSharedBytes,
                                          Smallest::kSharedBytes};
  constexpr int kMaxRegisters = 255;
  if (configuration[0] < 0 || configuration[0] >= static_cast<int>(std::size(kSharedBytes)))
    return {};
  return device::BlockNeeds{kThreads, kMaxRegisters, kSharedBytes[configuration[0]]};
}

constexpr Tunable kTunable{.header = "",
                           .kernel = nullptr,
                           .parameters = kParameters,
                           .rule = "one of these tiles",
                           .needs = needs_of,
                           .preset = Configuration{0},
                           .compiled = kCompiled};

#ifdef QUAD_KERNELS

void launch_configured(Problem const& problem, device::StreamView stream) {
  switch (problem.configuration[0]) {
    case 1: return launch<Large>(problem, stream);
    case 2: return launch<Medium>(problem, stream);
    case 3: return launch<Small>(problem, stream);
    case 4: return launch<Smallest>(problem, stream);
    default: return launch<Large, Medium, Small, Smallest>(problem, stream);
  }
}

#endif  // QUAD_KERNELS

std::string implementation(Problem const& problem) {
  return problem.configuration.is_empty() ? "" : to_text(kTunable, problem.configuration);
}

/// Of tiles that are never split: whether others are, and which is chosen, depends on the device.
TileExtents extents_of(Configuration const& configuration) {
  switch (configuration[0]) {
    case 2: return Medium::kExtents;
    case 3: return Small::kExtents;
    case 4: return Smallest::kExtents;
    default: return {};
  }
}

constexpr VariantInfo row(std::string_view name, int preference, std::string_view summary,
                          Tunable const* tunable = nullptr) {
  return {.name = name,
          .where = Where::cuda,
          .types = {core::DataType::f32},
          // Half a tile each way, because places in the order of tiles go up to twice their number.
          .needs = {.shared_bytes = Large::kSharedBytes,
                    .layouts = {Layout::nn},
                    .max_extent = kMaxCudaExtent,
                    .tile = {32, 32}},
          .tunable = tunable,
          .preference = preference,
          .source = "own",
          .summary = summary};
}

}  // namespace

extern constinit Variant<Problem> const simt_async{
    row("simt_async", 30, "ring of asynchronous copies, thread tile 8 x 16, chosen tiles",
        &kTunable),
    QUAD_KERNEL_LAUNCH(launch_configured),
    {.scratch_bytes = simt_tiles::scratch_bytes,
     .implementation = implementation,
     .notes = {.configured = extents_of}}};

extern constinit Variant<Problem> const simt_async_128x256{
    row("simt_async_128x256", 0, "simt_async with tiles of 128 x 256"),
    QUAD_KERNEL_LAUNCH(launch<Large>),
    {.scratch_bytes = simt_tiles::scratch_bytes}};

extern constinit Variant<Problem> const simt_async_128x128{
    row("simt_async_128x128", 0, "simt_async with tiles of 128 x 128"),
    QUAD_KERNEL_LAUNCH(launch<Medium>),
    {.scratch_bytes = simt_tiles::scratch_bytes, .notes = {.tile = Medium::kExtents}}};

extern constinit Variant<Problem> const simt_async_64x128{
    row("simt_async_64x128", 0, "simt_async with tiles of 64 x 128"),
    QUAD_KERNEL_LAUNCH(launch<Small>),
    {.scratch_bytes = simt_tiles::scratch_bytes, .notes = {.tile = Small::kExtents}}};

extern constinit Variant<Problem> const simt_async_64x64{
    row("simt_async_64x64", 0, "simt_async with tiles of 64 x 64"),
    QUAD_KERNEL_LAUNCH(launch<Smallest>),
    {.scratch_bytes = simt_tiles::scratch_bytes, .notes = {.tile = Smallest::kExtents}}};

}  // namespace quadrille::kernels::gemm
