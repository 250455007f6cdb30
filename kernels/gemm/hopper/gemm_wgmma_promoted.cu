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
///              columns at most; among 128, 160 and 192 the shape chooses. A warp beside the producer
///              copies the factors of a stage, 4 bytes each, which arrive at the same barrier
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

/// Columns that have a factor in common, whatever block of 128 they belong to: tiles begin at multiples.
constexpr int kChunk = 32;
/// Of a stage, in shared memory: of the rows of a tile, and of its chunks of columns.
struct StageScales {
  float rows[128];
  alignas(16) float chunks[8];
};
/// Threads that copy them.
constexpr unsigned kScaleThreads = 32;

/// Starts the copies of factors of stage after stage, for a lane.
template <class T>
class ScaleCopies {
 public:
  __device__ ScaleCopies(BlockScales const& scales, HalfOperands<T> const& p, BlockCorner corner)
      : lda_{scales.lda} {
#pragma unroll
    for (int i = 0; i < kRows; ++i)
      rows_[i] = scales.a + min(corner.row + lane() + 32 * i, p.m - 1);
    int const last = (p.n - 1) / kColumns;
    chunk_ = scales.b + min((corner.col + lane() * kChunk) / kColumns, last) * scales.ldb;
  }
  __device__ void copy(StageScales& to, ptx::MBarrier* full) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      ptx::cp_async<4>(&to.rows[lane() + 32 * i], rows_[i]);
      rows_[i] += lda_;
    }
    if (lane() < 8) ptx::cp_async<4>(&to.chunks[lane()], chunk_);
    ++chunk_;
    ptx::cp_async_mbarrier_arrive_noinc(full);
  }

 private:
  static constexpr int kRows = 4;
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  float const* rows_[kRows];
  float const* chunk_;
  std::int64_t lda_;
};

// Tile: 128 x 192, 160 or 128 of C, 64 rows a warpgroup. A stage has 128 of k.
// Shared memory: stage 0 (A, B), stage 1 ..., an epilogue tile a warp, full, empty, factors of the stages.
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
  WgmmaRing<Tile> ring{shared, a, b, kHasScales ? kScaleThreads : 0};
  auto* const stage_scales = reinterpret_cast<StageScales*>(shared + Tile::kSharedBytes);
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
    } else if (kHasScales && threadIdx.x / 32 == Tile::kConsumerThreads / 32 + 1) {
#pragma unroll 1
      for (int pair = first; pair < pairs; pair += step) {
        ScaleCopies copies{scales, p, ClusterTiles<Tile>::corner(p, pair)};
#pragma unroll 1
        for (int t = 0; t < k_tiles; ++t, state.advance()) {
          ptx::MBarrier* const full = ring.copying_acquire(state);
          copies.copy(stage_scales[state.stage], full);
        }
      }
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
#pragma unroll 1
      for (int t = 0; t < k_tiles; ++t, state.advance()) {
        ring.consumer_wait(state);
        float partial[1][Tile::kAccumulators];
        warpgroup.template multiply<k, k>(partial, state.stage, false);
        constexpr int kChunks = kConfig.bn / kChunk, kOfChunk = kChunk / 2;  // accumulators
        float rows[2]{}, chunks[kChunks]{};
        if constexpr (kHasScales) {
          StageScales const& from = stage_scales[state.stage];
          rows[0] = from.rows[row];
          rows[1] = from.rows[row + 8];
#pragma unroll
          for (int i = 0; i < kChunks; ++i) chunks[i] = from.chunks[i];
          __syncwarp();  // all lanes have read them
        }
        ptx::wgmma_wait<0>(partial[0]);
        ring.consumer_release(state.stage);
#pragma unroll
        for (int i = 0; i < kChunks; ++i) {
          float const factors[2] = {rows[0] * chunks[i], rows[1] * chunks[i]};
#pragma unroll
          for (int e = i * kOfChunk; e < (i + 1) * kOfChunk; ++e) {
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
                   .shared_bytes =
                       Tile::kSharedBytes + (kHasScales ? kConfig.stages * sizeof(StageScales) : 0),
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
