// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// One step of decoding, a ring of tiles in each warp: from a copy in order, from the blocks, in parts.
///
///   o = sum_t p_t v_t,  p_t = exp(s_t - m) / sum exp(s - m),  s_t = q . k_t / sqrt(d)
///
/// Technique    a block of threads has a sequence and a head of keys; its warps take tiles of 16 tokens
///              in turn, each with a ring of its own, and have no barrier between tiles. The heads that
///              share keys are the rows of one tile of mma, which costs as much for one as for 16:
///              memory is the limit, with one flop a byte for each head of the group.
///                  tokens   | 0    | 16   | 32   | 48   | 64   | 80   | 96   | 112  | 128  | ...
///                  warp       0      1      2      3      0      1      2      3      0
///                  warp 0   cp.async   0 -> stage 0,  64 -> stage 1
///                           wait for 0;    cp.async 128 -> stage 2;   multiply stage 0
///                           wait for 64;   cp.async 192 -> stage 0;   multiply stage 1
///                           two tiles of 4 or 8 KiB on their way while a third one is read
///                  end      four (m, l, o), one of each warp, are combined in shared memory
///              `gather_then_attend` is what one does with this loop if it knows no tables: a first
///              kernel copies the blocks of every sequence to where they lie in order. Keys and values
///              are read, written and read again: three times the bytes, and memory for a second cache.
///              `paged` looks the place of each token up in the table while its tile is copied to shared
///              memory, so that keys and values cross memory once. It has as many blocks of threads as
///              sequences times heads of keys: few sequences leave multiprocessors idle, and of unequal
///              ones the longest is waited for. In `paged_split` a block has a part of the tokens, some
///              eight parts for each multiprocessor, and leaves its sums with its own maximum; a second
///              kernel joins the parts of a row in order, so that the result has the same bits every time
/// Before       gather_then_attend; paged_split starts from paged
/// Shapes       any lengths, blocks and tables; groups of up to 16 heads; without tokens o = 0
/// Work         4 h d flop for each token; each key and value is read once, by gather_then_attend read
///              twice and written once; paged_split: 4 (d + 2) bytes a head and part are written and read
/// Launch       128 threads; 56 or 106 KiB of shared memory; a block for each sequence and head of keys,
///              or for each part, of 128 to 4096 tokens. gather_then_attend: before it 128 threads, 16
///              bytes each; paged_split: after it d threads for each row of o
/// Accuracy     error_bound() of attention; weights are rounded to the type
#include "paged_decode/paged_decode_split.cuh"

namespace quadrille::kernels::paged_decode {
namespace {

constexpr std::int64_t kMaxGatherBlocks = 65535;  // of a grid, along tokens

/// Of keys and values: every sequence has room for the longest.
std::size_t gathered_bytes(Problem const& p, device::Facts const&) {
  Shape const& x = p.shape;
  return 2 * core::size_of(p.q.type) *
         static_cast<std::size_t>(x.sequences * x.kv_heads * x.longest * x.head_size);
}

#ifdef QUAD_KERNELS

/// The main loop: attends to tokens [begin, end) of a sequence, warps to every kWarps-th tile, and calls
/// use() as combine_warps() does. All threads of the block call it.
template <class T, int kHead, class TokenRows, class Use>
__device__ void attend(Operands<T> const& p, int sequence, int kv_head, TokenRows const& token_rows,
                       int begin, int end, unsigned char* shared, Use const& use) {
  SharedTiles<kHead> const tiles{shared};

  // Prologue: the queries, and all stages but one.
  copy_queries(p, sequence, kv_head, tiles.queries);
  constexpr int kStep = kWarps * kTokens;
  int const first = begin + tiles.warp * kTokens;
  WarpRows<T, kHead> rows{0, p.scale};
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) {
    copy_tile(p, token_rows, first + stage * kStep, end, tiles.keys(stage), tiles.values(stage));
    ptx::cp_async_commit();
  }
  ptx::cp_async_wait<kStages - 2>();
  __syncthreads();  // the queries are there

  int stage = 0;
  for (int token = first; token < end; token += kStep) {
    ptx::cp_async_wait<kStages - 2>();
    __syncwarp();  // the tile is there, and all lanes are done with the one before
    int const next = (stage + kStages - 1) % kStages;
    copy_tile(p, token_rows, token + (kStages - 1) * kStep, end, tiles.keys(next),
              tiles.values(next));
    ptx::cp_async_commit();
    rows.multiply_keys(tiles.queries, tiles.keys(stage));
    if (token + kTokens > end) rows.mask([&](int) { return end - token; });
    rows.online_softmax();
    rows.multiply_values(tiles.values(stage));
    stage = (stage + 1) % kStages;
  }
  ptx::cp_async_wait_all();
  __syncthreads();  // nobody reads the ring any more
  combine_warps(p, tiles.ring.data, rows, use);
}

/// The first row of a sequence and head in the copies.
template <class T>
__device__ long long first_row(Operands<T> const& p, int sequence, int kv_head, int longest) {
  return (static_cast<long long>(sequence) * p.kv_heads + kv_head) * longest;
}

template <class T, int kHead>
__global__ void __launch_bounds__(kThreads)
    paged_decode_gather_kernel(Operands<T> p, int longest, T* k, T* v) {
  constexpr int kPieces = attention::Tile<kHead>::kPieces, kRowsAtOnce = kThreads / kPieces;
  int const kv_head = static_cast<int>(blockIdx.x), sequence = static_cast<int>(blockIdx.y);
  PagedRows const rows = paged_rows(p, sequence, kv_head);
  int const thread = static_cast<int>(threadIdx.x), column = thread % kPieces * 8;
  long long const to = first_row(p, sequence, kv_head, longest);
  int const step = static_cast<int>(gridDim.z) * kRowsAtOnce;
  for (int t = static_cast<int>(blockIdx.z) * kRowsAtOnce + thread / kPieces;
       t < p.lengths[sequence]; t += step) {
    long long const from = rows(t) * kHead + column, at = (to + t) * kHead + column;
    *reinterpret_cast<uint4*>(k + at) = *reinterpret_cast<uint4 const*>(p.k + from);
    *reinterpret_cast<uint4*>(v + at) = *reinterpret_cast<uint4 const*>(p.v + from);
  }
}

template <class T, int kHead>
__global__ void __launch_bounds__(kThreads) paged_decode_attend_kernel(Operands<T> p, int longest) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  int const kv_head = static_cast<int>(blockIdx.x), sequence = static_cast<int>(blockIdx.y);
  T* const o = p.o + (static_cast<long long>(sequence) * p.heads + kv_head * p.group) * kHead;
  ContiguousRows const rows{first_row(p, sequence, kv_head, longest)};
  attend<T, kHead>(p, sequence, kv_head, rows, 0, p.lengths[sequence], shared,
                   [&](int row, int column, float value, float, float total) {
                     o[row * kHead + column] = from_f32<T>(total > 0 ? value / total : 0);
                   });
}

template <class T, int kHead>
__global__ void __launch_bounds__(kThreads) paged_decode_paged_kernel(Operands<T> p) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  int const kv_head = static_cast<int>(blockIdx.x), sequence = static_cast<int>(blockIdx.y);
  T* const o = p.o + (static_cast<long long>(sequence) * p.heads + kv_head * p.group) * kHead;
  // changed: nothing was copied; rows are looked up in the table
  attend<T, kHead>(p, sequence, kv_head, paged_rows(p, sequence, kv_head), 0, p.lengths[sequence],
                   shared, [&](int row, int column, float value, float, float total) {
                     o[row * kHead + column] = from_f32<T>(total > 0 ? value / total : 0);
                   });
}

template <class T, int kHead, bool kPaged>
__global__ void __launch_bounds__(kThreads)
    paged_decode_paged_split_kernel(Operands<T> p, Parts parts) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  int const kv_head = static_cast<int>(blockIdx.x), sequence = static_cast<int>(blockIdx.y);
  // changed: a part of the tokens, whose sums stay in f32 and are not divided
  int const part = static_cast<int>(blockIdx.z), begin = parts.division.begin(part);
  int const length = p.lengths[sequence];
  if (begin >= length) return;
  long long const row = static_cast<long long>(sequence) * p.heads + kv_head * p.group;
  attend<T, kHead>(p, sequence, kv_head, rows_of<kPaged>(p, sequence, kv_head), begin,
                   min(length, parts.division.begin(part + 1)), shared,
                   [&](int head, int column, float value, float largest, float total) {
                     parts.store<kHead>(row + head, part, column, value, largest, total);
                   });
}

void launch_gather_then_attend(Problem const& problem, device::StreamView stream) {
  with_type(problem, [&]<class T, int kHead>() {
    auto p = operands<T>(problem);
    auto const longest = static_cast<int>(problem.shape.longest);
    auto const heads = static_cast<unsigned>(p.kv_heads);
    auto const sequences = static_cast<unsigned>(p.sequences);
    T* const k = static_cast<T*>(problem.scratch);
    T* const v = k + problem.shape.sequences * problem.shape.kv_heads * longest * kHead;
    constexpr int kTokensOfBlock = 512;
    auto const parts = static_cast<unsigned>(
        std::clamp<std::int64_t>(divide_up(longest, kTokensOfBlock), 1, kMaxGatherBlocks));
    QUAD_LAUNCH((paged_decode_gather_kernel<T, kHead>), dim3(heads, sequences, parts), kThreads, 0,
                stream, p, longest, k, v);
    p.k = k;
    p.v = v;
    QUAD_LAUNCH((paged_decode_attend_kernel<T, kHead>), dim3(heads, sequences), kThreads,
                kSharedBytes<kHead>, stream, p, longest);
  });
}

void launch_paged(Problem const& problem, device::StreamView stream) {
  with_type(problem, [&]<class T, int kHead>() {
    auto const p = operands<T>(problem);
    dim3 const grid(static_cast<unsigned>(p.kv_heads), static_cast<unsigned>(p.sequences));
    QUAD_LAUNCH((paged_decode_paged_kernel<T, kHead>), grid, kThreads, kSharedBytes<kHead>, stream,
                p);
  });
}

template <bool kPaged>
void launch_paged_split(Problem const& problem, device::StreamView stream) {
  launch_split<false>(problem, stream,
                      [&]<class T, int kHead>(dim3 grid, Operands<T> const& p, Parts const& parts) {
                        QUAD_LAUNCH((paged_decode_paged_split_kernel<T, kHead, kPaged>), grid,
                                    kThreads, kSharedBytes<kHead>, stream, p, parts);
                      });
}

#endif  // QUAD_KERNELS

}  // namespace

#ifdef QUAD_KERNELS
void launch_contiguous_split(Problem const& problem, device::StreamView stream) {
  launch_paged_split<false>(problem, stream);
}
#endif  // QUAD_KERNELS

extern constinit Variant<Problem> const paged{
    {.name = "paged",
     .where = Where::cuda,
     .types = {core::DataType::f16, core::DataType::bf16},
     .needs = kNeeds,
     .preference = 10,
     .batch_invariant = true,
     .source = "after Kwon et al., PagedAttention",
     .summary = "a block for each sequence and head of keys reads them by way of the table"},
    QUAD_KERNEL_LAUNCH(launch_paged),
    {.unsupported = unsupported_on_gpu}};

extern constinit Variant<Problem> const gather_then_attend{
    {.name = "gather_then_attend",
     .where = Where::cuda,
     .types = {core::DataType::f16, core::DataType::bf16},
     .needs = kNeeds,
     .preference = 1,
     .source = "own",
     .summary = "a kernel puts the blocks in order, another one attends"},
    QUAD_KERNEL_LAUNCH(launch_gather_then_attend),
    {.unsupported = unsupported_on_gpu, .scratch_bytes = gathered_bytes}};

extern constinit Variant<Problem> const paged_split{
    {.name = "paged_split",
     .where = Where::cuda,
     .types = {core::DataType::f16, core::DataType::bf16},
     .needs = split_needs(),
     .preference = 30,
     .source = "after Dao et al., Flash-Decoding",
     .summary = "parts of each sequence side by side, joined in order by a second kernel"},
    QUAD_KERNEL_LAUNCH(launch_paged_split<true>),
    {.unsupported = unsupported_split, .scratch_bytes = parts_bytes}};

}  // namespace quadrille::kernels::paged_decode
