// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Attention on the tensor cores, a tile of queries for each block.
///
///   for each tile of queries i, for each tile of keys j:  o_i, m_i, l_i take in tile j
///
/// Technique    `flash_v1` with the loops turned round: o, m and l of a tile of queries stay in registers
///              from the first tile of keys to the last, and there is a block for every tile of queries,
///              not for every head. Both products are mma. A warp has whole rows, so that a maximum is a
///              matter of four lanes; accumulators of the scores, rounded to the type, are the operand of
///              the second product as they lie. Tiles of keys and values come by cp.async, each under the
///              product of the other, to rows that are padded, so that ldmatrix meets no bank conflict.
///              Only tiles that the mask cuts are masked
/// Shapes       any extents and groups of heads; tiles of keys that the mask hides are left out
/// Types        f16, bf16; weights are rounded to the type, accumulators f32
/// Work         4 b h q k d flop, half of it under a causal mask; keys and values are read q / 128 times
/// Constraints  q, k, v and o aligned to 16 bytes; up to 65535 heads of all sequences
/// Launch       128 threads, each warp 32 queries; tiles of 128 queries x 64 keys; 36 or 68 KiB of shared
///              memory; causal: the longest tiles first
/// Accuracy     error_bound()
/// Source       after Dao, FlashAttention-2 (2023), algorithm 1; written anew
#include "attention/attention_cuda.cuh"
#include "common/ptx/copies.cuh"
#include "common/ptx/matrix.cuh"
#include "common/ptx/threads.cuh"

#include <cstring>

namespace quadrille::kernels::attention {
namespace {

constexpr int kThreads = 128;
constexpr int kQueries = 128;  // of a block
constexpr int kKeys = 64;      // of a tile
constexpr int kGroups = 2;     // of 16 queries each, of a warp
static_assert(kThreads / 32 * kGroups * 16 == kQueries);
constexpr int kPieceBytes = 16;

template <int kHead>
constexpr int kRowBytes = 2 * kHead + kPieceBytes;
template <int kHead>
constexpr std::size_t kSharedBytes = std::size_t{kRowBytes<kHead>} * (kQueries + 2 * kKeys);

#ifdef QUAD_KERNELS

/// A tile in shared memory, of rows of kHead elements of 16 bits and a piece of padding: pieces of eight
/// rows one below the other are in all banks. Every place that a thread accesses is a constant away from
/// its first one, where permuted places would have registers of their own.
template <int kHead>
struct Tile {
  static constexpr int kPieces = 2 * kHead / kPieceBytes;
  unsigned char* data;

  __device__ unsigned char* at(int row, int piece) const {
    return data + row * kRowBytes<kHead> + piece * kPieceBytes;
  }
};

/// The piece of a tile's rows that a thread copies, in each of so many rows at once.
template <int kHead>
struct CopyPlace {
  static constexpr int kRowsAtOnce = kThreads / Tile<kHead>::kPieces;
  int row, piece;
  __device__ CopyPlace()
      : row{static_cast<int>(threadIdx.x) / Tile<kHead>::kPieces},
        piece{static_cast<int>(threadIdx.x) % Tile<kHead>::kPieces} {}
  /// Of the element of the thread's first piece.
  __device__ int offset() const { return row * kHead + piece * 8; }
};

/// Starts the copy of kRows rows, of which `from` is the thread's first element; rows from `count` on
/// become zeros.
template <int kRows, int kHead, class T>
__device__ void copy_tile(T const* from, int count, Tile<kHead> to) {
  CopyPlace<kHead> const place;
  unsigned char* const first = to.at(place.row, place.piece);
#pragma unroll
  for (int e = 0; e < kRows; e += CopyPlace<kHead>::kRowsAtOnce) {
    ptx::cp_async<kPieceBytes>(first + e * kRowBytes<kHead>, from + e * kHead,
                               place.row + e < count);
  }
}

template <class T>
__device__ void multiply_add(float (&d)[4], std::uint32_t const (&a)[4],
                             std::uint32_t const (&b)[2]) {
  if constexpr (std::is_same_v<T, __half>) {
    ptx::mma_m16n8k16_f16(d, a, b);
  } else {
    ptx::mma_m16n8k16_bf16(d, a, b);
  }
}

/// Two values of the type in a register, the first in the low half.
template <class T>
__device__ std::uint32_t pair_of(float low, float high) {
  std::uint32_t word;
  if constexpr (std::is_same_v<T, __half>) {
    __half2 const pair = __floats2half2_rn(low, high);
    std::memcpy(&word, &pair, sizeof word);
  } else {
    __nv_bfloat162 const pair = __floats2bfloat162_rn(low, high);
    std::memcpy(&word, &pair, sizeof word);
  }
  return word;
}

/// The rows of a warp.
template <class T, int kHead>
class WarpRows {
  static constexpr int kScoreTiles = kKeys / 8, kValueTiles = kHead / 8;

 public:
  /// `first` is the block's first query.
  __device__ WarpRows(Operands<T> const& p, int first)
      : lane_{static_cast<int>(threadIdx.x) % 32},
        warp_row_{static_cast<int>(threadIdx.x) / 32 * kGroups * 16},
        first_{first},
        in_powers_{p.scale * 1.44269504F} {
#pragma unroll
    for (int r = 0; r < 2 * kGroups; ++r) {
      largest_[r] = lowest();
      total_[r] = 0;
    }
  }

  /// Scores, not scaled yet, of all rows with a tile of keys.
  __device__ void multiply_keys(Tile<kHead> queries, Tile<kHead> keys) {
    unsigned char const* const a_row = queries.at(warp_row_ + lane_ % 16, lane_ / 16);
    unsigned char const* const b_row = keys.at(lane_ % 8 + lane_ / 16 * 8, lane_ / 8 % 2);
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int j = 0; j < kScoreTiles; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) scores_[g][j][i] = 0;
      }
    }
#pragma unroll
    for (int t = 0; t < kHead / 16; ++t) {
      std::uint32_t a[kGroups][4];
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        ptx::ldmatrix_x4(a[g], a_row + 16 * g * kRowBytes<kHead> + 2 * t * kPieceBytes);
      }
#pragma unroll
      for (int j = 0; j < kScoreTiles; j += 2) {
        std::uint32_t b[4];  // of 16 keys
        ptx::ldmatrix_x4(b, b_row + 8 * j * kRowBytes<kHead> + 2 * t * kPieceBytes);
        std::uint32_t const low[2]{b[0], b[1]}, high[2]{b[2], b[3]};
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
          multiply_add<T>(scores_[g][j], a[g], low);
          multiply_add<T>(scores_[g][j + 1], a[g], high);
        }
      }
    }
  }

  /// Hides what the rows of a tile that begins at `key` do not see.
  __device__ void mask(Operands<T> const& p, int key) {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int const seen = visible(p, first_ + row_of(g, half)) - key;
#pragma unroll
        for (int j = 0; j < kScoreTiles; ++j) {
#pragma unroll
          for (int i = 2 * half; i < 2 * half + 2; ++i) {
            if (8 * j + ptx::sum_element(lane_, i).column >= seen) scores_[g][j][i] = lowest();
          }
        }
      }
    }
  }

  /// Makes weights of scores, and scales down what was summed where they raise the maximum.
  __device__ void weigh() {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      float offset[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int const r = 2 * g + half;
        float top = largest_[r];
#pragma unroll
        for (int j = 0; j < kScoreTiles; ++j) {
          top = fmaxf(top, fmaxf(scores_[g][j][2 * half], scores_[g][j][2 * half + 1]));
        }
        // Four lanes have the columns of a row.
        top = fmaxf(top, __shfl_xor_sync(~0U, top, 1));
        top = fmaxf(top, __shfl_xor_sync(~0U, top, 2));
        // Of a row that sees no key yet, all of whose weights are 2^-infinity.
        offset[half] = (top == lowest() ? 0 : top) * in_powers_;
        float const factor = ptx::ex2(largest_[r] * in_powers_ - offset[half]);
        largest_[r] = top;
        // Seldom, after the first tiles of keys.
        if (__any_sync(~0U, factor != 1)) {
          total_[r] *= factor;
#pragma unroll
          for (int j = 0; j < kValueTiles; ++j) {
            sums_[g][j][2 * half] *= factor;
            sums_[g][j][2 * half + 1] *= factor;
          }
        }
      }
#pragma unroll
      for (int j = 0; j < kScoreTiles; ++j) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float const low = ptx::ex2(scores_[g][j][2 * half] * in_powers_ - offset[half]);
          float const high = ptx::ex2(scores_[g][j][2 * half + 1] * in_powers_ - offset[half]);
          total_[2 * g + half] += low + high;
          // Accumulators of two tiles of 8 keys lie as an operand of 16 keys does.
          weights_[g][j / 2][j % 2 * 2 + half] = pair_of<T>(low, high);
        }
      }
    }
  }

  /// Adds the values of a tile, times the weights.
  __device__ void multiply_values(Tile<kHead> values) {
    unsigned char const* const b_row = values.at(lane_ % 16, lane_ / 16);
#pragma unroll
    for (int t = 0; t < kKeys / 16; ++t) {
      __syncwarp();  // loads of later steps stay behind it: moved up, they exceed the registers
#pragma unroll
      for (int j = 0; j < kValueTiles; j += 2) {
        std::uint32_t b[4];  // of 16 columns
        ptx::ldmatrix_x4_trans(b, b_row + 16 * t * kRowBytes<kHead> + j * kPieceBytes);
        std::uint32_t const low[2]{b[0], b[1]}, high[2]{b[2], b[3]};
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
          multiply_add<T>(sums_[g][j], weights_[g][t], low);
          multiply_add<T>(sums_[g][j + 1], weights_[g][t], high);
        }
      }
    }
  }

  __device__ void store(Operands<T> const& p, T* o) {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float total = total_[2 * g + half];
        total += __shfl_xor_sync(~0U, total, 1);
        total += __shfl_xor_sync(~0U, total, 2);
        float const factor = total > 0 ? 1 / total : 0;
        int const row = first_ + row_of(g, half);
        if (row >= p.queries) continue;
#pragma unroll
        for (int j = 0; j < kValueTiles; ++j) {
          auto* const to = reinterpret_cast<std::uint32_t*>(o + row * kHead + 8 * j +
                                                            ptx::sum_element(lane_, 0).column);
          *to = pair_of<T>(sums_[g][j][2 * half] * factor, sums_[g][j][2 * half + 1] * factor);
        }
      }
    }
  }

 private:
  /// From the block's first query.
  __device__ int row_of(int group, int half) const {
    return warp_row_ + 16 * group + ptx::sum_element(lane_, 2 * half).row;
  }

  int lane_, warp_row_, first_;
  float in_powers_;  // of two: what scores are scaled by
  float scores_[kGroups][kScoreTiles][4];
  std::uint32_t weights_[kGroups][kKeys / 16][4];
  float sums_[kGroups][kValueTiles][4] = {};
  float largest_[2 * kGroups], total_[2 * kGroups];  // of a row so far; sums of a lane's columns
};

template <class T, int kHead>
__global__ void __launch_bounds__(kThreads) attention_flash_v2_kernel(Operands<T> p) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  Tile<kHead> const queries{shared}, keys{queries.at(kQueries, 0)}, values{keys.at(kKeys, 0)};
  int const block = static_cast<int>(blockIdx.x), tiles = divide_up(p.queries, kQueries);
  bool const is_causal = p.more != 0;
  // Blocks of a head side by side read the same keys; under a mask those with most of them go first.
  int const head = is_causal ? block % p.heads : block / tiles;
  int const first = (is_causal ? tiles - 1 - block / p.heads : block % tiles) * kQueries;
  int const seen = visible(p, min(first + kQueries, p.queries) - 1);  // by the last row
  int const seen_by_all = visible(p, first);

  // In k and in v, of the tile that is copied next.
  long long from = first_key<kHead>(p, head) + CopyPlace<kHead>{}.offset();
  WarpRows<T, kHead> rows{p, first};
  if (seen > 0) {
    copy_tile<kQueries, kHead>(
        p.q + first_query<kHead>(p, head) + first * kHead + CopyPlace<kHead>{}.offset(),
        p.queries - first, queries);
    copy_tile<kKeys, kHead>(p.k + from, p.keys, keys);
  }
  ptx::cp_async_commit();
  auto const take_keys = [&]<bool kMasked>(int key) {
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
    if constexpr (kMasked) rows.mask(p, key);
    rows.weigh();
    rows.multiply_values(values);
  };
  int key = 0;
  for (; key + kKeys <= seen_by_all; key += kKeys) take_keys.template operator()<false>(key);
  for (; key < seen; key += kKeys) take_keys.template operator()<true>(key);
  rows.store(p, p.o + first_query<kHead>(p, head));
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

std::string unsupported(Problem const& p) {
  // Requirements tell of the other operands.
  bool const is_aligned = reinterpret_cast<std::uintptr_t>(p.v.data) % kPieceBytes == 0;
  return is_aligned ? unsupported_on_gpu(p) : "needs v aligned to 16 bytes";
}

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
    {.unsupported = unsupported}};

}  // namespace quadrille::kernels::attention
