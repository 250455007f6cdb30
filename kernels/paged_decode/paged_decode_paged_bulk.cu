// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// One step of decoding whose tokens the copy engine brings, by way of a table or side by side.
///
///   o_i, m_i, l_i of tokens [i n, (i + 1) n);  o = sum_i o_i exp(m_i - m) / sum_i l_i exp(m_i - m)
///
/// Technique    a lane looks up the place of one token for a tile, not of eight, and starts one
///              bulk copy of its row of keys or values, not 16 copies of 16 bytes. Barriers count
///              the bytes, and a stage is filled again as soon as it has been read: three tiles of
///              a warp are on their way where `paged_split` has two. The second kernel is launched
///              while the last parts run, and waits for them.
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

/// Starts the copy of a tile of keys and of values by a warp, counted on `full`: a lane copies the row of one token, so that it looks up
/// one place, and the copy engine makes the requests. Tokens from `end` on, whose weight is zero, are
/// the last one again: their values must be finite.
template <class T, int kHead, class Rows>
__device__ void bulk_copy_tile(Operands<T> const& p, Rows const& rows, int first, int end,
                               attention::Tile<kHead> keys, attention::Tile<kHead> values,
                               ptx::MBarrier* full) {
  constexpr unsigned kBytes = kHead * sizeof(T);
  static_assert(2 * kTokens == 32, "a row for each lane");
  if (first >= end) return;
  int const lane = static_cast<int>(threadIdx.x) % 32;
  bool const is_key = lane < kTokens;
  int const row = lane % kTokens;
  if (lane == 0) ptx::mbarrier_arrive_expect_tx(full, 2 * kTokens * kBytes);
  __syncwarp();  // bytes are expected before they come, and all lanes have read what was here
  long long const at = rows(min(first + row, end - 1)) * kHead;
  ptx::bulk_load<ptx::L2Hint::evict_first>((is_key ? keys : values).at(row, 0),
                                           (is_key ? p.k : p.v) + at, kBytes, full);
}

template <class T, int kHead, bool kPaged>
__global__ void __launch_bounds__(kThreads)
    paged_decode_paged_bulk_kernel(Operands<T> p, Parts parts) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  ptx::griddepcontrol_launch_dependents();
  int const kv_head = static_cast<int>(blockIdx.x), sequence = static_cast<int>(blockIdx.y);
  int const part = static_cast<int>(blockIdx.z), begin = part * parts.each;
  int const length = p.lengths[sequence];
  if (begin >= length) return;
  long long const row = static_cast<long long>(sequence) * p.heads + kv_head * p.group;
  int const end = min(length, begin + parts.each);
  auto const token_rows = rows_of<kPaged>(p, sequence, kv_head);
  SharedTiles<kHead> const tiles{shared};

  // Prologue: the queries, and all stages of the ring.
  tiles.copy_queries(p, sequence, kv_head);
  constexpr int kStep = kWarps * kTokens;
  int const first = begin + tiles.warp * kTokens;
  WarpRows<T, kHead> rows{0, p.scale};
  QUAD_SHARED(ptx::MBarrier, barriers, [kWarps * kStages]);
  ptx::MBarrier* const full = barriers + tiles.warp * kStages;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kWarps * kStages; ++i) ptx::mbarrier_init(&barriers[i], 1);
    ptx::fence_mbarrier_init();
  }
  ptx::cp_async_commit();
  __syncthreads();  // the barriers are ready
#pragma unroll
  for (int s = 0; s < kStages; ++s) {
    bulk_copy_tile(p, token_rows, first + s * kStep, end, tiles.keys(s), tiles.values(s), &full[s]);
  }
  ptx::cp_async_wait_all();
  __syncthreads();  // the queries are there

  int stage = 0;
  unsigned parity = 0;
  for (int token = first; token < end; token += kStep) {
    ptx::mbarrier_wait(&full[stage], parity);
    rows.multiply_keys(tiles.queries, tiles.keys(stage));
    if (token + kTokens > end) rows.mask([&](int) { return end - token; });
    rows.online_softmax();
    rows.multiply_values(tiles.values(stage));
    bulk_copy_tile(p, token_rows, token + kStages * kStep, end, tiles.keys(stage),
                   tiles.values(stage), &full[stage]);
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
  __syncthreads();  // nobody reads the ring any more
  combine_warps(p, tiles, rows, [&](int head, int column, float value, float largest, float total) {
    parts.store<kHead>(row + head, part, column, value, largest, total);
  });
}

template <bool kPaged>
void launch(Problem const& problem, device::StreamView stream) {
  launch_split<true>(problem, stream,
                     [&]<class T, int kHead>(dim3 grid, Operands<T> const& p, Parts const& parts) {
                       QUAD_LAUNCH((paged_decode_paged_bulk_kernel<T, kHead, kPaged>), grid,
                                   kThreads, kSharedBytes<kHead>, stream, p, parts);
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
     .summary = "paged_split with rows of keys and values by bulk copies"},
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
