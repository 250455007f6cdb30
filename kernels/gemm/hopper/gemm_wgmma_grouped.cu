// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix products of groups of rows by `wgmma`, as layers of experts have them, in one launch.
///
///   C_g = alpha A_g B_g + beta C_g for each group g, with rows of its own
///
/// Technique    groups lie one behind the other, so that one tensor map has all of A and one all of B. The
///              tiles of all groups are numbered through, and persistent blocks take every
///              gridDim.x-th; numbers ascend, so a block finds the group of the next one by walking
///              on from the last. A tile reads rows of the next group where its own end, and does not
///              store them: tensor copies store tiles that are whole, threads those that are not.
///              16-bit types are added up as in `wgmma_persistent`, 8-bit floats as in `wgmma_promoted`
///
///   group 0      tiles 0 to 5      128 rows, 128 rows, 40 rows; two tiles across
///   group 1      tiles 6, 7        13 rows
///   group 2      none              no rows
///   group 3      tiles 8 to 11     ...
///
/// Before       wgmma_persistent
/// Shapes       row-major, B stored n x k, rows of whole 16 bytes
/// Work         2 m n k flop for each group; a tile that is not full takes as long as one that is
/// Launch       384 threads, up to 217 KiB of shared memory, one block per multiprocessor. Registers as in
///              `wgmma_specialised`
/// Accuracy     of its types that of `wgmma_persistent` and `wgmma_promoted`
#include "gemm/hopper/gemm_wgmma.cuh"

#include <algorithm>
#include <array>
#include <string>

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS

constexpr WgmmaConfig kGrouped192{.bn = 192, .stages = 5};
constexpr WgmmaConfig kGrouped128{.bn = 128, .stages = 6};

/// Tiles of groups in turn, for numbers that ascend.
template <class Tile>
class GroupWalk {
 public:
  template <class T>
  __device__ GroupWalk(HalfOperands<T> const& p, std::int64_t const* first_rows, int groups)
      : first_rows_{first_rows}, groups_{groups}, n_{p.n} {
    enter(0);
  }

  /// Goes to a tile that is not before this one; false behind the last.
  __device__ bool go_to(int number) {
    while (number >= before_ + tiles()) {
      before_ += tiles();
      if (group_ + 1 >= groups_) return false;
      enter(group_ + 1);
    }
    // Tiles of a column are neighbours: they share columns of B.
    int const tiles_m = divide_up(end_ - first_, Tile::kConfig.bm), at = number - before_;
    corner_ = {first_ + at % tiles_m * Tile::kConfig.bm, at / tiles_m * Tile::kConfig.bn};
    return true;
  }

  /// In C.
  __device__ BlockCorner corner() const { return corner_; }
  /// Its first column in the rows of all B.
  __device__ int row_of_b() const { return group_ * n_ + corner_.col; }
  /// Where the rows of the group end.
  __device__ int end() const { return end_; }
  __device__ bool is_whole() const { return corner_.row + Tile::kConfig.bm <= end_; }

 private:
  __device__ void enter(int group) {
    group_ = group;
    first_ = static_cast<int>(first_rows_[group]);
    end_ = static_cast<int>(first_rows_[group + 1]);
  }
  __device__ int tiles() const {
    return divide_up(end_ - first_, Tile::kConfig.bm) * divide_up(n_, Tile::kConfig.bn);
  }

  std::int64_t const* first_rows_;
  int groups_, n_;
  int group_ = 0, first_ = 0, end_ = 0;
  int before_ = 0;  ///< tiles of the groups before
  BlockCorner corner_{};
};

// Tile: 128 x 192 or 128 of C, 64 rows a warpgroup. A stage has 128 bytes of k.
// Shared memory: stage 0 (A, B), stage 1 ..., an epilogue tile a warp, full, empty.
template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    gemm_wgmma_grouped_kernel(const __grid_constant__ ptx::TensorMap a,
                              const __grid_constant__ ptx::TensorMap b,
                              const __grid_constant__ ptx::TensorMap c, bool copies_store_c,
                              HalfOperands<typename Tile::Type> p, std::int64_t const* first_rows,
                              int groups) {
  constexpr auto k = ptx::Major::k;
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  if (threadIdx.x == 0 && copies_store_c) ptx::tensor_map_prefetch(c);
  WgmmaRing<Tile> ring{shared, a, b};
  int const k_tiles = divide_up(p.k, Tile::kStageK);
  int const step = static_cast<int>(gridDim.x);
  GroupWalk<Tile> walk{p, first_rows, groups};
  typename WgmmaRing<Tile>::State state;
  if (threadIdx.x >= Tile::kConsumerThreads) {
    ptx::setmaxnreg_dec<40>();
    if (threadIdx.x == Tile::kConsumerThreads) {
#pragma unroll 1
      for (int tile = static_cast<int>(blockIdx.x); walk.go_to(tile); tile += step) {
#pragma unroll 1
        for (int t = 0; t < k_tiles; ++t, state.advance()) {
          auto const stage = ring.producer_acquire(state);
          Tile::A::load(stage.a, a, k, walk.corner().row, t * Tile::kStageK, stage.full);
          Tile::B::load(stage.b, b, k, walk.row_of_b(), t * Tile::kStageK, stage.full);
        }
      }
    }
  } else {
    ptx::setmaxnreg_inc<232>();
    WgmmaWarpgroup<Tile> warpgroup{shared, {k, k}};
#pragma unroll 1
    for (int tile = static_cast<int>(blockIdx.x); walk.go_to(tile); tile += step) {
      if constexpr (sizeof(typename Tile::Type) == 1) {
        auto& sums = warpgroup.accumulators(0);
        warpgroup.clear();
#pragma unroll 1
        for (int t = 0; t < k_tiles; ++t, state.advance()) {
          ring.consumer_wait(state);
          float partial[1][Tile::kAccumulators];
          warpgroup.template multiply<k, k>(partial, state.stage, false);
          ptx::wgmma_wait<0>(partial[0]);
          ring.consumer_release(state.stage);
#pragma unroll
          for (int e = 0; e < Tile::kAccumulators; ++e) sums[e] += partial[0][e];
        }
      } else {
        if (k_tiles == 0) warpgroup.clear();
        int before = 0;  // the stage whose products were started last
#pragma unroll 1
        for (int t = 0; t < k_tiles; ++t, state.advance()) {
          ring.consumer_wait(state);
          warpgroup.template multiply<k, k>(state.stage, t > 0);
          ptx::wgmma_wait<1>();
          if (t > 0) ring.consumer_release(before);
          before = state.stage;
        }
        warpgroup.finish();
        if (k_tiles > 0) ring.consumer_release(before);
      }
      HalfOperands<typename Tile::Type> of_group = p;
      of_group.m = walk.end();
      bool const is_copied = copies_store_c && walk.is_whole();
      if (!is_copied && threadIdx.x % 32 == 0) ptx::bulk_wait_read<0>();  // of tiles before
      warpgroup.write(of_group, walk.corner(), shared, is_copied ? &c : nullptr);
    }
    // Copies may still be reading shared memory, which ends with the block.
    if (threadIdx.x % 32 == 0) ptx::bulk_wait_read<0>();
  }
}

std::int64_t tiles_of(Problem const& problem, WgmmaConfig const& config) {
  auto const divide = [](std::int64_t n, std::int64_t by) { return (n + by - 1) / by; };
  std::int64_t rows = 0;
  for (std::int64_t g = 0; g < problem.groups.count; ++g) {
    rows += divide(problem.rows_of_group(g), config.bm);
  }
  return rows * divide(problem.n(), config.bn);
}

template <WgmmaConfig kConfig>
void launch_kind(Problem const& problem, device::StreamView stream) {
  auto const with = [&]<class T>(T) {
    using Tile = WgmmaTile<kConfig, T>;
    auto const blocks =
        std::min<std::int64_t>(tiles_of(problem, kConfig), stream.facts().multiprocessors);
    bool const copies_store_c = Tile::copies_c(problem.c);
    QUAD_LAUNCH(gemm_wgmma_grouped_kernel<Tile>,
                (LaunchShape{.grid = static_cast<unsigned>(blocks),
                             .block = Tile::kThreads,
                             .shared_bytes = Tile::kSharedBytes,
                             .cluster = 1}),
                stream, Tile::A::map_of(problem.a, ptx::Major::k),
                Tile::B::map_of(problem.b, ptx::Major::k),
                copies_store_c ? Tile::map_of_c(problem.c) : ptx::TensorMap{}, copies_store_c,
                half_operands<T>(problem), problem.groups.first_rows_on_device,
                static_cast<int>(problem.groups.count));
  };
  switch (problem.a.type) {
    case core::DataType::e4m3: return with(core::e4m3{});
    case core::DataType::e5m2: return with(core::e5m2{});
    case core::DataType::bf16: return with(__nv_bfloat16{});
    default: return with(__half{});
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.m() == 0 || problem.n() == 0) return;
  constexpr std::array<WgmmaKind<Problem>, 2> kKinds{
      {{kGrouped192, 785, launch_kind<kGrouped192>}, {kGrouped128, 555, launch_kind<kGrouped128>}}};
  auto const size = static_cast<std::int64_t>(core::size_of(problem.a.type));
  auto const stages = static_cast<double>((problem.k() * size + 127) / 128);
  int const multiprocessors = stream.facts().multiprocessors;
  auto const cycles = [&](WgmmaKind<Problem> const& kind) {
    constexpr double kTileCycles = 1000;  // of a tile beside its stages: storing it
    std::int64_t const tiles = tiles_of(problem, kind.config);
    auto const rounds = static_cast<double>((tiles + multiprocessors - 1) / multiprocessors);
    return rounds * (stages * kind.stage_cycles + kTileCycles);
  };
  launch_quickest(kKinds, cycles, problem, stream);
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& problem) {
  return problem.groups.count == 1 ? "takes groups alone" : "";
}

constexpr VariantInfo of_groups(VariantInfo info) {
  info.types = {{core::DataType::f16},
                {core::DataType::f16, core::Compute::f32, core::DataType::f32},
                {core::DataType::bf16},
                {core::DataType::bf16, core::Compute::f32, core::DataType::f32},
                {core::DataType::e4m3, core::Compute::f32, core::DataType::f32},
                {core::DataType::e4m3, core::Compute::f32, core::DataType::bf16},
                {core::DataType::e5m2, core::Compute::f32, core::DataType::f32},
                {core::DataType::e5m2, core::Compute::f32, core::DataType::bf16}};
  info.needs.layouts = {Layout::nt};
  info.needs.other = "groups of 2 and more";
  return info;
}

}  // namespace

extern constinit Variant<Problem> const wgmma_grouped{
    of_groups(row("wgmma_grouped", "persistent blocks take tiles of all groups in turn",
                  WgmmaConfig{.bn = 128}, 30)),
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported, .notes = {.takes_groups = true}}};

}  // namespace quadrille::kernels::gemm
