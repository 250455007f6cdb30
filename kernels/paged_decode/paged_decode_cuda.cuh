// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/attention_mma.cuh"
#include "common/ptx/copies.cuh"
#include "paged_decode/paged_decode.hpp"

#include <bit>

/// What the CUDA kernels of paged_decode share: where tokens are, the tiles of a block, and the epilogue that
/// combines its warps. A block attends to a range of the tokens of a sequence, for all heads that share a
/// head of keys.
namespace quadrille::kernels::paged_decode {

using attention::kPieceBytes;
using attention::kRowBytes;

inline constexpr int kWarps = 4;
inline constexpr int kThreads = 32 * kWarps;
inline constexpr int kRows = 16;    // of a tile of queries: a group of heads, and rows of zeros
inline constexpr int kTokens = 16;  // of a tile
inline constexpr int kStages = 3;   // tiles of a warp on their way
template <int kHead>
inline constexpr std::size_t kSharedBytes = std::size_t{kRowBytes<kHead>} *
                                            (kRows + kWarps * kStages * 2 * kTokens);

/// Of every variant.
inline constexpr Requirements kNeeds{.compute_capability = 80,
                                     .shared_bytes = kSharedBytes<128>,
                                     .alignment = kPieceBytes,
                                     .other = "groups of up to 16 heads, up to 65535 sequences"};

#ifdef QUAD_KERNELS

/// One step of decoding as kernels see it.
template <class T>
struct Operands {
  T const* q;
  T const* k;
  T const* v;
  T* o;
  int const* lengths;
  int const* table;
  int const* first_blocks;
  int sequences, heads, kv_heads, group;
  int shift;  ///< 2^shift tokens a block
  int table_width;
  float scale;
  std::int64_t between_queries;  ///< elements from those of a sequence to those of the next
};

template <class T>
Operands<T> operands(Problem const& problem) {
  Shape const& x = problem.shape;
  return {static_cast<T const*>(problem.q.data),
          static_cast<T const*>(problem.k.data),
          static_cast<T const*>(problem.v.data),
          static_cast<T*>(problem.o.data),
          problem.lengths,
          problem.table,
          problem.first_blocks,
          static_cast<int>(x.sequences),
          static_cast<int>(x.heads),
          static_cast<int>(x.kv_heads),
          static_cast<int>(x.group()),
          std::countr_zero(static_cast<std::uint64_t>(x.block_size)),
          static_cast<int>(x.blocks_of(x.longest)),
          static_cast<float>(x.scale()),
          problem.between_queries()};
}

/// Where the tokens of a sequence lie for a head of keys: rows of k and v, by way of the table.
struct PagedRows {
  int const* table;
  int shift, kv_heads, kv_head;
  __device__ long long operator()(int token) const {
    long long const block = table[token >> shift];
    return ((block * kv_heads + kv_head) << shift) + (token & ((1 << shift) - 1));
  }
};
template <class T>
__device__ PagedRows paged_rows(Operands<T> const& p, int sequence, int kv_head) {
  return {p.table + static_cast<long long>(sequence) * p.table_width, p.shift, p.kv_heads, kv_head};
}
/// The same of tokens side by side.
struct ContiguousRows {
  long long first;
  __device__ long long operator()(int token) const { return first + token; }
};

__device__ inline int warp_number() { return static_cast<int>(threadIdx.x) / 32; }

/// In shared memory: the queries of a group of heads, and a ring of tiles of keys and values for each warp.
template <int kHead>
struct SharedTiles {
  using Tile = attention::Tile<kHead>;
  Tile queries, ring;
  int warp = warp_number();

  __device__ explicit SharedTiles(unsigned char* shared)
      : queries{shared}, ring{queries.at(kRows, 0)} {}
  __device__ Tile keys(int stage) const {
    return {ring.at((warp * kStages + stage) * 2 * kTokens, 0)};
  }
  __device__ Tile values(int stage) const { return {keys(stage).at(kTokens, 0)}; }
};

/// Starts the copy of the queries of a group; rows beyond it become zeros.
template <class T, int kHead>
__device__ void copy_queries(Operands<T> const& p, int sequence, int kv_head,
                             attention::Tile<kHead> queries) {
  constexpr int kPieces = attention::Tile<kHead>::kPieces;
  T const* const q = p.q + sequence * p.between_queries + kv_head * p.group * kHead;
  for (int e = static_cast<int>(threadIdx.x); e < kRows * kPieces; e += kThreads) {
    int const row = e / kPieces, piece = e % kPieces;
    ptx::cp_async<kPieceBytes>(queries.at(row, piece), q + e * 8, row < p.group);
  }
}

/// The rows of a warp: one tile of queries, of which the group of heads is a part.
template <class T, int kHead>
using WarpRows = attention::WarpRows<T, kHead, 1, kTokens>;

/// Starts the copy of a tile of keys and of values by a warp; tokens from `end` on become zeros.
template <class T, int kHead, class Rows>
__device__ void copy_tile(Operands<T> const& p, Rows const& rows, int first, int end,
                          attention::Tile<kHead> keys, attention::Tile<kHead> values) {
  constexpr int kPieces = attention::Tile<kHead>::kPieces, kRowsAtOnce = 32 / kPieces;
  int const lane = static_cast<int>(threadIdx.x) % 32;
  int const row = lane / kPieces, piece = lane % kPieces;
#pragma unroll
  for (int e = 0; e < kTokens; e += kRowsAtOnce) {
    int const token = first + row + e;
    bool const is_there = token < end;
    long long const at = is_there ? rows(token) * kHead + piece * 8 : 0;
    ptx::cp_async<kPieceBytes>(keys.at(row + e, piece), p.k + at, is_there);
    ptx::cp_async<kPieceBytes>(values.at(row + e, piece), p.v + at, is_there);
  }
}

/// The largest score and the sum of the weights of each row of each warp.
struct WarpMaxima {
  float largest[kWarps][kRows], total[kWarps][kRows];
};

/// Epilogue: calls use(row, column, value, largest, total) for every element, the sum of weighted values by
/// one maximum of all tokens, which are combined warp by warp in order, in `shared` memory. All threads
/// of the block call it, when nobody reads what was there.
template <class T, int kHead, class Use>
__device__ void combine_warps(Operands<T> const& p, unsigned char* shared, WarpRows<T, kHead>& rows,
                              Use const& use) {
  auto* const maxima = reinterpret_cast<WarpMaxima*>(shared);
  auto* const parts = reinterpret_cast<float*>(maxima + 1);
  rows.for_pairs([&](int row, int column, float low, float high, float largest, float total) {
    if (row >= p.group) return;
    float* const part = parts + (warp_number() * kRows + row) * kHead + column;
    part[0] = low;
    part[1] = high;
    if (column == 0) {
      maxima->largest[warp_number()][row] = largest;
      maxima->total[warp_number()][row] = total;
    }
  });
  __syncthreads();  // all parts are there
  for (int e = static_cast<int>(threadIdx.x); e < p.group * kHead; e += kThreads) {
    int const row = e / kHead;
    float top = attention::lowest();
#pragma unroll
    for (int w = 0; w < kWarps; ++w) top = fmaxf(top, maxima->largest[w][row]);
    float value = 0, total = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      float const largest = maxima->largest[w][row];
      float const factor = largest == attention::lowest() ? 0 : expf((largest - top) * p.scale);
      value += parts[w * kRows * kHead + e] * factor;
      total += maxima->total[w][row] * factor;
    }
    use(row, e % kHead, value, top * p.scale, total);
  }
}

/// Calls launch.operator()<T, head size>(), unless o is empty.
template <class Launch>
void with_type(Problem const& problem, Launch const& launch) {
  if (problem.o.rows == 0) return;
  auto const with_head = [&]<class T>() {
    problem.shape.head_size == 64 ? launch.template operator()<T, 64>()
                                  : launch.template operator()<T, 128>();
  };
  problem.q.type == core::DataType::f16 ? with_head.template operator()<__half>()
                                        : with_head.template operator()<__nv_bfloat16>();
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::paged_decode
