// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit or tf32 matrices by `wgmma`, with warpgroups that copy or multiply alone.
///
///   C = alpha A B + beta C
///
/// Technique    a producer warpgroup starts the copies, and two warpgroups multiply 64 x 256 each:
///              a column of B in shared memory is read for twice as many rows, and while one
///              warpgroup waits the tensor cores have the products of the other. A warpgroup starts
///              the products of a stage before it waits for those of the one before, and only then
///              frees that one: the tensor cores are never without work
///
///   producer      copies 0 1 2 3 | waits for empty[0] | copies 4 | waits for empty[1] | copies 5
///   warpgroup 0      waits for full[0] | 0 | 1 | releases 0 | 2 | releases 1 | 3 | releases 2
///   warpgroup 1      waits for full[0]   | 0 | 1 | releases 0 | 2 | releases 1 | 3 | releases 2
///
///              empty[0] is complete, and stage 0 is filled with k-tile 4, when all eight warps have
///              released it; up to four k-tiles of 48 KiB are on their way. The only warpgroup of
///              wgmma_one_warpgroup met at a barrier of the block before each copy; here warps meet at
///              full[] and empty[] alone
/// Before       wgmma_one_warpgroup
/// Shapes       row-major, A and B as they are or transposed; the copies fill edges with zeros
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 128) bytes through the L2 cache, in
///              tf32 twice as many
/// Launch       384 threads, 209 KiB of shared memory, one block per multiprocessor. A quarter of a
///              multiprocessor has registers for three warps of 168 per thread: the producer leaves
///              all but 40 to the others, which get 232 (setmaxnreg)
/// Accuracy     inputs 2^-11 each in tf32, to which the copies round; k eps w / 2 at worst, eps
///              (sqrt(k) + 2) w for random data
#include "gemm/hopper/gemm_wgmma.cuh"

namespace quadrille::kernels::gemm {
namespace {

constexpr WgmmaConfig kConfig{};

#ifdef QUAD_KERNELS

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    gemm_wgmma_specialised_kernel(const __grid_constant__ ptx::TensorMap a,
                                  const __grid_constant__ ptx::TensorMap b, Majors majors,
                                  HalfOperands<typename Tile::Type> p) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  WgmmaRing<Tile> ring{shared, a, b};
  int const k_tiles = divide_up(p.k, Tile::kStageK);
  auto const corner = BlockCorner::of<Tile>(p);
  typename WgmmaRing<Tile>::State state;
  if (threadIdx.x >= Tile::kConsumerThreads) {
    ptx::setmaxnreg_dec<40>();
    if (threadIdx.x == Tile::kConsumerThreads) {
#pragma unroll 1
      for (int t = 0; t < k_tiles; ++t, state.advance()) {
        auto const stage = ring.producer_acquire(state);
        Tile::A::load(stage.a, a, majors.a, corner.row, t * Tile::kStageK, stage.full);
        Tile::B::load(stage.b, b, majors.b, corner.col, t * Tile::kStageK, stage.full);
      }
    }
  } else {
    ptx::setmaxnreg_inc<232>();
    WgmmaWarpgroup<Tile> warpgroup{shared, majors};
    if (k_tiles == 0) warpgroup.clear();
    int before = 0;  // the stage whose products were started last
    with_majors<typename Tile::Type>(majors, [&]<ptx::Major kA, ptx::Major kB>() {
#pragma unroll 1
      for (int t = 0; t < k_tiles; ++t, state.advance()) {
        ring.consumer_wait(state);
        warpgroup.template multiply<kA, kB>(state.stage, t > 0);
        ptx::wgmma_wait<1>();  // those of the k-tile before are complete
        if (t > 0) ring.consumer_release(before);
        before = state.stage;
      }
      warpgroup.finish();
    });
    if (k_tiles > 0) ring.consumer_release(before);
    warpgroup.write(p, corner, shared);
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  with_wgmma_tile<kConfig>(
      problem, stream, [&]<class Tile>(auto const& a, auto const& b, Majors majors, auto const& p) {
        QUAD_LAUNCH(gemm_wgmma_specialised_kernel<Tile>,
                    dim3(static_cast<unsigned>(ClusterTiles<Tile>::count(p))), dim3(Tile::kThreads),
                    Tile::kSharedBytes, stream, a, b, majors, p);
      });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const wgmma_specialised{
    with_batch_invariance(
        row("wgmma_specialised", "one warpgroup copies, two multiply by wgmma", kConfig)),
    QUAD_KERNEL_LAUNCH(launch),
    {.scratch_bytes = scratch_of_copies}};

}  // namespace quadrille::kernels::gemm
