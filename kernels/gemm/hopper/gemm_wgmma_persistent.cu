// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of 16-bit, tf32 or i8 matrices by `wgmma`, with blocks that stay for all their tiles.
///
///   C = alpha A B + beta C
///
/// Technique    there is a block on each multiprocessor, which computes tiles one after the other:
///              while its warps store one, the copies of the next are on their way, and the ring is
///              full when they come back to it. A warp hands 16 rows x 128 bytes of C at a time to
///              the copy engine and goes on; stmatrix writes them to shared memory without
///              conflicts. Tiles go in bands 8 tiles wide, so that what runs together is about
///              square, and the columns of B that a band reads stay in the L2 cache. Where beta is
///              not 0, the producer has C brought to the L2 cache before it is needed. The kernel
///              may start while the one before it in the stream ends (programmatic stream
///              serialization): it makes its barriers ready, and waits for the end of that one
///              (griddepcontrol) before it accesses memory, so that any kernel may stand before it
///              and after it. Where rows of C do not begin and end with a piece of 16 bytes, warps
///              store them, because copies would write the whole piece
///
///   producer      copies of tile 0 .......... | of tile 1 until the ring is full | ...
///   warpgroups    products of tile 0 .......... | put C of tile 0 into shared memory | of tile 1
///   copy engine                                       | stores C of tile 0 ...........
///
///              Both loops are those of wgmma_multicast inside of a loop over tiles, with a state of
///              the ring that goes on from tile to tile; the map of C, its prefetch and the wait at
///              the end belong to the stores by copies
/// Before       wgmma_multicast
/// Shapes       row-major, A and B as they are or transposed; copies fill edges with zeros and cut
///              C off
/// Work         2 m n k flop; traffic 2 m n k (1 / 256 + 1 / 256) bytes through the L2 cache, in
///              tf32 twice as many
/// Launch       clusters of 2 blocks of 384 threads, up to 225 KiB of shared memory, one block per
///              multiprocessor. Registers as in `wgmma_specialised`
/// Accuracy     i8 exact modulo 2^32; inputs 2^-11 each in tf32, to which the copies round; k eps w / 2 at worst, eps
///              (sqrt(k) + 2) w for random data
#include "gemm/hopper/gemm_wgmma.cuh"

#include <algorithm>

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS

// Tile: 128 x 256, 192, 128 or 64 of C (kWide, kMiddle, kNarrow, kSlim), 64 rows a warpgroup. A stage has
// 128 bytes of k (64 elements of 16 bits, 32 of tf32, 128 of i8); the ring has 4, 4, 6 or 8 stages.
// Shared memory: stage 0 (A, B), stage 1 ..., two or three epilogue tiles of 2 KiB a warp, full, empty.
template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    gemm_wgmma_persistent_kernel(const __grid_constant__ ptx::TensorMap a,
                                 const __grid_constant__ ptx::TensorMap b,
                                 const __grid_constant__ ptx::TensorMap c, Majors majors,
                                 bool copies_store_c, HalfOperands<typename Tile::Type> p) {
  constexpr WgmmaConfig kConfig = Tile::kConfig;
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  if (threadIdx.x == 0 && copies_store_c) ptx::tensor_map_prefetch(c);
  WgmmaRing<Tile> ring{shared, a, b};
  int const k_tiles = divide_up(p.k, Tile::kStageK);
  // A cluster takes pairs of tiles, one below the other; corner() is that of this block's tile.
  int const pairs = ClusterTiles<Tile>::count(p);
  int const first = static_cast<int>(blockIdx.x) / kConfig.cluster;
  int const step = static_cast<int>(gridDim.x) / kConfig.cluster;
  // Goes on from tile to tile. The producer waits for the other parity, so that the first round finds all
  // stages empty.
  typename WgmmaRing<Tile>::State state;
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();  // nothing has been read or written before
  if (threadIdx.x >= Tile::kConsumerThreads) {
    ptx::setmaxnreg_dec<40>();
    if (threadIdx.x == Tile::kConsumerThreads) {
      int const rank = ring.rank();
#pragma unroll 1
      for (int pair = first; pair < pairs; pair += step) {
        auto const corner = ClusterTiles<Tile>::corner(p, pair);
#pragma unroll 1
        for (int t = 0; t < k_tiles; ++t, state.advance()) {
          // Waits until 8 warps of each block have released the stage, then has `full` expect A and all
          // of B: this block sends half of B to both, the other block the other half.
          auto const stage = ring.producer_acquire(state);
          Tile::A::load(stage.a, a, majors.a, corner.row, t * Tile::kStageK, stage.full);
          Tile::B::load(stage.b, b, majors.b, corner.col, t * Tile::kStageK, stage.full, rank);
        }
        if (p.beta != 0 && copies_store_c) Tile::prefetch_c(c, p, corner);
      }
      // No block ends while the other may still copy to it or arrive at its barriers.
      ring.producer_tail(state);
    }
  } else {
    ptx::setmaxnreg_inc<232>();
    WgmmaWarpgroup<Tile> warpgroup{shared, majors};
#pragma unroll 1
    for (int pair = first; pair < pairs; pair += step) {
      if (k_tiles == 0) warpgroup.clear();
      int before = 0;  // the stage whose products were started last
      with_majors<typename Tile::Type>(majors, [&]<ptx::Major kA, ptx::Major kB>() {
#pragma unroll 1
        for (int t = 0; t < k_tiles; ++t, state.advance()) {
          ring.consumer_wait(state);
          warpgroup.template multiply<kA, kB>(state.stage, t > 0);  // false: overwrites
          ptx::wgmma_wait<1>();                      // those of the k-tile before are complete
          if (t > 0) ring.consumer_release(before);  // in both blocks, one arrival a warp
          before = state.stage;
        }
        warpgroup.finish();
      });
      if (k_tiles > 0) ring.consumer_release(before);
      // A warp has 16 rows of the warpgroup's 64. For each 128 bytes of them, in epilogue tiles by turns:
      //   lane 0       waits until the copy engine has read what this epilogue tile held before
      //   all lanes    alpha sums + beta C, by stmatrix to the epilogue tile (st.shared in f32);
      //                fence.proxy.async, __syncwarp
      //   lane 0       starts the tensor store, commits it as a group and goes on
      // Nobody waits for the last stores: they run under the products of the next tile.
      warpgroup.write(p, ClusterTiles<Tile>::corner(p, pair), shared,
                      copies_store_c ? &c : nullptr);
    }
    // Copies may still be reading shared memory, which ends with the block.
    if (threadIdx.x % 32 == 0) ptx::bulk_wait_read<0>();
  }
}

template <WgmmaConfig kConfig>
void launch(Problem const& problem, device::StreamView stream) {
  with_wgmma_tile<kConfig, true>(
      problem, stream, [&]<class Tile>(auto const& a, auto const& b, Majors majors, auto const& p) {
        int const clusters =
            blocks_of(problem, ClusterTiles<Tile>::count(p),
                      multiprocessors_of(problem, stream.facts()) / kConfig.cluster);
        bool const copies_store_c = Tile::copies_c(problem.c);
        QUAD_LAUNCH(gemm_wgmma_persistent_kernel<Tile>,
                    (LaunchShape{.grid = static_cast<unsigned>(clusters * kConfig.cluster),
                                 .block = Tile::kThreads,
                                 .shared_bytes = Tile::kSharedBytes,
                                 .cluster = kConfig.cluster,
                                 .overlaps_previous = true}),
                    stream, a, b, copies_store_c ? Tile::map_of_c(problem.c) : ptx::TensorMap{},
                    majors, copies_store_c, p);
      });
}

void launch_best(Problem const& problem, device::StreamView stream) {
  constexpr auto kKinds =
      persistent_kinds<Problem>(launch<kWide>, launch<kMiddle>, launch<kNarrow>, launch<kSlim>);
  auto const size = static_cast<std::int64_t>(core::size_of(problem.a.type));
  std::int64_t const k_tiles = (problem.k() * size + 127) / 128;
  int const multiprocessors = multiprocessors_of(problem, stream.facts());
  auto const cycles = [&](WgmmaKind<Problem> const& kind) {
    return persistent_cycles(kind, problem.m(), problem.n(), k_tiles, multiprocessors);
  };
  launch_quickest(kKinds, cycles, problem, stream);
}

#endif  // QUAD_KERNELS

constexpr VariantInfo also_i8(VariantInfo info) {
  info.types = {{core::DataType::f16},
                {core::DataType::f16, core::Compute::f32, core::DataType::f32},
                {core::DataType::bf16},
                {core::DataType::bf16, core::Compute::f32, core::DataType::f32},
                {core::DataType::f32, core::Compute::tf32},
                {core::DataType::i8, core::Compute::i32, core::DataType::i32}};
  info.needs.other =
      "scratch for copies (f32 and i8 but in layout nt, rows not aligned to 16 bytes); "
      "i8: whole alpha and beta";
  return info;
}

}  // namespace

extern constinit Variant<Problem> const wgmma_persistent{
    also_i8(any_rows(
        row("wgmma_persistent", "wgmma_multicast that stores a tile under the next", kSlim, 40))),
    QUAD_KERNEL_LAUNCH(launch_best),
    {.unsupported = whole_scalars,
     .scratch_bytes = scratch_of_copies,
     .notes = {.bounds_multiprocessors = true}}};

}  // namespace quadrille::kernels::gemm
