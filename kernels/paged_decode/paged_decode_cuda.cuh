// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/attention_mma.cuh"
#include "common/ptx/bulk_copies.cuh"
#include "common/ptx/copies.cuh"
#include "paged_decode/paged_decode.hpp"

#include <bit>

/// What the CUDA kernels of paged_decode share: a block of threads attends to a range of the tokens of a
/// sequence, for all heads that share a head of keys.
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
          static_cast<float>(x.scale())};
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

/// A group of heads after a range of tokens, of all warps of a block.
template <int kHead>
struct Joined {
  float largest[kWarps][kRows], total[kWarps][kRows];
};

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

/// The same by bulk copies, counted on `full`: a lane copies the row of one token, so that it looks up
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

/// How a warp fills its ring of tiles.
enum class Copies {
  pieces,  ///< 16 bytes a lane at a time; a stage is refilled while the next is computed with
  bulk,    ///< rows by the copy engine (sm_90); a stage is refilled as soon as it has been read
};

/// Attends to tokens [begin, end) of a sequence, warps to every kWarps-th tile, and calls
/// use(row, column, value, largest, total) for every element: the sum of weighted values, by one
/// maximum of all tokens, which are joined warp by warp in order. All threads of the block call it.
template <class T, int kHead, Copies copies = Copies::pieces, class Rows, class Use>
__device__ void attend(Operands<T> const& p, int sequence, int kv_head, Rows const& rows, int begin,
                       int end, unsigned char* shared, Use const& use) {
  using Tile = attention::Tile<kHead>;
  Tile const queries{shared};
  Tile const ring{queries.at(kRows, 0)};
  int const warp = static_cast<int>(threadIdx.x) / 32;
  auto const keys = [&](int stage) {
    return Tile{ring.at((warp * kStages + stage) * 2 * kTokens, 0)};
  };
  auto const values = [&](int stage) { return Tile{keys(stage).at(kTokens, 0)}; };

  // Load: queries of the group, then tiles for the ring.
  T const* const q = p.q + (static_cast<long long>(sequence) * p.heads + kv_head * p.group) * kHead;
  for (int e = static_cast<int>(threadIdx.x); e < kRows * Tile::kPieces; e += kThreads) {
    int const row = e / Tile::kPieces, piece = e % Tile::kPieces;
    ptx::cp_async<kPieceBytes>(queries.at(row, piece), q + e * 8, row < p.group);
  }
  int const first = begin + warp * kTokens;
  constexpr int kStep = kWarps * kTokens;
  attention::WarpRows<T, kHead, 1, kTokens> sums{0, p.scale};
  auto const compute = [&](int token, int stage) {
    sums.multiply_keys(queries, keys(stage));
    if (token + kTokens > end) sums.mask([&](int) { return end - token; });
    sums.online_softmax();
    sums.multiply_values(values(stage));
  };
  if constexpr (copies == Copies::bulk) {
    QUAD_SHARED(ptx::MBarrier, barriers, [kWarps * kStages]);
    ptx::MBarrier* const full = barriers + warp * kStages;
    if (threadIdx.x == 0) {
      for (int i = 0; i < kWarps * kStages; ++i) ptx::mbarrier_init(&barriers[i], 1);
      ptx::fence_mbarrier_init();
    }
    ptx::cp_async_commit();
    __syncthreads();  // the barriers are ready
#pragma unroll
    for (int s = 0; s < kStages; ++s) {
      bulk_copy_tile(p, rows, first + s * kStep, end, keys(s), values(s), &full[s]);
    }
    ptx::cp_async_wait_all();
    __syncthreads();  // the queries are there

    int stage = 0;
    unsigned parity = 0;
    for (int token = first; token < end; token += kStep) {
      ptx::mbarrier_wait(&full[stage], parity);
      compute(token, stage);
      bulk_copy_tile(p, rows, token + kStages * kStep, end, keys(stage), values(stage),
                     &full[stage]);
      if (++stage == kStages) {
        stage = 0;
        parity ^= 1;
      }
    }
  } else {
#pragma unroll
    for (int stage = 0; stage < kStages - 1; ++stage) {
      copy_tile(p, rows, first + stage * kStep, end, keys(stage), values(stage));
      ptx::cp_async_commit();
    }
    ptx::cp_async_wait<kStages - 2>();
    __syncthreads();  // the queries are there

    // Compute: each warp by itself, a tile while the next ones are on their way.
    int stage = 0;
    for (int token = first; token < end; token += kStep) {
      ptx::cp_async_wait<kStages - 2>();
      __syncwarp();  // the tile is there, and all lanes are done with the one before
      int const next = (stage + kStages - 1) % kStages;
      copy_tile(p, rows, token + (kStages - 1) * kStep, end, keys(next), values(next));
      ptx::cp_async_commit();
      compute(token, stage);
      stage = (stage + 1) % kStages;
    }
    ptx::cp_async_wait_all();
  }
  __syncthreads();  // nobody reads the ring any more

  // Join: sums of all warps in the ring's memory.
  auto* const joined = reinterpret_cast<Joined<kHead>*>(ring.data);
  auto* const parts = reinterpret_cast<float*>(joined + 1);
  sums.for_pairs([&](int row, int column, float low, float high, float largest, float total) {
    if (row >= p.group) return;
    float* const part = parts + (warp * kRows + row) * kHead + column;
    part[0] = low;
    part[1] = high;
    if (column == 0) {
      joined->largest[warp][row] = largest;
      joined->total[warp][row] = total;
    }
  });
  __syncthreads();  // all parts are there
  for (int e = static_cast<int>(threadIdx.x); e < p.group * kHead; e += kThreads) {
    int const row = e / kHead;
    float top = attention::lowest();
#pragma unroll
    for (int w = 0; w < kWarps; ++w) top = fmaxf(top, joined->largest[w][row]);
    float value = 0, total = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      float const largest = joined->largest[w][row];
      float const factor = largest == attention::lowest() ? 0 : expf((largest - top) * p.scale);
      value += parts[w * kRows * kHead + e] * factor;
      total += joined->total[w][row] * factor;
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
