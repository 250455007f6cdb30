// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// A block of keys of ring attention on the tensor cores, and a kernel that merges it with those before.
///
///   m' = max(m, m_b),  l' = l exp(m - m') + l_b exp(m_b - m'),  a' likewise;  o = a' / l'
///
/// Technique    `flash_v2` of attention, which leaves its sums with their maxima and totals, in f32 and not
///              divided; a second kernel merges them with the state, block after block in the order of the
///              ring, so that the result has the same bits every time.
///                  queries stay; keys and values go on to the next of four ranks from step to step
///                  step     rank 0    rank 1    rank 2    rank 3     whose keys it has
///                  0          0         1         2         3        their sums are the state
///                  1          3         0         1         2        are merged with it
///                  2          2         3         0         1        are merged with it
///                  3          1         2         3         0        are merged, and divided: o
/// Shapes       any extents and groups of heads; tiles of keys and queries that see none are left out
/// Work         4 head_size flop for each pair of a query and a key that it sees; a block's sums are written
///              and read, the state is read and written: 16 (d + 2) bytes a row of q
/// Launch       128 threads, each warp 32 queries; tiles of 128 queries x 64 keys; 36 or 68 KiB of shared
///              memory; then 256 threads, each 4 columns of a row
/// Accuracy     error_bound(); weights are rounded to the type
#include "attention/attention_flash_tile.cuh"
#include "ring_attention/ring_attention.hpp"

namespace quadrille::kernels::ring_attention {
namespace {

using namespace attention::flash;

constexpr int kMergeThreads = 256;
constexpr int kColumns = 4;  // of a thread that merges

std::size_t part_bytes(Problem const& p, device::Facts const&) {
  return sizeof(float) * static_cast<std::size_t>(state_size(p.q.rows, p.shape.head_size));
}

#ifdef QUAD_KERNELS

using attention::Operands, attention::first_key, attention::first_query, attention::visible;

template <class T, int kHead>
__global__ void __launch_bounds__(kThreads) ring_attention_part_kernel(Operands<T> p, State to) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  int const block = static_cast<int>(blockIdx.x), tiles = divide_up(p.queries, kQueries);
  bool const grows = p.more != 0;
  // As in flash_v2: neighbours read the same keys, or the tiles with most of them go first.
  int const head = grows ? block % p.heads : block / tiles;
  int const first = (grows ? tiles - 1 - block / p.heads : block % tiles) * kQueries;
  attention::Tile<kHead> const queries{shared}, keys{queries.at(kQueries, 0)},
      values{keys.at(kKeys, 0)};
  int const seen = visible(p, min(first + kQueries, p.queries) - 1);  // by the last row
  int const seen_by_all = visible(p, first);
  // In k and in v, of the tile that is copied next.
  long long from = first_key<kHead>(p, head) + CopyPlace<kHead>{}.offset();
  attention::WarpRows<T, kHead, kGroups, kKeys> rows{
      static_cast<int>(threadIdx.x) / 32 * kGroups * 16, p.scale};
  if (seen > 0) {
    copy_tile<kQueries, kHead>(
        p.q + first_query<kHead>(p, head) + first * kHead + CopyPlace<kHead>{}.offset(),
        p.queries - first, queries);
    copy_tile<kKeys, kHead>(p.k + from, p.keys, keys);
  }
  ptx::cp_async_commit();
  // As in flash_v2.
  auto const add_tile = [&]<bool kMasked>(int key) {
    ptx::cp_async_wait<0>();
    __syncthreads();  // the keys are there, and nobody reads the values before any more
    copy_tile<kKeys, kHead>(p.v + from, p.keys - key, values);
    ptx::cp_async_commit();
    rows.multiply_keys(queries, keys);
    ptx::cp_async_wait<0>();
    __syncthreads();  // the values are there, and nobody reads the keys any more
    from += kKeys * kHead;
    if (key + kKeys < seen) copy_tile<kKeys, kHead>(p.k + from, p.keys - key - kKeys, keys);
    ptx::cp_async_commit();
    if constexpr (kMasked) rows.mask([&](int row) { return visible(p, first + row) - key; });
    rows.online_softmax();
    rows.multiply_values(values);
  };
  int key = 0;
  for (; key + kKeys <= seen_by_all; key += kKeys) add_tile.template operator()<false>(key);
  for (; key < seen; key += kKeys) add_tile.template operator()<true>(key);

  // changed: the sums stay in f32 and are not divided
  rows.for_pairs([&](int row, int column, float low, float high, float largest, float total) {
    if (first + row >= p.queries) return;
    long long const begin = static_cast<long long>(head) * p.query_rows + first;
    float* const sums = to.sums + begin * kHead;
    *reinterpret_cast<float2*>(sums + row * kHead + column) = make_float2(low, high);
    if (column == 0) {
      to.largest[begin + row] = largest;
      to.total[begin + row] = total;
    }
  });
}

/// Merges a part, of queries from `first_query` on, with the state, and divides what is the last.
template <class T, int kHead>
__global__ void __launch_bounds__(kMergeThreads)
    ring_attention_merge_kernel(Operands<T> p, int first_query, State part, State state,
                                bool is_last) {
  constexpr int kLanes = kHead / kColumns;  // of a row, all in a warp
  long long const thread =
      static_cast<long long>(blockIdx.x) * kMergeThreads + static_cast<int>(threadIdx.x);
  long long const row = thread / kLanes;
  int const column = static_cast<int>(thread % kLanes) * kColumns;
  bool const has_part = row % p.queries >= first_query;
  bool const works = row < static_cast<long long>(p.heads) * p.queries && (has_part || is_last);
  float top = attention::lowest(), total = 0;
  float4 sum = make_float4(0, 0, 0, 0);
  auto const add = [&](State const& from, float largest) {
    if (largest == attention::lowest()) return;  // nothing was summed
    float const factor = expf((largest - top) * p.scale);
    float4 const more = *reinterpret_cast<float4 const*>(from.sums + row * kHead + column);
    total += from.total[row] * factor;
    sum.x += more.x * factor;
    sum.y += more.y * factor;
    sum.z += more.z * factor;
    sum.w += more.w * factor;
  };
  if (works) {
    float const before = state.largest[row];
    float const added = has_part ? part.largest[row] : attention::lowest();
    top = fmaxf(before, added);
    add(state, before);
    add(part, added);
  }
  __syncwarp();  // all threads of a row have read what one of them writes
  if (!works) return;
  if (is_last) {
    float const factor = total > 0 ? 1 / total : 0;
    uint2 const words = make_uint2(attention::pair_of<T>(sum.x * factor, sum.y * factor),
                                   attention::pair_of<T>(sum.z * factor, sum.w * factor));
    *reinterpret_cast<uint2*>(p.o + row * kHead + column) = words;
    return;
  }
  *reinterpret_cast<float4*>(state.sums + row * kHead + column) = sum;
  if (column == 0) {
    state.largest[row] = top;
    state.total[row] = total;
  }
}

/// The queries from `first_query` on, which are all that see a key, and their rows of a state.
template <class T, int kHead>
Operands<T> seeing(Operands<T> p, int first_query) {
  p.q += first_query * kHead;
  p.queries -= first_query;
  p.seen_by_first += first_query * p.more;
  return p;
}
template <int kHead>
State seeing(State const& state, int first_query) {
  return {state.largest + first_query, state.total + first_query, state.sums + first_query * kHead};
}

template <class T, int kHead>
void launch_as(Problem const& problem, device::StreamView stream) {
  Operands<T> p = attention::operands<T>(attention_of(problem));
  p.seen_by_first = static_cast<int>(problem.seen.keys);
  p.more = static_cast<int>(problem.seen.more);
  auto const first_query = static_cast<int>(problem.seen.first_query);
  std::int64_t const rows = problem.q.rows;
  State const part = problem.is_first ? problem.state
                                      : state_in(static_cast<float*>(problem.scratch), rows, kHead);
  if (first_query < p.queries) {
    Operands<T> const those = seeing<T, kHead>(p, first_query);
    auto const blocks = static_cast<unsigned>(divide_up(those.queries, kQueries)) *
                        static_cast<unsigned>(those.heads);
    QUAD_LAUNCH((ring_attention_part_kernel<T, kHead>), blocks, kThreads, kSharedBytes<kHead>,
                stream, those, seeing<kHead>(part, first_query));
  }
  if (problem.is_first && !problem.is_last) return;
  std::int64_t const per_block = kMergeThreads / (kHead / kColumns);
  // The first block is the state: of no query there is anything to merge.
  QUAD_LAUNCH((ring_attention_merge_kernel<T, kHead>),
              static_cast<unsigned>((rows + per_block - 1) / per_block), kMergeThreads, 0, stream,
              p, problem.is_first ? p.queries : first_query, part, problem.state, problem.is_last);
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.q.rows == 0) return;
  auto const with_head = [&]<class T>() {
    problem.shape.head_size == 64 ? launch_as<T, 64>(problem, stream)
                                  : launch_as<T, 128>(problem, stream);
  };
  problem.q.type == core::DataType::f16 ? with_head.template operator()<__half>()
                                        : with_head.template operator()<__nv_bfloat16>();
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const flash_merge{
    {.name = "flash_merge",
     .where = Where::cuda,
     .types = {core::DataType::f16, core::DataType::bf16},
     .needs = {.compute_capability = 80,
               .shared_bytes = kSharedBytes<128>,
               .alignment = attention::kPieceBytes,
               .other = "up to 65535 heads of all sequences"},
     .preference = 30,
     .source = "after Dao, FlashAttention-2, and Liu et al., Ring attention",
     .summary = "flash_v2 of a block, its sums merged with the state by a second kernel"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported_on_gpu, .scratch_bytes = part_bytes}};

}  // namespace quadrille::kernels::ring_attention
