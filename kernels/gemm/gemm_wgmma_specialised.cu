// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit matrices by `wgmma`, with warpgroups that copy or multiply alone.
///
///   C = alpha A B + beta C
///
/// Technique    `wgmma_one_warpgroup`, but a producer warpgroup starts the copies, and two warpgroups
///              multiply 64 x 256 each: a column of B in shared memory is read for twice as many rows,
///              and while one warpgroup waits the tensor cores have the products of the other. A
///              warpgroup starts the products of a stage before it waits for those of the one before,
///              and only then frees that one: the tensor cores are never without work
/// Shapes       row-major, A and B as they are or transposed; the copies fill edges with zeros
/// Types        f16 or bf16, accumulators f32; C in the type of A and B or in f32
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 128) bytes through the L2 cache
/// Constraints  A, B and C aligned to 16 bytes, leading dimensions multiples of 16 bytes; extents
///              below 2^31 - 1024
/// Needs        sm_90a
/// Launch       384 threads, 209 KiB of shared memory, one block per multiprocessor. A quarter of a
///              multiprocessor has registers for three warps of 168 per thread: the producer leaves
///              all but 24 to the others, which get 240 (setmaxnreg)
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
/// Source       own
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
  auto& barriers = *reinterpret_cast<typename Tile::Barriers*>(shared + Tile::kBarriers);
  if (threadIdx.x == 0) barriers.init(1, Tile::kConsumerThreads / 32);
  auto const corner = BlockCorner::of<Tile>(p);
  int const stages = divide_up(p.k, kStageK);  // that are multiplied
  Turn<kConfig.stages> turn;
  __syncthreads();  // the barriers are ready
  if (threadIdx.x >= Tile::kConsumerThreads) {
    ptx::setmaxnreg_dec<24>();
    if (threadIdx.x == Tile::kConsumerThreads) {
#pragma unroll 1
      for (int t = 0; t < stages; ++t, turn.advance()) {
        unsigned char* const stage = shared + turn.stage * Tile::kStageBytes;
        ptx::MBarrier* const full = &barriers.full[turn.stage];
        ptx::mbarrier_wait(&barriers.empty[turn.stage], turn.parity ^ 1U);
        ptx::mbarrier_arrive_expect_tx(full, Tile::kStageBytes);
        Tile::A::load(stage, a, majors.a, corner.row, t * kStageK, full);
        Tile::B::load(stage + Tile::A::kBytes, b, majors.b, corner.col, t * kStageK, full);
      }
    }
  } else {
    ptx::setmaxnreg_inc<240>();
    WgmmaWarpgroup<Tile> warpgroup{shared, majors};
    int last = 0;  // the stage whose products are not complete
    if (stages == 0) warpgroup.clear();
    with_majors(majors, [&]<ptx::Major kA, ptx::Major kB>() {
#pragma unroll 1
      for (int t = 0; t < stages; ++t) {
        ptx::mbarrier_wait(&barriers.full[turn.stage], turn.parity);
        warpgroup.template multiply<kA, kB>(turn.stage, t > 0);
        ptx::wgmma_wait<1>();
        if (t > 0 && threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&barriers.empty[last]);
        last = turn.stage;
        turn.advance();
      }
      warpgroup.finish();
    });
    warpgroup.write(p, corner, shared);
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  with_wgmma_tile<kConfig>(
      problem, [&]<class Tile>(auto const& a, auto const& b, Majors majors, auto const& p) {
        int const blocks = divide_up(p.m, kConfig.bm) * divide_up(p.n, kConfig.bn);
        QUAD_LAUNCH(gemm_wgmma_specialised_kernel<Tile>, dim3(static_cast<unsigned>(blocks)),
                    dim3(Tile::kThreads), Tile::kSharedBytes, stream, a, b, majors, p);
      });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const wgmma_specialised{
    row("wgmma_specialised", "one warpgroup copies, two multiply by wgmma", kConfig),
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::gemm
