// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of matrices of 8-bit floats by `wgmma`, with sums that are as good as f32 ones.
///
///   C = alpha A B + beta C, or of A and B whose blocks have factors:
///   A(i, l) a_scale(l / 128, i) and B(l, j) b_scale(j / 128, l / 128)
///
/// Technique    tensor cores of sm_90 add 8-bit products with 13 bits behind the point of the largest
///              addend, of which a long sum is one. So a warpgroup has two sets of accumulators: in one
///              the tensor cores add up a stage, 128 of k, and the other takes those sums in f32, times
///              the factors of the stage where there are some. While one warpgroup adds, the tensor
///              cores have the products of the other: nothing waits. Two sets leave registers for 192
///              columns at most; among 128, 160 and 192 the shape chooses
///
///   warpgroup 0   products of stage 0 | adds | products of stage 1 | adds | ...
///   warpgroup 1     products of stage 0        | adds | products of stage 1 ...
///
/// Before       wgmma_persistent
/// Shapes       row-major, A and B as they are or transposed; copies fill edges with zeros and cut C off.
///              Only layout nt is read without a copy
/// Work         2 m n k flop; traffic m n k (1 / 160 + 1 / 256) bytes through the L2 cache
/// Launch       clusters of 2 blocks of 384 threads, up to 217 KiB of shared memory, one block per
///              multiprocessor. Registers as in `wgmma_specialised`
/// Accuracy     2^-8 |a| |b| / sqrt(k) + 2^-7 |c| beside what f32 rounds: 128 of k lose what the tensor
///              cores cut off
#include "gemm/hopper/gemm_wgmma.cuh"

#include <array>

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS

constexpr WgmmaConfig kPromoted192{.bn = 192, .stages = 5, .cluster = 2};
constexpr WgmmaConfig kPromoted160{.bn = 160, .stages = 5, .cluster = 2};
constexpr WgmmaConfig kPromoted128{.bn = 128, .stages = 6, .cluster = 2};
constexpr int kColumns = static_cast<int>(kScaled);
static_assert(kScaled == 128);  // a stage

struct BlockScales {
  float const* a;
  float const* b;
  std::int64_t lda, ldb;
};

/// Factors of a stage for the accumulators of a thread: of two rows, and of the columns up to a boundary and
/// from there on. They are loaded under the products of the stage before.
struct StageScales {
  float rows[2], left, right;
};

// Tile: 128 x 192, 160 or 128 of C, 64 rows a warpgroup. A stage has 128 of k.
// Shared memory: stage 0 (A, B), stage 1 ..., an epilogue tile a warp, full, empty.
template <class Tile, bool kHasScales>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    gemm_wgmma_promoted_kernel(const __grid_constant__ ptx::TensorMap a,
                               const __grid_constant__ ptx::TensorMap b,
                               const __grid_constant__ ptx::TensorMap c, bool copies_store_c,
                               HalfOperands<typename Tile::Type> p, BlockScales scales) {
  constexpr WgmmaConfig kConfig = Tile::kConfig;
  constexpr auto k = ptx::Major::k;
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  if (threadIdx.x == 0 && copies_store_c) ptx::tensor_map_prefetch(c);
  WgmmaRing<Tile> ring{shared, a, b};
  int const k_tiles = divide_up(p.k, Tile::kStageK);
  int const pairs = ClusterTiles<Tile>::count(p);
  int const first = static_cast<int>(blockIdx.x) / kConfig.cluster;
  int const step = static_cast<int>(gridDim.x) / kConfig.cluster;
  typename WgmmaRing<Tile>::State state;
  if (threadIdx.x >= Tile::kConsumerThreads) {
    ptx::setmaxnreg_dec<40>();
    if (threadIdx.x == Tile::kConsumerThreads) {
      int const rank = ring.rank();
#pragma unroll 1
      for (int pair = first; pair < pairs; pair += step) {
        auto const corner = ClusterTiles<Tile>::corner(p, pair);
#pragma unroll 1
        for (int t = 0; t < k_tiles; ++t, state.advance()) {
          auto const stage = ring.producer_acquire(state);
          Tile::A::load(stage.a, a, k, corner.row, t * Tile::kStageK, stage.full);
          Tile::B::load(stage.b, b, k, corner.col, t * Tile::kStageK, stage.full, rank);
        }
        if (p.beta != 0 && copies_store_c) Tile::prefetch_c(c, p, corner);
      }
      ring.producer_tail(state);
    }
  } else {
    ptx::setmaxnreg_inc<232>();
    WgmmaWarpgroup<Tile> warpgroup{shared, {k, k}};
    auto const lane = static_cast<int>(threadIdx.x) % 32;
    int const row =
        WgmmaWarpgroup<Tile>::row() + static_cast<int>(threadIdx.x) / 32 % 4 * 16 + lane / 4;
#pragma unroll 1
    for (int pair = first; pair < pairs; pair += step) {
      auto const corner = ClusterTiles<Tile>::corner(p, pair);
      auto& sums = warpgroup.accumulators(0);
      warpgroup.clear();
      // Columns of this tile from here on have the factors of the next block: a multiple of 32.
      int const boundary = kColumns - corner.col % kColumns;
      StageScales next{};
      auto const load_next = [&](int t) {
        if (!kHasScales || t >= k_tiles) return;
        int const last = (p.n - 1) / kColumns, block = corner.col / kColumns;
        next.left = scales.b[min(block, last) * scales.ldb + t];
        next.right = scales.b[min(block + 1, last) * scales.ldb + t];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          next.rows[i] = scales.a[t * scales.lda + min(corner.row + row + i * 8, p.m - 1)];
        }
      };
      load_next(0);
#pragma unroll 1
      for (int t = 0; t < k_tiles; ++t, state.advance()) {
        StageScales const of = next;
        ring.consumer_wait(state);
        float partial[1][Tile::kAccumulators];
        warpgroup.template multiply<k, k>(partial, state.stage, false);
        load_next(t + 1);
        ptx::wgmma_wait<0>(partial[0]);
        ring.consumer_release(state.stage);
        constexpr int kChunk = 16;  // accumulators of 32 columns
#pragma unroll
        for (int first_of = 0; first_of < Tile::kAccumulators; first_of += kChunk) {
          float const factor = first_of * 2 >= boundary ? of.right : of.left;
          float const factors[2] = {of.rows[0] * factor, of.rows[1] * factor};
#pragma unroll
          for (int e = first_of; e < first_of + kChunk; ++e) {
            if constexpr (kHasScales) {
              sums[e] = __fmaf_rn(partial[0][e], factors[e / 2 % 2], sums[e]);
            } else {
              sums[e] += partial[0][e];
            }
          }
        }
      }
      warpgroup.write(p, corner, shared, copies_store_c ? &c : nullptr);
    }
    // Copies may still be reading shared memory, which ends with the block.
    if (threadIdx.x % 32 == 0) ptx::bulk_wait_read<0>();
  }
}

template <WgmmaConfig kConfig, class T, bool kHasScales>
void launch_as(Problem const& problem, device::StreamView stream) {
  using Tile = WgmmaTile<kConfig, T>;
  auto const p = half_operands<T>(problem);
  int const clusters = blocks_of(problem, ClusterTiles<Tile>::count(p),
                                 multiprocessors_of(problem, stream.facts()) / kConfig.cluster);
  bool const copies_store_c = Tile::copies_c(problem.c);
  BlockScales const scales{static_cast<float const*>(problem.a_scales.data),
                           static_cast<float const*>(problem.b_scales.data), problem.a_scales.ld,
                           problem.b_scales.ld};
  QUAD_LAUNCH(
      (gemm_wgmma_promoted_kernel<Tile, kHasScales>),
      (LaunchShape{.grid = static_cast<unsigned>(clusters * kConfig.cluster),
                   .block = Tile::kThreads,
                   .shared_bytes = Tile::kSharedBytes,
                   .cluster = kConfig.cluster}),
      stream, Tile::A::map_of(problem.a, ptx::Major::k), Tile::B::map_of(problem.b, ptx::Major::k),
      copies_store_c ? Tile::map_of_c(problem.c) : ptx::TensorMap{}, copies_store_c, p, scales);
}

/// With operands that are K-major.
template <WgmmaConfig kConfig>
void launch_kind(Problem const& problem, device::StreamView stream) {
  bool const has_scales = problem.a_scales.data != nullptr;
  if (problem.a.type == core::DataType::e4m3) {
    (has_scales ? launch_as<kConfig, core::e4m3, true>
                : launch_as<kConfig, core::e4m3, false>)(problem, stream);
  } else {
    (has_scales ? launch_as<kConfig, core::e5m2, true>
                : launch_as<kConfig, core::e5m2, false>)(problem, stream);
  }
}

void launch(Problem const& given, device::StreamView stream) {
  if (given.m() == 0 || given.n() == 0) return;
  Problem const problem = copy_operands(given, KMajorCopies::all_of(given), stream);
  constexpr std::array<WgmmaKind<Problem>, 3> kKinds{
      {{kPromoted192, 785, launch_kind<kPromoted192>},
       {kPromoted160, 660, launch_kind<kPromoted160>},
       {kPromoted128, 555, launch_kind<kPromoted128>}}};
  std::int64_t const k_tiles = (problem.k() + 127) / 128;
  int const multiprocessors = multiprocessors_of(problem, stream.facts());
  auto const cycles = [&](WgmmaKind<Problem> const& kind) {
    return persistent_cycles(kind, problem.m(), problem.n(), k_tiles, multiprocessors);
  };
  launch_quickest(kKinds, cycles, problem, stream);
}

#endif  // QUAD_KERNELS

constexpr VariantInfo of_8_bits(VariantInfo info) {
  info.types = {{core::DataType::e4m3, core::Compute::f32, core::DataType::f32},
                {core::DataType::e4m3, core::Compute::f32, core::DataType::bf16},
                {core::DataType::e5m2, core::Compute::f32, core::DataType::f32},
                {core::DataType::e5m2, core::Compute::f32, core::DataType::bf16}};
  info.needs.other = "scratch for copies (but in layout nt with rows aligned to 16 bytes)";
  return info;
}

}  // namespace

extern constinit Variant<Problem> const wgmma_promoted{
    of_8_bits(any_rows(row("wgmma_promoted",
                           "wgmma_persistent of 8-bit floats, whose sums of 128 are added in f32",
                           WgmmaConfig{.bn = 128}, 40))),
    QUAD_KERNEL_LAUNCH(launch),
    {.scratch_bytes = scratch_of_copies,
     .notes = {.takes_scales = true, .bounds_multiprocessors = true}}};

}  // namespace quadrille::kernels::gemm
