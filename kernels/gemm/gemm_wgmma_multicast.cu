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
/// Before       wgmma_specialised
/// Shapes       row-major, A and B as they are or transposed; the copies fill edges with zeros
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 256) bytes through the L2 cache, in
///              tf32 twice as many
/// Launch       clusters of 2 blocks of 384 threads, 209 KiB of shared memory, one block per
///              multiprocessor. Registers as in `wgmma_specialised`
/// Accuracy     inputs 2^-11 each in tf32, to which the copies round; k eps w / 2 at worst, eps
///              (sqrt(k) + 2) w for random data
#include "gemm/gemm_wgmma.cuh"

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
  int const stages = divide_up(p.k, Tile::kStageK);  // that are multiplied
  auto const corner = ClusterTiles<Tile>::corner(p, static_cast<int>(blockIdx.x) / kConfig.cluster);
  if (threadIdx.x >= Tile::kConsumerThreads) {
    ptx::setmaxnreg_dec<40>();
    if (threadIdx.x == Tile::kConsumerThreads) {
      ring.fill(a, b, majors, corner, stages);
      ring.drain();
    }
  } else {
    ptx::setmaxnreg_inc<232>();
    WgmmaWarpgroup<Tile> warpgroup{shared, majors};
    ring.multiply(warpgroup, majors, stages);
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
