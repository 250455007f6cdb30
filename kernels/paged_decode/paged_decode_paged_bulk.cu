// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// One step of decoding whose tokens the copy engine brings, by way of a table or side by side.
///
///   o_i, m_i, l_i of tokens [i n, (i + 1) n);  o = sum_i o_i exp(m_i - m) / sum_i l_i exp(m_i - m)
///
/// Technique    lane 0 looks up the places of a tile and starts tensor copies of 8 or 16 rows and
///              128 bytes of keys and of values, where the lanes of `paged_split` start 16 copies of
///              16 bytes each. Barriers count the bytes, and a stage is filled again as soon as it has
///              been read: three tiles of a warp are on their way where `paged_split` has two. Rows
///              behind the last token come with a tile, and become zeros. The second kernel is
///              launched while the last parts run, and waits for them.
///                  warp w     full[0]    full[1]    full[2]     an mbarrier a stage, no empty one:
///                  stage      0          1          2           the warp that reads it fills it
///                  copies     w          w + 4      w + 8       in tiles of 16 tokens
///                  wait full[0], phase 0; multiply; copy w + 12 to stage 0
///                  wait full[1], phase 0; multiply; copy w + 16 to stage 1
///                  wait full[2], phase 0; multiply; copy w + 20 to stage 2
///                  wait full[0], phase 1; ...
///              `contiguous` shows what paging costs: the tokens of a sequence and head of keys lie side
///              by side in memory: as many bytes by as many threads, but no table and long runs of
///              addresses. It reads the same pool as if its blocks were laid out so, hence other tokens
///              and another, right, result
/// Before       paged_split; contiguous starts from paged_bulk, before Hopper from paged_split
/// Shapes       any lengths, blocks and tables; groups of up to 16 heads; without tokens o = 0
/// Work         4 h d flop for each token; each key and value is read once; 4 (d + 2) bytes a head and part
///              are written and read
/// Launch       128 threads; 56 or 106 KiB of shared memory; parts of 128 to 4096 tokens; then d threads
///              for each row of o
/// Accuracy     error_bound() of attention; weights are rounded to the type
#include "common/ptx/bulk_copies.cuh"
#include "paged_decode/paged_decode_split.cuh"

namespace quadrille::kernels::paged_decode {
namespace {

#ifdef QUAD_KERNELS

/// A tile of a warp: keys, then values.
template <int kHead>
struct Stage {
  using Tile = attention::BoxedTile<kHead, kTokens>;
  static constexpr unsigned kBytes = 2 * Tile::kBytes;
  Tile keys, values;
  __device__ explicit Stage(unsigned char* at) : keys{at}, values{at + Tile::kBytes} {}
};
/// Of a block: the stages of all warps, then the queries.
template <int kHead>
constexpr std::size_t kBulkBytes =
    kWarps* kStages * 2 * 128 * kTokens*(kHead / 64) + std::size_t{kRows} * kRowBytes<kHead>;

/// Where a tile's tokens lie: those of one copy are rows after each other.
struct Maps {
  ptx::TensorMap k, v;
  int copied;  ///< tokens: a block of the table, or a tile
};

/// Starts the copies of the tokens of a tile that a block of the table has before `end`; one lane.
template <int kHead, class Rows>
__device__ void copy_stage(Maps const& maps, Rows const& rows, int first, int end,
                           Stage<kHead> const& to, ptx::MBarrier* full) {
  if (first >= end) return;
  int const copies = min(kTokens / maps.copied, divide_up(end - first, maps.copied));
  auto const bytes = static_cast<unsigned>(copies * maps.copied) * 2 * kHead * 2;
  ptx::mbarrier_arrive_expect_tx(full, bytes);
#pragma unroll 1
  for (int i = 0; i < copies; ++i) {
    auto const row = static_cast<int>(rows(first + i * maps.copied));
    int const at = i * maps.copied * 128;
#pragma unroll
    for (int box = 0; box < kHead / 64; ++box) {
      int const offset = at + box * Stage<kHead>::Tile::kBoxBytes;
      ptx::tensor_load<ptx::L2Hint::evict_first>(to.keys.data + offset, maps.k, row, 64 * box,
                                                 full);
      ptx::tensor_load<ptx::L2Hint::evict_first>(to.values.data + offset, maps.v, row, 64 * box,
                                                 full);
    }
  }
}

/// Zeros in the values of a tile behind the first `count`, whose weights are zeros too: what is there is
/// another sequence's, or no number. A warp.
template <class Tile>
__device__ void clear_values(Tile const& values, int count) {
  constexpr int kPieces = Tile::kBytes / 16;
  for (int e = static_cast<int>(threadIdx.x) % 32; e < kPieces; e += 32) {
    if (e / 8 % kTokens >= count) reinterpret_cast<uint4*>(values.data)[e] = {};
  }
  __syncwarp();
}

template <class T, int kHead, bool kPaged>
__global__ void __launch_bounds__(kThreads)
    paged_decode_paged_bulk_kernel(Operands<T> p, Parts parts, const __grid_constant__ Maps maps) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  begin_behind();
  int const kv_head = static_cast<int>(blockIdx.x), sequence = static_cast<int>(blockIdx.y);
  int const part = static_cast<int>(blockIdx.z), begin = parts.division.begin(part);
  int const length = p.lengths[sequence];
  if (begin >= length) return;
  long long const row = static_cast<long long>(sequence) * p.heads + kv_head * p.group;
  int const end = min(length, parts.division.begin(part + 1));
  auto const token_rows = rows_of<kPaged>(p, sequence, kv_head);
  attention::Tile<kHead> const queries{shared + kWarps * kStages * Stage<kHead>::kBytes};
  auto const stage_of = [&](int stage) {
    return Stage<kHead>{shared +
                        (warp_number() * kStages + stage) * static_cast<int>(Stage<kHead>::kBytes)};
  };

  // Prologue: the queries, and all stages of the ring.
  copy_queries(p, sequence, kv_head, queries);
  constexpr int kStep = kWarps * kTokens;
  int const first = begin + warp_number() * kTokens;
  bool const copies = threadIdx.x % 32 == 0;
  WarpRows<T, kHead> rows{0, p.scale};
  QUAD_SHARED(ptx::MBarrier, barriers, [kWarps * kStages]);
  ptx::MBarrier* const full = barriers + warp_number() * kStages;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kWarps * kStages; ++i) ptx::mbarrier_init(&barriers[i], 1);
    ptx::fence_mbarrier_init();
  }
  ptx::cp_async_commit();
  __syncthreads();  // the barriers are ready
  for (int s = 0; s < kStages && copies; ++s) {
    copy_stage(maps, token_rows, first + s * kStep, end, stage_of(s), &full[s]);
  }
  ptx::cp_async_wait_all();
  __syncthreads();  // the queries are there

  int stage = 0;
  unsigned parity = 0;
  for (int token = first; token < end; token += kStep) {
    Stage<kHead> const tile = stage_of(stage);
    ptx::mbarrier_wait(&full[stage], parity);
    rows.multiply_keys(queries, tile.keys);
    if (token + kTokens > end) {
      rows.mask([&](int) { return end - token; });
      clear_values(tile.values, end - token);
    }
    rows.online_softmax();
    rows.multiply_values(tile.values);
    __syncwarp();  // all lanes have read the stage
    if (copies) {
      copy_stage(maps, token_rows, token + kStages * kStep, end, tile, &full[stage]);
    }
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
  __syncthreads();  // nobody reads the ring any more
  combine_warps(p, shared, rows,
                [&](int head, int column, float value, float largest, float total) {
                  parts.store<kHead>(row + head, part, column, value, largest, total);
                });
}

Maps maps_of(Problem const& p, bool is_paged) {
  if (p.k.rows == 0) return {};  // nothing is loaded
  auto const copied =
      static_cast<int>(is_paged ? std::min<std::int64_t>(p.shape.block_size, kTokens) : kTokens);
  auto const map = [&](device::MatrixView const& x) {
    return ptx::make_tensor_map_2d({.data = x.data,
                                    .type = x.type,
                                    .rows = x.rows,
                                    .columns = x.cols,
                                    .leading = x.ld,
                                    .box_rows = static_cast<unsigned>(copied),
                                    .box_columns = 64,
                                    .swizzle = ptx::Swizzle::bytes_128});
  };
  return {map(p.k), map(p.v), copied};
}

template <bool kPaged>
void launch(Problem const& problem, device::StreamView stream) {
  launch_split<true>(problem, stream,
                     [&]<class T, int kHead>(dim3 grid, Operands<T> const& p, Parts const& parts) {
                       QUAD_LAUNCH((paged_decode_paged_bulk_kernel<T, kHead, kPaged>),
                                   (LaunchShape{.grid = grid,
                                                .block = kThreads,
                                                .shared_bytes = kBulkBytes<kHead>,
                                                .overlaps_previous = true}),
                                   stream, p, parts, maps_of(problem, kPaged));
                     });
}

/// As the fastest paged row for the device copies.
void launch_contiguous(Problem const& problem, device::StreamView stream) {
  bool const is_bulk = stream.facts().code.compute_capability >= 90;
  is_bulk ? launch<false>(problem, stream) : launch_contiguous_split(problem, stream);
}

#endif  // QUAD_KERNELS

std::string unsupported_contiguous(Problem const& p) {
  bool const is_shared = p.table != nullptr && p.first_blocks == nullptr;
  return is_shared ? "takes no pool whose blocks sequences share" : unsupported_split(p);
}

}  // namespace

extern constinit Variant<Problem> const paged_bulk{
    {.name = "paged_bulk",
     .where = Where::cuda,
     .types = {core::DataType::f16, core::DataType::bf16},
     .needs = split_needs(90),
     .preference = 40,
     .source = "after Dao et al., Flash-Decoding",
     .summary = "paged_split with blocks of keys and values by tensor copies"},
    QUAD_KERNEL_LAUNCH(launch<true>),
    {.unsupported = unsupported_split, .scratch_bytes = parts_bytes}};

extern constinit Variant<Problem> const contiguous{
    {.name = "contiguous",
     .role = Role::ceiling,
     .where = Where::cuda,
     .types = {core::DataType::f16, core::DataType::bf16},
     .needs = split_needs(kNeeds.compute_capability,
                          "groups of up to 16 heads, up to 65535 sequences of up to 8388480 "
                          "tokens, no block shared by sequences"),
     .source = "own",
     .summary = "paged_bulk or paged_split over tokens side by side: the ceiling"},
    QUAD_KERNEL_LAUNCH(launch_contiguous),
    {.unsupported = unsupported_contiguous, .scratch_bytes = parts_bytes}};

}  // namespace quadrille::kernels::paged_decode
