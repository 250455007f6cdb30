// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit or tf32 matrices by `wgmma`, with one warpgroup that does all.
///
///   C = alpha A B + beta C
///
/// Technique    unlike `mma`, wgmma reads A and B from shared memory, without a load to registers:
///              a warpgroup of 128 threads starts a product of 128 x 128 x 64 (in tf32 32) by eight
///              instructions and waits. One thread starts tensor copies (TMA), which permute what
///              they write so that nothing meets in a bank, and arrive at the mbarrier of a stage.
///              When the products of a stage are complete, the copies for it begin that are three
///              stages on. Two blocks share a multiprocessor: one multiplies while the other waits
///                  place of 16 bytes   0   1   2   3   4   5   6   7      in a row of 128 bytes
///                  row 0       piece   0   1   2   3   4   5   6   7
///                  row 1               1   0   3   2   5   4   7   6
///                  row 2               2   3   0   1   6   7   4   5
///                  row 3               3   2   1   0   7   6   5   4
///                  row 4               4   5   6   7   0   1   2   3
///                  row 5               5   4   7   6   1   0   3   2
///                  row 6               6   7   4   5   2   3   0   1
///                  row 7               7   6   5   4   3   2   1   0
///                  piece p of the eight rows lies in all 32 banks, not in the same 4 eight times
/// Shapes       row-major, A and B as they are or transposed; the copies fill edges with zeros
/// Work         2 m n k flop; traffic 2 m n k (1 / 128 + 1 / 128) bytes through the L2 cache, in
///              tf32 twice as many
/// Launch       128 threads, 105 KiB of shared memory, two blocks per multiprocessor
/// Accuracy     inputs 2^-11 each in tf32, to which the copies round; k eps w / 2 at worst, eps
///              (sqrt(k) + 2) w for random data
#include "gemm/hopper/gemm_wgmma.cuh"

namespace quadrille::kernels::gemm {
namespace {

constexpr WgmmaConfig kConfig{
    .bn = 128, .consumers = 1, .has_producer = false, .stages = 3, .raster = 16};

#ifdef QUAD_KERNELS

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 2)
    gemm_wgmma_one_warpgroup_kernel(const __grid_constant__ ptx::TensorMap a,
                                    const __grid_constant__ ptx::TensorMap b, Majors majors,
                                    HalfOperands<typename Tile::Type> p) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  auto* const full = reinterpret_cast<ptx::MBarrier*>(shared + Tile::kBarriers);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kConfig.stages; ++stage) ptx::mbarrier_init(&full[stage], 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();  // the barriers are ready
  auto const corner = BlockCorner::of<Tile>(p);
  int const k_tiles = divide_up(p.k, Tile::kStageK);
  auto const start_copies = [&](int stage, int t) {
    unsigned char* const to = shared + stage * Tile::kStageBytes;
    ptx::mbarrier_arrive_expect_tx(&full[stage], Tile::kStageBytes);
    Tile::A::load(to, a, majors.a, corner.row, t * Tile::kStageK, &full[stage]);
    Tile::B::load(to + Tile::A::kBytes, b, majors.b, corner.col, t * Tile::kStageK, &full[stage]);
  };
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int t = 0; t < min(k_tiles, kConfig.stages); ++t) start_copies(t, t);
  }
  WgmmaWarpgroup<Tile> warpgroup{shared, majors};
  if (k_tiles == 0) warpgroup.clear();
  PipelineState<kConfig.stages> state;
  with_majors<typename Tile::Type>(majors, [&]<ptx::Major kA, ptx::Major kB>() {
#pragma unroll 1
    for (int t = 0; t < k_tiles; ++t, state.advance()) {
      ptx::mbarrier_wait(&full[state.stage], state.parity);
      warpgroup.template multiply<kA, kB>(state.stage, t > 0);
      warpgroup.finish();
      if (t + kConfig.stages < k_tiles) {
        __syncthreads();  // the products of all warps are complete
        if (threadIdx.x == 0) start_copies(state.stage, t + kConfig.stages);
      }
    }
  });
  warpgroup.write(p, corner, shared);
}

void launch(Problem const& problem, device::StreamView stream) {
  with_wgmma_tile<kConfig>(
      problem, stream, [&]<class Tile>(auto const& a, auto const& b, Majors majors, auto const& p) {
        QUAD_LAUNCH(gemm_wgmma_one_warpgroup_kernel<Tile>,
                    dim3(static_cast<unsigned>(ClusterTiles<Tile>::count(p))), dim3(Tile::kThreads),
                    Tile::kSharedBytes, stream, a, b, majors, p);
      });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const wgmma_one_warpgroup{
    row("wgmma_one_warpgroup", "TMA, mbarriers and wgmma by one warpgroup", kConfig),
    QUAD_KERNEL_LAUNCH(launch),
    {.scratch_bytes = scratch_of_copies}};

}  // namespace quadrille::kernels::gemm
