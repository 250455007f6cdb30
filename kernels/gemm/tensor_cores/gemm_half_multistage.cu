// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices on tensor cores, with a ring of three or four k-tiles.
///
///   C = alpha A B + beta C
///
/// Technique    all but one of the stages are filled ahead, so that the copies of a k-tile have the
///              time of two or three k-tiles. The stage that is filled anew is the one that was
///              multiplied before this one: all have read it before the last barrier, so that one
///              barrier a k-tile is enough. Its copies start in the last step of a k-tile, behind the
///              products of the steps before.
///              `wmma_async_stage3` multiplies by `wmma`, from three stages of padded rows;
///              `mma_async_stage3` by `mma`, from three stages of rotated ones, and
///              `mma_async_stage4` from four. `wmma_async_stage3_early_copies` starts copies before
///              the products of the first step, which gives them the time of one step more.
///              Copies bypass L1 (cp.async.cg) and ask L2 for whole lines of 128 bytes (L2::128B),
///              which holds the next k-tile's part of a row; those of `wmma_async_stage3_unhinted` do
///              not ask, those of `wmma_async_stage3_l1` and `wmma_async_stage3_l1_unhinted` go
///              through L1 (cp.async.ca)
/// Before       wmma_async_cross_tile_pipeline; mma_async_stage3 starts from
///              mma_async_cross_tile_pipeline, mma_async_stage4 from mma_async_stage3,
///              wmma_async_stage3_early_copies, _unhinted, _l1 and _l1_unhinted from wmma_async_stage3
/// Shapes       row-major, B as it is or transposed; outside the matrices, k-tiles are zero
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 128) bytes
/// Launch       256 threads, one block per multiprocessor; 3 k-tiles of 30 KiB, or 3 or 4 of 24 KiB,
///              in shared memory
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data, in eps of the
///              accumulators
#include "gemm/tensor_cores/gemm_half_rows.cuh"

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    gemm_half_multistage_kernel(HalfOperands<typename Tile::Type> p) {
  using T = typename Tile::Type;
  constexpr int kStages = Tile::kConfig.stages;
  QUAD_DYNAMIC_SHARED(T, shared);
  BlockCorner const corner = BlockCorner::of<Tile>(p);
  KTiles<Tile> k_tiles{p, corner};
  Warp<Tile> warp;
  typename Warp<Tile>::Fragments fragments[2];
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {
    k_tiles.start(shared + s * Tile::kStageElements);
    ptx::cp_async_commit();  // also an empty group, so that a wait counts k-tiles
  }
  T* reading = shared;
  T* filling = shared + (kStages - 1) * Tile::kStageElements;
  auto const next = [&](T* stage) {
    return stage == shared + (kStages - 1) * Tile::kStageElements ? shared
                                                                  : stage + Tile::kStageElements;
  };
  ptx::cp_async_wait<kStages - 2>();
  __syncthreads();  // the first k-tile is complete
  warp.load(fragments[0], reading, 0);
#pragma unroll 1
  for (int first = 0; first < p.k; first += Tile::kConfig.bk) {
#pragma unroll
    for (int step = 0; step < Tile::kSteps; ++step) {
      if (step == (Tile::kConfig.starts_copies_early ? 0 : Tile::kSteps - 1)) {
        k_tiles.start(filling);
        ptx::cp_async_commit();
        filling = reading;
      }
      if (step + 1 < Tile::kSteps) {
        warp.load(fragments[(step + 1) % 2], reading, step + 1);
      } else {
        ptx::cp_async_wait<kStages - 2>();
        __syncthreads();  // the next k-tile is complete, and all have read this one
        reading = next(reading);
        warp.load(fragments[0], reading, 0);
      }
      warp.multiply(fragments[step % 2]);
    }
  }
  write<Tile>(p, corner, warp, shared);
}

template <HalfConfig kConfig, bool kBf16 = false>
void launch(Problem const& problem, device::StreamView stream) {
  with_tile<kConfig, kBf16>(problem, [&]<class Tile>(auto const& p, dim3 grid) {
    QUAD_LAUNCH(gemm_half_multistage_kernel<Tile>, grid, dim3(Tile::kThreads), Tile::kSharedBytes,
                stream, p);
  });
}

#endif  // QUAD_KERNELS

constexpr HalfConfig kWmmaStage3{.is_wmma = true,
                                 .layout = SmemLayout::padded,
                                 .stages = 3,
                                 .fragment_double_buffer = FragmentDoubleBuffer::across_k_tiles};
/// kWmmaStage3 with one thing changed.
template <class Change>
constexpr HalfConfig changed(Change const& change) {
  HalfConfig config = kWmmaStage3;
  change(config);
  return config;
}
constexpr HalfConfig kEarlyCopies = changed([](HalfConfig& c) { c.starts_copies_early = true; });
constexpr HalfConfig kUnhinted = changed([](HalfConfig& c) { c.hints_l2_line = false; });
constexpr HalfConfig kThroughL1 = changed([](HalfConfig& c) { c.copies_through_l1 = true; });
constexpr HalfConfig kThroughL1Unhinted = changed([](HalfConfig& c) {
  c.copies_through_l1 = true;
  c.hints_l2_line = false;
});
constexpr HalfConfig kMmaStage3{.layout = SmemLayout::rotated,
                                .stages = 3,
                                .fragment_double_buffer = FragmentDoubleBuffer::across_k_tiles,
                                .epilogue = Epilogue::block_rotated};

}  // namespace

extern constinit Variant<Problem> const wmma_async_stage3{
    row("wmma_async_stage3", "wmma_async_cross_tile_pipeline with three stages", kWmmaStage3,
        kHalfAndBf16Types),
    QUAD_KERNEL_LAUNCH(launch<kWmmaStage3, true>)};

extern constinit Variant<Problem> const wmma_async_stage3_early_copies{
    row("wmma_async_stage3_early_copies",
        "wmma_async_stage3 that starts copies before the products of a k-tile", kEarlyCopies),
    QUAD_KERNEL_LAUNCH(launch<kEarlyCopies>)};

extern constinit Variant<Problem> const wmma_async_stage3_unhinted{
    row("wmma_async_stage3_unhinted", "wmma_async_stage3 with cp.async.cg without L2::128B",
        kUnhinted),
    QUAD_KERNEL_LAUNCH(launch<kUnhinted>)};

extern constinit Variant<Problem> const wmma_async_stage3_l1{
    row("wmma_async_stage3_l1", "wmma_async_stage3 with cp.async.ca, through L1", kThroughL1),
    QUAD_KERNEL_LAUNCH(launch<kThroughL1>)};

extern constinit Variant<Problem> const wmma_async_stage3_l1_unhinted{
    row("wmma_async_stage3_l1_unhinted",
        "wmma_async_stage3 with cp.async.ca, through L1, without L2::128B", kThroughL1Unhinted),
    QUAD_KERNEL_LAUNCH(launch<kThroughL1Unhinted>)};

extern constinit Variant<Problem> const mma_async_stage3{
    row("mma_async_stage3", "mma_async_cross_tile_pipeline with three stages", kMmaStage3),
    QUAD_KERNEL_LAUNCH(launch<kMmaStage3>)};

extern constinit Variant<Problem> const mma_async_stage4{
    with_batch_invariance(row("mma_async_stage4", "mma_async_stage3 with four stages",
                              kStage4Config, kHalfAndBf16Types, 20)),
    QUAD_KERNEL_LAUNCH(launch<kStage4Config, true>)};

}  // namespace quadrille::kernels::gemm
