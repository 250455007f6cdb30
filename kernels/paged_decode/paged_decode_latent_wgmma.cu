// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// One step of decoding over a paged cache of latent keys, by wgmma.
///
///   o = sum_t p_t v_t,  p_t = exp(s_t - m) / sum exp(s - m),  s_t = q . k_t / sqrt(576),  v_t = k_t(0 .. 511)
///
/// Technique    a token is read once for its score and its value, for 64 heads: 121 flop a byte, so that the
///              tensor cores are as busy as the memory. The sums of 64 heads, 64 x 512 in f32, fill the
///              registers of two warpgroups, half of the columns each. For pairs of tiles of 64
///              tokens each of the two has the scores and the softmax of one tile, and passes its
///              weights to the other in the part of the tile that is no value: while one is at its
///              softmax, the other multiplies. A third of a tile is columns 0 to 255, to 511, or to
///              575; for each warpgroup a warp copies, by the table, what that one frees, in the order
///              in which it does, and scores begin with the third that came first.
///                  warpgroup 0   S0 = q k0 | softmax, m0 | left += P0 v0 ...... | P0 f1 -> | left += P1 v1
///                  warpgroup 1   S1 = q k1 | wait for m0, softmax, f1, P1 -> | right += P1 v1, P0 f1 v0
///              All blocks get equally many pairs of tiles, of one sequence or of several: what a block
///              has of a sequence that others have too is stored in f32, and a second kernel joins it
///              in order
/// Before       paged_bulk
/// Shapes       any lengths, blocks and tables; any number of heads, in tiles of 64; without tokens o = 0
/// Work         2 (576 + 512) h flop for each token; each key is read once for each 64 heads; up to two
///              tiles of 64 x 514 sums for each block are written and read
/// Launch       384 threads, 218 KiB of shared memory, one block per multiprocessor; then 128 threads for
///              each 8 rows of o
/// Accuracy     error_bound() of attention; weights are rounded to the type
#include "attention/attention_mma.cuh"
#include "common/ptx/barriers.cuh"
#include "common/ptx/bulk_copies.cuh"
#include "common/ptx/threads.cuh"
#include "common/ptx/wgmma.cuh"
#include "device/device.hpp"
#include "paged_decode/paged_decode_cuda.cuh"

#include <algorithm>

namespace quadrille::kernels::paged_decode {
namespace {

constexpr int kKey = static_cast<int>(kLatentKey), kValue = static_cast<int>(kLatentValue);
constexpr int kHeads = 64, kTileTokens = 64, kPairTokens = 2 * kTileTokens;  // of a tile, of a pair
constexpr int kBlockThreads = 384;  // two warpgroups that multiply, and one that copies
constexpr int kBox = 64 * 128;      // bytes of 64 rows of 64 elements
constexpr int kTileBytes = kKey / 64 * kBox;
constexpr int kSlotFloats = kHeads * (kValue + 2);  // sums, largest scores, totals of the weights

/// What one warp copies and one warpgroup frees: boxes of 64 columns.
constexpr int kThirds = 3;
QUAD_HD constexpr int first_box(int third) { return 4 * third; }
QUAD_HD constexpr int boxes_of(int third) { return third < 2 ? 4 : 1; }
static_assert(first_box(2) + boxes_of(2) == kKey / 64);

/// What warpgroups tell each other of the rows.
struct Messages {
  float largest[2][kHeads], factor[2][kHeads], total[2][kHeads];
};
constexpr std::size_t kBarrierBytes = 256;
constexpr std::size_t kLatentBytes = 3 * std::size_t{kTileBytes} + sizeof(Messages) + kBarrierBytes;

std::int64_t head_tiles_of(Shape const& x) { return (x.heads + kHeads - 1) / kHeads; }

/// Blocks that share the tokens, for each tile of heads.
std::int64_t parts_of(Shape const& x, device::Facts const& device) {
  return std::max<std::int64_t>(1, device.multiprocessors / head_tiles_of(x));
}

std::size_t slots_bytes(Problem const& p, device::Facts const& device) {
  return sizeof(float) * 2 * kSlotFloats *
         static_cast<std::size_t>(parts_of(p.shape, device) * head_tiles_of(p.shape));
}

#ifdef QUAD_KERNELS

struct Barriers {
  ptx::MBarrier full[2][kThirds], empty[2][kThirds];  // of the two tiles
  ptx::MBarrier queries_full, queries_empty;
};
static_assert(sizeof(Barriers) <= kBarrierBytes);

template <class T>
struct Latent {
  int const* lengths;
  int const* table;
  T* o;
  float* slots;
  int sequences, heads, head_tiles, parts;
  int shift;  ///< 2^shift tokens a block of the table
  int table_width;
  float scale_log2;  ///< scores are powers of two
};

__device__ inline int lane_number() { return static_cast<int>(threadIdx.x) % 32; }
__device__ inline int pairs_of(int length) { return divide_up(length, kPairTokens); }

/// Pairs of tiles of the sequences before one; a warp.
__device__ inline int pairs_before(int const* lengths, int sequence) {
  int count = 0;
  for (int s = lane_number(); s < sequence; s += 32) count += pairs_of(lengths[s]);
#pragma unroll
  for (int width = 16; width > 0; width /= 2) count += __shfl_xor_sync(~0U, count, width);
  return count;
}

/// The first pair of a part of all of them.
__device__ inline int first_pair(int part, int pairs, int parts) {
  return static_cast<int>(static_cast<long long>(part) * pairs / parts);
}
/// The part that has a pair.
__device__ inline int part_of(int pair, int pairs, int parts) {
  return static_cast<int>(((pair + 1LL) * parts - 1) / pairs);
}

/// What a block has of a sequence: tiles [first, end).
struct Fragment {
  int sequence, length, first, end;
  bool is_whole;  ///< all of the sequence
  int slot;       ///< of the block, else
};

/// Calls f(fragment) for each of a block's; the same in all of its threads.
template <class T, class F>
__device__ __forceinline__ void for_each_fragment(Latent<T> const& p, F const& f) {
  int const lane = lane_number();
  int const pairs = pairs_before(p.lengths, p.sequences);
  int const parts = min(p.parts, pairs), part = static_cast<int>(blockIdx.x) / p.head_tiles;
  if (part >= parts) return;
  int const begin = first_pair(part, pairs, parts), end = first_pair(part + 1, pairs, parts);
  // The sequence of the first pair: 32 at a time.
  int sequence = 0, before = 0;
  for (int s = 0; s < p.sequences; s += 32) {
    int const own = s + lane < p.sequences ? pairs_of(p.lengths[s + lane]) : 0;
    int sum = own;  // up to this lane's
#pragma unroll
    for (int width = 1; width < 32; width *= 2) {
      int const left = __shfl_up_sync(~0U, sum, width);
      if (lane >= width) sum += left;
    }
    unsigned const reached = __ballot_sync(~0U, before + sum > begin);
    if (reached != 0) {
      int const found = __ffs(static_cast<int>(reached)) - 1;
      sequence = s + found;
      before += __shfl_sync(~0U, sum - own, found);
      break;
    }
    before += __shfl_sync(~0U, sum, 31);
  }
#pragma unroll 1
  for (int at = begin; at < end; ++sequence) {
    int const length = p.lengths[sequence], count = pairs_of(length);
    if (count == 0) continue;
    int const last = min(end, before + count);
    f(Fragment{sequence, length, 2 * (at - before),
               min(2 * (last - before), divide_up(length, kTileTokens)),
               at == before && last == before + count, begin < before ? 1 : 0});
    at = last;
    before += count;
  }
}

template <class T, int kColumns, ptx::Major b_major, class A>
__device__ __forceinline__ void multiply(float (&d)[kColumns / 2], A const& a,
                                         ptx::MatrixDescriptor b, bool accumulate) {
  if constexpr (std::is_same_v<A, ptx::MatrixDescriptor>) {
    if constexpr (std::is_same_v<T, __half>) {
      ptx::wgmma_f16<kColumns, ptx::Major::k, b_major>(d, a, b, accumulate);
    } else {
      ptx::wgmma_bf16<kColumns, ptx::Major::k, b_major>(d, a, b, accumulate);
    }
  } else if constexpr (std::is_same_v<T, __half>) {
    ptx::wgmma_f16<kColumns, b_major>(d, a, b, accumulate);
  } else {
    ptx::wgmma_bf16<kColumns, b_major>(d, a, b, accumulate);
  }
}

/// 64 heads of a warpgroup: scores and weights of its tile, and the sums of its half of the columns.
template <class T>
struct HeadRows {
  static constexpr int kScores = kTileTokens / 2, kSums = kValue / 2 / 2, kSteps = kTileTokens / 16;
  int const thread = static_cast<int>(threadIdx.x) % 128;
  float scores[kScores];  // S, then P in f32
  float sums[kSums];
  unsigned weights[kSteps][4];  // P rounded to the type
  float largest[2], total[2];   // of rows r and r + 8; of this lane's columns

  __device__ int row(int half) const { return ptx::accumulator_row(thread, 2 * half); }

  __device__ void reset() {
#pragma unroll
    for (float& sum : sums) sum = 0;
    largest[0] = largest[1] = attention::lowest();
    total[0] = total[1] = 0;
  }

  /// Scores of a tile, as its thirds arrive; of the first two `first` is the first. Calls then() when the
  /// sums that were started before are complete.
  template <class Then>
  __device__ __forceinline__ void multiply_keys(unsigned char const* queries,
                                                unsigned char const* keys, ptx::MBarrier* full,
                                                unsigned parity, int first, Then const& then) {
    auto const a = ptx::k_major_descriptor(queries, ptx::Swizzle::bytes_128);
    auto const b = ptx::k_major_descriptor(keys, ptx::Swizzle::bytes_128);
    ptx::wgmma_fence_operand(scores);
#pragma unroll
    for (int turn = 0; turn < kThirds; ++turn) {
      int const third = turn == 2 ? 2 : turn ^ first;
      auto const at_third = static_cast<unsigned>(first_box(third) * kBox);
      ptx::mbarrier_wait(&full[third], parity);
      ptx::wgmma_fence();
#pragma unroll
      for (int i = 0; i < 4 * boxes_of(turn); ++i) {
        unsigned const at = at_third + static_cast<unsigned>(i / 4 * kBox + i % 4 * 32);
        multiply<T, kTileTokens, ptx::Major::k>(scores, advanced(a, at), advanced(b, at),
                                                turn > 0 || i > 0);
      }
      ptx::wgmma_commit();
      if (turn == 0) {
        ptx::wgmma_wait<1>(sums);
        then();
      }
    }
    ptx::wgmma_wait<0>(scores);
  }

  /// Starts the sums of four boxes of values, times weights: of this warpgroup, or where another left them.
  __device__ __forceinline__ void multiply_values(unsigned char const* values) {
    auto const b = ptx::mn_major_descriptor(values, ptx::Swizzle::bytes_128, kBox);
    ptx::wgmma_fence_operand(sums);
#pragma unroll
    for (auto& part : weights) ptx::wgmma_fence_operand(part);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      multiply<T, kValue / 2, ptx::Major::mn>(
          sums, weights[step], advanced(b, static_cast<unsigned>(step * 16 * 128)), true);
    }
    ptx::wgmma_commit();
  }
  __device__ __forceinline__ void multiply_values(unsigned char const* others,
                                                  unsigned char const* values) {
    auto const a = ptx::k_major_descriptor(others, ptx::Swizzle::bytes_128);
    auto const b = ptx::mn_major_descriptor(values, ptx::Swizzle::bytes_128, kBox);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      multiply<T, kValue / 2, ptx::Major::mn>(sums, advanced(a, static_cast<unsigned>(step * 32)),
                                              advanced(b, static_cast<unsigned>(step * 16 * 128)),
                                              true);
    }
    ptx::wgmma_commit();
  }

  /// Hides the tokens of a tile from number `count` on.
  __device__ void mask(int count) {
    if (count >= kTileTokens) return;
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      if (ptx::accumulator_column(thread, i) >= count) scores[i] = attention::lowest();
    }
  }

  /// Makes weights of scores, of a largest score that is this one or of the tile: what is summed before is
  /// to be multiplied by `factor`. Adds the weights to the total.
  __device__ void soften(float scale_log2, float (&factor)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = largest[half];
#pragma unroll
      for (int i = 2 * half; i < kScores; i += 4) top = fmaxf(top, fmaxf(scores[i], scores[i + 1]));
      // Four lanes have the columns of a row.
      top = fmaxf(top, __shfl_xor_sync(~0U, top, 1));
      top = fmaxf(top, __shfl_xor_sync(~0U, top, 2));
      float const offset = top * scale_log2;
      factor[half] = ptx::ex2(largest[half] * scale_log2 - offset);
      largest[half] = top;
      total[half] *= factor[half];
#pragma unroll
      for (int i = 2 * half; i < kScores; i += 4) {
        scores[i] = ptx::ex2(scores[i] * scale_log2 - offset);
        scores[i + 1] = ptx::ex2(scores[i + 1] * scale_log2 - offset);
        total[half] += scores[i] + scores[i + 1];
      }
    }
  }

  /// Rounds the weights.
  __device__ void round() {
#pragma unroll
    for (int pair = 0; pair < kScores / 2; ++pair) {
      weights[pair / 4][pair % 4] = attention::pair_of<T>(scores[2 * pair], scores[2 * pair + 1]);
    }
  }

  /// Stores the weights, times a factor of their row and rounded, as an operand for the other warpgroup.
  __device__ void pass_weights(unsigned char* to, float const (&factor)[2]) const {
    int const lane = lane_number(), first = thread / 32 * 16;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      unsigned words[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        float const* const pair = scores + 8 * step + 2 * e;
        words[e] = attention::pair_of<T>(pair[0] * factor[e % 2], pair[1] * factor[e % 2]);
      }
      auto const offset =
          static_cast<unsigned>((first + lane % 16) * 128 + step * 32 + lane / 16 * 16);
      ptx::stmatrix_x4(to + ptx::swizzled(ptx::Swizzle::bytes_128, offset), words);
    }
    ptx::fence_proxy_async();  // wgmma reads them
  }

  __device__ void scale(float const (&factor)[2]) {
#pragma unroll
    for (int i = 0; i < kSums; ++i) sums[i] *= factor[i / 2 % 2];
  }
};

/// Zeros in four boxes behind the first `count` tokens of a tile, whose weights are zeros too: what is there
/// may be no number. A warpgroup; `id` is a barrier of its own.
__device__ inline void clear_values(unsigned char* values, int count, int id) {
  if (count >= kTileTokens) return;
  ptx::bar_sync(id, 128);  // all of its warps have their scores
  for (int e = static_cast<int>(threadIdx.x) % 128; e < 4 * kBox / 16; e += 128) {
    if (e / 8 % kTileTokens >= count) reinterpret_cast<uint4*>(values)[e] = {};
  }
  ptx::fence_proxy_async();  // wgmma reads them
  ptx::bar_sync(id, 128);
}

/// Barriers of parts of the block. Each is for both warpgroups; the first of the pair waits at it or only
/// arrives.
enum Named : int {
  kFirstLargest = 1,   ///< warpgroup 0 has told its largest scores
  kSecondWeights = 2,  ///< warpgroup 1 its own, its factors and weights
  kFirstWeights = 3,   ///< warpgroup 0 its weights
  kTotals = 4,
  kWarpgroup = 5,  ///< and 6: of one alone
};

template <class T>
__global__ void __launch_bounds__(kBlockThreads, 1)
    paged_decode_latent_wgmma_kernel(Latent<T> p, const __grid_constant__ ptx::TensorMap q,
                                     const __grid_constant__ ptx::TensorMap k) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  // queries | tile 0 | tile 1 | messages | barriers; boxes of 64 rows and 64 columns each
  unsigned char* const tiles = shared + kTileBytes;
  auto& messages = *reinterpret_cast<Messages*>(shared + 3 * kTileBytes);
  auto& barriers = *reinterpret_cast<Barriers*>(&messages + 1);
  int const warpgroup = ptx::warpgroup_number();  // 2: the producer
  int const lane = lane_number();
  if (threadIdx.x == 0) {
    for (int tile = 0; tile < 2; ++tile) {
      for (int third = 0; third < kThirds; ++third) {
        ptx::mbarrier_init(&barriers.full[tile][third], 1);
        ptx::mbarrier_init(&barriers.empty[tile][third], 4);
      }
    }
    ptx::mbarrier_init(&barriers.queries_full, 1);
    ptx::mbarrier_init(&barriers.queries_empty, 8);
    ptx::fence_mbarrier_init();
  }
  ptx::griddepcontrol_launch_dependents();
  __syncthreads();  // the barriers are ready
  int const first_head = static_cast<int>(blockIdx.x) % p.head_tiles * kHeads;
  unsigned parity[2] = {0, 0}, query_parity = 0;  // of the tiles, of the queries

  if (warpgroup == 2) {
    ptx::setmaxnreg_dec<40>();
    int const copier = static_cast<int>(threadIdx.x) / 32 - 8;
    if (copier >= 2) return;
    for_each_fragment(p, [&](Fragment const& fragment) {
      // A lane for each block of the table: those of a tile, or one that a tile is a part of.
      int const copied = min(1 << p.shift, kTileTokens);
      int const* const table = p.table + static_cast<long long>(fragment.sequence) * p.table_width;
      auto const row_of = [&](int tile) {
        int const token = tile * kTileTokens + lane * copied;
        if (tile >= fragment.end || lane >= kTileTokens / copied || token >= fragment.length) {
          return 0;
        }
        return (table[token >> p.shift] << p.shift) + (token & ((1 << p.shift) - 1));
      };
      auto const copy = [&](int tile, int at, int third, int row) {
        if (tile >= fragment.end) return;
        int const count = min(kTileTokens, fragment.length - tile * kTileTokens);
        int const copies = divide_up(count, copied), boxes = boxes_of(third);
        unsigned char* const to = tiles + at * kTileBytes + first_box(third) * kBox;
        ptx::MBarrier* const full = &barriers.full[at][third];
        ptx::mbarrier_wait(&barriers.empty[at][third], parity[at] ^ 1U);
        if (lane == 0) {
          ptx::mbarrier_arrive_expect_tx(full,
                                         static_cast<unsigned>(copies * copied * 128 * boxes));
        }
        __syncwarp();  // bytes are expected before they come
#pragma unroll 1
        for (int i = 0; i < copies * boxes; i += 32) {
          int const mine = min(i + lane, copies * boxes - 1), one = mine / boxes;
          int const from = __shfl_sync(~0U, row, one);
          if (i + lane < copies * boxes) {
            ptx::tensor_load(to + mine % boxes * kBox + one * copied * 128, k, from,
                             (first_box(third) + mine % boxes) * 64, full);
          }
        }
      };
      int row0 = row_of(fragment.first), row1 = row_of(fragment.first + 1);
      if (copier == 0) {
        ptx::mbarrier_wait(&barriers.queries_empty, query_parity ^ 1U);
        query_parity ^= 1U;
        if (lane == 0) ptx::mbarrier_arrive_expect_tx(&barriers.queries_full, kTileBytes);
        __syncwarp();  // bytes are expected before they come
        if (lane < kKey / 64) {
          ptx::tensor_load(shared + lane * kBox, q, {fragment.sequence, first_head, lane * 64},
                           &barriers.queries_full);
        }
      }
#pragma unroll 1
      for (int tile = fragment.first; tile < fragment.end; tile += 2) {
        int const next0 = row_of(tile + 2), next1 = row_of(tile + 3);
        if (copier == 0) {
          copy(tile, 0, 0, row0);
          copy(tile + 1, 1, 0, row1);
          copy(tile + 1, 1, 2, row1);
        } else {
          copy(tile + 1, 1, 1, row1);
          copy(tile, 0, 1, row0);
          copy(tile, 0, 2, row0);
        }
        parity[0] ^= 1U;
        if (tile + 1 < fragment.end) parity[1] ^= 1U;
        row0 = next0;
        row1 = next1;
      }
    });
    return;
  }

  ptx::setmaxnreg_inc<232>();
  HeadRows<T> rows;
  auto const release = [&](ptx::MBarrier& barrier) {
    if (lane == 0) ptx::mbarrier_arrive(&barrier);
  };
  unsigned char* const own = tiles + warpgroup * kTileBytes;
  unsigned char* const tile0 = tiles;
  unsigned char* const tile1 = tiles + kTileBytes;
  constexpr int kRight = first_box(1) * kBox, kPassed = first_box(2) * kBox;
  for_each_fragment(p, [&](Fragment const& fragment) {
    rows.reset();
    // Scores of this warpgroup's tile of the pair that begins with `tile`, if there is one. The sums of the
    // pair before run on under them, and free what they read: the tile that the other warpgroup left its
    // weights in, of which warpgroup 0 has columns to 255, the other those to 511.
    bool is_reading = false;
    auto const multiply_keys = [&](int tile) {
      auto const release_read = [&] {
        if (!is_reading) return;
        release(barriers.empty[1 - warpgroup][warpgroup]);
        release(barriers.empty[1 - warpgroup][2]);
      };
      if (tile + warpgroup < fragment.end) {
        rows.multiply_keys(shared, own, barriers.full[warpgroup], parity[warpgroup], warpgroup,
                           release_read);
        parity[warpgroup] ^= 1U;
      } else {
        ptx::wgmma_wait<0>(rows.sums);
        release_read();
      }
      // The last ones: other queries may come.
      if (tile < fragment.end && tile + 2 >= fragment.end) release(barriers.queries_empty);
      is_reading = true;
    };
    ptx::mbarrier_wait(&barriers.queries_full, query_parity);
    query_parity ^= 1U;
    multiply_keys(fragment.first);
#pragma unroll 1
    for (int tile = fragment.first; tile < fragment.end; tile += 2) {
      bool const has_second = tile + 1 < fragment.end;
      int const count0 = fragment.length - tile * kTileTokens, count1 = count0 - kTileTokens;
      float factor[2];
      if (warpgroup == 0) {
        rows.mask(count0);
        rows.soften(p.scale_log2, factor);
#pragma unroll
        for (int side = 0; side < 2; ++side) {
          if (lane % 4 != 0) continue;
          messages.largest[0][rows.row(side)] = rows.largest[side];
          messages.factor[0][rows.row(side)] = factor[side];
        }
        ptx::bar_arrive(kFirstLargest, 256);
        clear_values(tile0, count0, kWarpgroup);
        rows.scale(factor);
        rows.round();
        rows.multiply_values(tile0);
        ptx::bar_sync(kSecondWeights, 256);
#pragma unroll
        for (int side = 0; side < 2; ++side) {
          factor[side] = messages.factor[1][rows.row(side)];
          rows.largest[side] = messages.largest[1][rows.row(side)];
          rows.total[side] *= factor[side];
        }
        rows.pass_weights(tile0 + kPassed, factor);
        ptx::bar_arrive(kFirstWeights, 256);
        ptx::wgmma_wait<0>(rows.sums);
        release(barriers.empty[0][0]);
        rows.scale(factor);
        if (has_second) {
          clear_values(tile1, count1, kWarpgroup);
          ptx::wgmma_fence_operand(rows.sums);
          rows.multiply_values(tile1 + kPassed, tile1);
        } else {
          is_reading = false;
        }
      } else {
        if (has_second) rows.mask(count1);
        ptx::bar_sync(kFirstLargest, 256);
        float first[2];
#pragma unroll
        for (int side = 0; side < 2; ++side) {
          rows.largest[side] = messages.largest[0][rows.row(side)];
          first[side] = messages.factor[0][rows.row(side)];
          rows.total[side] *= first[side];
          factor[side] = 1;
        }
        if (has_second) rows.soften(p.scale_log2, factor);
#pragma unroll
        for (int side = 0; side < 2; ++side) {
          if (lane % 4 == 0) {
            messages.largest[1][rows.row(side)] = rows.largest[side];
            messages.factor[1][rows.row(side)] = factor[side];
          }
          first[side] *= factor[side];
        }
        if (has_second) {
          rows.round();
          rows.pass_weights(tile1 + kPassed, {1, 1});
        }
        ptx::bar_arrive(kSecondWeights, 256);
        rows.scale(first);
        if (has_second) {
          clear_values(tile1 + kRight, count1, kWarpgroup + 1);
          rows.multiply_values(tile1 + kRight);
        }
        ptx::bar_sync(kFirstWeights, 256);
        clear_values(tile0 + kRight, count0, kWarpgroup + 1);
        // Its thirds have been waited for by the warpgroup that multiplied it.
        rows.multiply_values(tile0 + kPassed, tile0 + kRight);
        if (has_second) {
          ptx::wgmma_wait<1>();  // the first of the two products
          release(barriers.empty[1][1]);
        }
      }
      multiply_keys(tile + 2);
    }

    // Epilogue: both have the same largest scores, and totals of their own tiles.
    float total[2];
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      total[side] = rows.total[side];
      total[side] += __shfl_xor_sync(~0U, total[side], 1);
      total[side] += __shfl_xor_sync(~0U, total[side], 2);
      if (lane % 4 == 0) messages.total[warpgroup][rows.row(side)] = total[side];
    }
    ptx::bar_sync(kTotals, 256);
    float* const slot = p.slots + (2LL * blockIdx.x + fragment.slot) * kSlotFloats;
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      int const row = rows.row(side);
      total[side] = messages.total[0][row] + messages.total[1][row];
      if (fragment.is_whole || warpgroup != 0 || lane % 4 != 0) continue;
      slot[kHeads * kValue + row] = rows.largest[side] * p.scale_log2;
      slot[kHeads * kValue + kHeads + row] = total[side];
    }
    T* const o = p.o + (static_cast<long long>(fragment.sequence) * p.heads + first_head) * kValue;
#pragma unroll
    for (int i = 0; i < HeadRows<T>::kSums; i += 2) {
      int const side = i / 2 % 2, row = rows.row(side);
      int const column = warpgroup * kValue / 2 + ptx::accumulator_column(rows.thread, i);
      if (!fragment.is_whole) {
        *reinterpret_cast<float2*>(slot + row * kValue + column) = {rows.sums[i], rows.sums[i + 1]};
      } else if (first_head + row < p.heads) {
        *reinterpret_cast<std::uint32_t*>(o + row * kValue + column) =
            attention::pair_of<T>(rows.sums[i] / total[side], rows.sums[i + 1] / total[side]);
      }
    }
  });
}

constexpr int kJoinRows = 8;

/// What blocks have of a sequence, in order: the same bits every time. A block for each sequence, tile of
/// heads and 8 heads of it.
template <class T>
__global__ void __launch_bounds__(128) paged_decode_latent_wgmma_join_kernel(Latent<T> p) {
  ptx::griddepcontrol_wait();  // the slots are filled
  int const sequence = static_cast<int>(blockIdx.x) / p.head_tiles;
  int const head_tile = static_cast<int>(blockIdx.x) % p.head_tiles;
  int const count = pairs_of(p.lengths[sequence]);
  int const before = pairs_before(p.lengths, sequence);
  int const pairs = pairs_before(p.lengths, p.sequences), parts = min(p.parts, pairs);
  int first = 0, last = 0;
  if (count > 0) {
    first = part_of(before, pairs, parts);
    last = part_of(before + count - 1, pairs, parts);
    if (first == last) return;  // it is there
  }
  auto const slot_of = [&](int part) {
    int const slot = first_pair(part, pairs, parts) < before ? 1 : 0;
    return p.slots + (2LL * (part * p.head_tiles + head_tile) + slot) * kSlotFloats;
  };
  int const column = static_cast<int>(threadIdx.x) * 4;
#pragma unroll 1
  for (int i = 0; i < kJoinRows; ++i) {
    int const row = static_cast<int>(blockIdx.y) * kJoinRows + i, head = head_tile * kHeads + row;
    if (head >= p.heads) return;
    float top = attention::lowest();
    float sum[4] = {}, total = 0;
    if (count > 0) {
      for (int part = first; part <= last; ++part) {
        top = fmaxf(top, slot_of(part)[kHeads * kValue + row]);
      }
      for (int part = first; part <= last; ++part) {
        float const* const slot = slot_of(part);
        float const factor = ptx::ex2(slot[kHeads * kValue + row] - top);
        auto const four = *reinterpret_cast<float4 const*>(slot + row * kValue + column);
        sum[0] += four.x * factor;
        sum[1] += four.y * factor;
        sum[2] += four.z * factor;
        sum[3] += four.w * factor;
        total += slot[kHeads * kValue + kHeads + row] * factor;
      }
    }
    float const by = total > 0 ? 1 / total : 0;
    T* const o = p.o + (static_cast<long long>(sequence) * p.heads + head) * kValue + column;
#pragma unroll
    for (int e = 0; e < 4; ++e) o[e] = from_f32<T>(sum[e] * by);
  }
}

template <class T>
void launch_as(Problem const& problem, device::StreamView stream) {
  Shape const& x = problem.shape;
  auto const copied = static_cast<unsigned>(std::min<std::int64_t>(x.block_size, kTileTokens));
  Latent<T> const p{problem.lengths,
                    problem.table,
                    static_cast<T*>(problem.o.data),
                    static_cast<float*>(problem.scratch),
                    static_cast<int>(x.sequences),
                    static_cast<int>(x.heads),
                    static_cast<int>(head_tiles_of(x)),
                    static_cast<int>(parts_of(x, stream.facts())),
                    std::countr_zero(static_cast<std::uint64_t>(x.block_size)),
                    static_cast<int>(x.blocks_of(x.longest)),
                    static_cast<float>(x.scale() * 1.4426950408889634)};
  if (problem.k.rows > 0) {
    auto const q = ptx::make_tensor_map({.data = problem.q.data,
                                         .type = problem.q.type,
                                         .dimensions = 3,
                                         .extents = {x.sequences, x.heads, kKey},
                                         .strides = {problem.between_queries(), kKey},
                                         .box = {1, kHeads, 64},
                                         .swizzle = ptx::Swizzle::bytes_128});
    auto const k = ptx::make_tensor_map_2d({.data = problem.k.data,
                                            .type = problem.k.type,
                                            .rows = problem.k.rows,
                                            .columns = kKey,
                                            .leading = problem.k.ld,
                                            .box_rows = copied,
                                            .box_columns = 64,
                                            .swizzle = ptx::Swizzle::bytes_128});
    QUAD_LAUNCH(paged_decode_latent_wgmma_kernel<T>, static_cast<unsigned>(p.parts * p.head_tiles),
                kBlockThreads, kLatentBytes, stream, p, q, k);
  }
  QUAD_LAUNCH(paged_decode_latent_wgmma_join_kernel<T>,
              (LaunchShape{.grid = dim3(static_cast<unsigned>(p.sequences * p.head_tiles),
                                        kHeads / kJoinRows),
                           .block = 128,
                           .overlaps_previous = true}),
              stream, p);
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.o.rows == 0) return;
  problem.q.type == core::DataType::f16 ? launch_as<__half>(problem, stream)
                                        : launch_as<__nv_bfloat16>(problem, stream);
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& p) {
  if (!p.shape.latent) return "takes latent keys alone";
  constexpr std::int64_t kMaxSequences = 65535, kMaxTokens = std::int64_t{1} << 30;
  if (p.shape.sequences > kMaxSequences || p.shape.longest > kMaxTokens) {
    return "takes up to 65535 sequences of up to 2^30 tokens";
  }
  return {};
}

}  // namespace

extern constinit Variant<Problem> const latent_wgmma{
    {.name = "latent_wgmma",
     .where = Where::cuda,
     .types = {core::DataType::f16, core::DataType::bf16},
     .needs = {.compute_capability = 90,
               .exact_capability = true,
               .shared_bytes = kLatentBytes,
               .alignment = kPieceBytes,
               .other = "latent keys, up to 65535 sequences"},
     .preference = 40,
     .source = "after DeepSeek, FlashMLA",
     .summary =
         "two warpgroups have half of the columns each and pass each other weights of their tiles"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported, .scratch_bytes = slots_bytes}};

}  // namespace quadrille::kernels::paged_decode
