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
/// Before       wgmma_one_warpgroup
/// Shapes       row-major, A and B as they are or transposed; the copies fill edges with zeros
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 128) bytes through the L2 cache, in
///              tf32 twice as many
/// Launch       384 threads, 209 KiB of shared memory, one block per multiprocessor. A quarter of a
///              multiprocessor has registers for three warps of 168 per thread: the producer leaves
///              all but 40 to the others, which get 232 (setmaxnreg)
/// Accuracy     inputs 2^-11 each in tf32, to which the copies round; k eps w / 2 at worst, eps
///              (sqrt(k) + 2) w for random data
#include "gemm/gemm_wgmma.cuh"

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
  int const stages = divide_up(p.k, Tile::kStageK);  // that are multiplied
  auto const corner = BlockCorner::of<Tile>(p);
  if (threadIdx.x >= Tile::kConsumerThreads) {
    ptx::setmaxnreg_dec<40>();
    if (threadIdx.x == Tile::kConsumerThreads) ring.fill(a, b, majors, corner, stages);
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
        QUAD_LAUNCH(gemm_wgmma_specialised_kernel<Tile>,
                    dim3(static_cast<unsigned>(ClusterTiles<Tile>::count(p))), dim3(Tile::kThreads),
                    Tile::kSharedBytes, stream, a, b, majors, p);
      });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const wgmma_specialised{
    row("wgmma_specialised", "one warpgroup copies, two multiply by wgmma", kConfig),
    QUAD_KERNEL_LAUNCH(launch),
    {.scratch_bytes = scratch_of_copies}};

}  // namespace quadrille::kernels::gemm
