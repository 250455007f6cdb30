// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Attention on the tensor cores, a tile of queries for each block.
///
///   for each tile of queries i, for each tile of keys j:  o_i, m_i, l_i take in tile j
///
/// Technique    the loops turned round: o, m and l of a tile of queries stay in registers from the
///              first tile of keys to the last, and there is a block for every tile of queries, not
///              for every head. Both products are mma. A warp has whole rows, so that a maximum is
///              a matter of four lanes; accumulators of the scores, rounded to the type, are the
///              operand of the second product as they lie. Tiles of keys and values come by
///              cp.async, each under the product of the other, to rows that are padded, so that
///              ldmatrix meets no bank conflict. Only tiles that the mask cuts are masked. A tile of
///              keys and values gives 128 flop a byte from the L2 cache, where `flash_v1` has 13 for
///              its queries and sums.
///                  cp.async   | v j .............. | k j+1 ................................ | v j+1
///                  warps      | S = q k j          | mask, online softmax | o += P v j      | S = ...
///                             ^                    ^                                        ^
///                  barrier    k j is there,        v j is there,                   k j+1 is there,
///                             v j-1 is read        k j is read                     v j is read
/// Before       flash_v1
/// Shapes       any extents and groups of heads; tiles of keys that the mask hides are left out
/// Work         4 b h q k d flop, half of it under a causal mask; keys and values are read q / 128 times
/// Launch       128 threads, each warp 32 queries; tiles of 128 queries x 64 keys; 36 or 68 KiB of shared
///              memory; causal: the longest tiles first
/// Accuracy     error_bound(); weights are rounded to the type
#include "attention/attention_flash_tile.cuh"

namespace quadrille::kernels::attention {
namespace {

using namespace flash;

#ifdef QUAD_KERNELS

template <class T, int kHead>
__global__ void __launch_bounds__(kThreads) attention_flash_v2_kernel(Operands<T> p) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  int const block = static_cast<int>(blockIdx.x), tiles = divide_up(p.queries, kQueries);
  bool const is_causal = p.more != 0;
  // Blocks of a head side by side read the same keys; under a mask those with most of them go first.
  int const head = is_causal ? block % p.heads : block / tiles;
  int const first = (is_causal ? tiles - 1 - block / p.heads : block % tiles) * kQueries;
  Tile<kHead> const queries{shared}, keys{queries.at(kQueries, 0)}, values{keys.at(kKeys, 0)};
  int const seen = visible(p, min(first + kQueries, p.queries) - 1);  // by the last row
  int const seen_by_all = visible(p, first);
  // In k and in v, of the tile that is copied next.
  long long from = first_key<kHead>(p, head) + CopyPlace<kHead>{}.offset();
  WarpRows<T, kHead, kGroups, kKeys> rows{static_cast<int>(threadIdx.x) / 32 * kGroups * 16,
                                          p.scale};
  if (seen > 0) {
    copy_tile<kQueries, kHead>(
        p.q + first_query<kHead>(p, head) + first * kHead + CopyPlace<kHead>{}.offset(),
        p.queries - first, queries);
    copy_tile<kKeys, kHead>(p.k + from, p.keys, keys);
  }
  ptx::cp_async_commit();
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

  // Epilogue: divided by the sum of the weights, from registers.
  rows.for_pairs([&](int row, int column, float low, float high, float, float total) {
    if (first + row >= p.queries) return;
    T* const o = p.o + first_query<kHead>(p, head) + first * kHead;
    float const factor = total > 0 ? 1 / total : 0;
    *reinterpret_cast<std::uint32_t*>(o + row * kHead + column) =
        pair_of<T>(low * factor, high * factor);
  });
}

template <class T>
void launch_as(Problem const& problem, device::StreamView stream) {
  auto const with_head = [&]<int kHead>() {
    auto const p = operands<T>(problem);
    auto const blocks =
        static_cast<unsigned>(divide_up(p.queries, kQueries)) * static_cast<unsigned>(p.heads);
    QUAD_LAUNCH((attention_flash_v2_kernel<T, kHead>), blocks, kThreads, kSharedBytes<kHead>,
                stream, p);
  };
  if (problem.o.rows == 0) return;
  problem.shape.head_size == 64 ? with_head.template operator()<64>()
                                : with_head.template operator()<128>();
}

void launch(Problem const& problem, device::StreamView stream) {
  problem.q.type == core::DataType::f16 ? launch_as<__half>(problem, stream)
                                        : launch_as<__nv_bfloat16>(problem, stream);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const flash_v2{
    {.name = "flash_v2",
     .where = Where::cuda,
     .types = {core::DataType::f16, core::DataType::bf16},
     .needs = {.compute_capability = 80,
               .shared_bytes = kSharedBytes<128>,
               .alignment = kPieceBytes,
               .other = "up to 65535 heads of all sequences"},
     .preference = 30,
     .source = "after Dao, FlashAttention-2, algorithm 1",
     .summary = "mma, tiles of queries in the outer loop, sums in registers"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported_on_gpu}};

}  // namespace quadrille::kernels::attention
