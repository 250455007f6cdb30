// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit or tf32 matrices by `wgmma`, with blocks that share what they copy.
///
///   C = alpha A B + beta C
///
/// Technique    two blocks with tiles below each other are a cluster: each copies half of the
///              columns of B, to both (multicast), so that a third less comes from the L2 cache. A
///              stage is free when the warps of both blocks have arrived at its barrier, without a
///              fence, because they have only read. A block ends when its last stages are free:
///              then the other one reaches for it no more
///
///                 rows of A                 columns of B
///                 0 .. 127    128 .. 255    0 .. 63    64 .. 127    128 .. 191    192 .. 255
///   K-major B     block 0     block 1       block 0    block 0      block 1       block 1
///   MN-major B    block 0     block 1       block 0    block 1      block 0       block 1
///   arrive in     block 0     block 1       both       both         both          both
///
///              So these blocks copy each k-tile; a B of 16 bits that is not transposed is
///              MN-major. A k-tile takes 16 + 16 KiB from the L2 cache for each block, not 16 + 32
/// Before       wgmma_specialised
/// Shapes       row-major, A and B as they are or transposed; the copies fill edges with zeros
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 256) bytes through the L2 cache, in
///              tf32 twice as many
/// Launch       clusters of 2 blocks of 384 threads, 209 KiB of shared memory, one block per
///              multiprocessor. Registers as in `wgmma_specialised`
/// Accuracy     inputs 2^-11 each in tf32, to which the copies round; k eps w / 2 at worst, eps
///              (sqrt(k) + 2) w for random data
#include "gemm/hopper/gemm_wgmma.cuh"

namespace quadrille::kernels::gemm {
namespace {

constexpr WgmmaConfig kConfig{.cluster = 2};

#ifdef QUAD_KERNELS

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    gemm_wgmma_multicast_kernel(const __grid_constant__ ptx::TensorMap a,
                                const __grid_constant__ ptx::TensorMap b, Majors majors,
                                HalfOperands<typename Tile::Type> p) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  WgmmaRing<Tile> ring{shared, a, b};
  int const k_tiles = divide_up(p.k, Tile::kStageK);
  // changed: the tiles of a cluster are below each other
  auto const corner = ClusterTiles<Tile>::corner(p, static_cast<int>(blockIdx.x) / kConfig.cluster);
  typename WgmmaRing<Tile>::State state;
  if (threadIdx.x >= Tile::kConsumerThreads) {
    ptx::setmaxnreg_dec<40>();
    if (threadIdx.x == Tile::kConsumerThreads) {
      // changed: each block copies a part of B to all of the cluster
      int const rank = ring.rank();
#pragma unroll 1
      for (int t = 0; t < k_tiles; ++t, state.advance()) {
        auto const stage = ring.producer_acquire(state);
        Tile::A::load(stage.a, a, majors.a, corner.row, t * Tile::kStageK, stage.full);
        Tile::B::load(stage.b, b, majors.b, corner.col, t * Tile::kStageK, stage.full, rank);
      }
      // changed: no block ends while another may reach for its memory
      ring.producer_tail(state);
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
        QUAD_LAUNCH(gemm_wgmma_multicast_kernel<Tile>,
                    (LaunchShape{.grid = static_cast<unsigned>(ClusterTiles<Tile>::count(p) *
                                                               kConfig.cluster),
                                 .block = Tile::kThreads,
                                 .shared_bytes = Tile::kSharedBytes,
                                 .cluster = kConfig.cluster}),
                    stream, a, b, majors, p);
      });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const wgmma_multicast{
    row("wgmma_multicast", "wgmma_specialised whose blocks share columns of B", kConfig),
    QUAD_KERNEL_LAUNCH(launch),
    {.scratch_bytes = scratch_of_copies}};

}  // namespace quadrille::kernels::gemm
