// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Attention by wgmma, with warpgroups that copy or compute alone.
///
///   for each tile of queries i, for each tile of keys j:  o_i, m_i, l_i take in tile j
///
/// Technique    the means of Hopper. A producer fills a ring of tiles of keys and values by tensor
///              copies; two or three warpgroups have 64 queries each. Softmax, for which the tensor
///              cores would wait, is hidden twice: under the products of the other warpgroups, and
///              under a warpgroup's own, as each starts the scores of a tile together with the
///              values of the tile before, whose exponentials it has. Weights are an operand in
///              registers, as the accumulators of the scores lie. Blocks stay and take one tile of
///              queries after the other, whose keys come while the tile before is stored. Of
///              `flash_v2`, copies went to the producer, barriers of the block became full and empty ones of a
///              stage, and the softmax of tile j stands between the start of o += P v j-1 and its end.
///                  producer       k0 q v0 | k1 v1 | k2 v2 | ...   each when its stage is empty
///                  warpgroup 0    start S0;  softmax of S0
///                    j = 1, 2 ..  wait full: k j, v j-1
///                    tensor cores | S j = q k j | o += P v j-1 ...........|
///                    registers                  | mask, softmax of S j    | o scaled, P j rounded
///                    arrive                     empty: k j                  empty: v j-1
///                  warpgroup 1    the same, its products under the softmax of warpgroup 0
///              Of e4m3, which wgmma reads along k alone, a first kernel transposes the values, and
///              tensor copies bring keys in an order in which scores lie as weights must. Its sums
///              cut off each product below 2^-13 of themselves, a quarter of all over 16 Ki keys: they
///              begin again with each tile, and are added in registers
/// Before       flash_v2
/// Shapes       any extents and groups of heads, of e4m3 multiples of 16 keys; tiles of keys that the mask hides
///              are left out
/// Work         4 b h q k d flop, half of it under a causal mask; keys and values are read q / 192 times at
///              head size 64, q / 128 times at 128 and 256
/// Launch       one block per multiprocessor. Head size 64: 512 threads, 89 KiB of shared memory, tiles of
///              192 queries x 128 keys; 128: 384 threads, 209 KiB, 128 x 176; 256: 384 threads, 225 KiB,
///              128 x 80; e4m3 with 128: 384 threads, 81 KiB, 128 x 128. The producer leaves
///              registers to the others (setmaxnreg). Tiles of queries are dealt out back and forth,
///              those of a head together; causal ones by length, of as many heads together as the L2
///              cache has room for, by turns the longest first and the shortest, so that all blocks get
///              about as many keys
/// Accuracy     error_bound(); weights are rounded to the type
#include "attention/attention_mma.cuh"
#include "common/ptx/bulk_copies.cuh"
#include "common/ptx/wgmma.cuh"
#include "gemm/hopper/gemm_stage_barriers.cuh"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

namespace quadrille::kernels::attention {
namespace {

/// Tiles of a head size: as many queries and keys as the registers of the consumers have room for.
/// kSize: bytes of an element.
template <int kHead, int kSize>
struct Tiles {
  static constexpr int kConsumers = kHead == 64 ? 3 : 2;  ///< warpgroups
  static constexpr int kConsumerThreads = 128 * kConsumers;
  static constexpr int kThreads = kConsumerThreads + 128;
  /// Of a thread of the producer, and of a consumer: 64 Ki in all at the most.
  static constexpr int kProducerRegisters = kHead == 64 ? 32 : 24;
  static constexpr int kRegisters = kHead == 64 ? 160 : 240;
  static_assert(128 * kProducerRegisters + kConsumerThreads * kRegisters <= 65536);

  static constexpr int kQueries = 64 * kConsumers;
  static constexpr int kKeys = kSize == 1 || kHead == 64 ? 128 : kHead == 128 ? 176 : 80;
  static constexpr int kBoxColumns = 128 / kSize, kBoxes = kHead / kBoxColumns;
  static constexpr int kQueryBox = 128 * kQueries, kKeyBox = 128 * kKeys;  ///< bytes
  static constexpr int kQueryBytes = kBoxes * kQueryBox, kKeyBytes = kBoxes * kKeyBox;
};

constexpr int kStages = 2;
constexpr std::size_t kBarrierBytes = 1024;
template <int kHead, int kSize>
constexpr std::size_t kSharedBytes =
    Tiles<kHead, kSize>::kQueryBytes + std::size_t{2 * kStages} * Tiles<kHead, kSize>::kKeyBytes +
    kBarrierBytes;

#ifdef QUAD_KERNELS

/// What is copied together is full when it has arrived, empty when all consumers have read it.
struct Barriers {
  gemm::StageBarriers<1> queries;
  gemm::StageBarriers<kStages> keys, values;
};
static_assert(sizeof(Barriers) <= kBarrierBytes);

/// Starts the copies of a tile of `rows` rows of a head, of which those behind the last one become zeros.
template <class Tile, int rows>
__device__ void load_tile(unsigned char* to, ptx::TensorMap const& map, int head, int row,
                          ptx::MBarrier* barrier) {
  constexpr int kBox = 128 * rows;  // bytes
  ptx::mbarrier_arrive_expect_tx(barrier, Tile::kBoxes * kBox);
#pragma unroll
  for (int box = 0; box < Tile::kBoxes; ++box) {
    ptx::tensor_load(to + box * kBox, map, {head, row, Tile::kBoxColumns * box}, barrier);
  }
}

/// Of e4m3, which wgmma reads along k alone: values come transposed, from a copy. Keys come in an order in
/// which the accumulators of scores lie as an operand does: a lane has scores of keys 2 t, 2 t + 1, and 8
/// further on, of each 16, and as an operand weights of keys 4 t to 4 t + 3; t is its number in a row.
struct PermutedKeys {
  /// In a tile, of accumulator i of a thread.
  __device__ static int key_of(int thread, int i) {
    return i / 8 * 16 + thread % 4 * 4 + i / 4 % 2 * 2 + i % 2;
  }
  template <class Tile>
  __device__ static void load(unsigned char* to, ptx::TensorMap const& map, int first,
                              ptx::MBarrier* barrier) {
    ptx::mbarrier_arrive_expect_tx(barrier, Tile::kKeyBytes);
#pragma unroll
    for (int box = 0; box < Tile::kBoxes; ++box) {
      ptx::tensor_load(to + box * Tile::kKeyBox, map, {first / 16, 0, 0, 0, 128 * box}, barrier);
    }
  }
  /// Keys as 16, then 2 of 2 times 4 of 2: row 8 h + 2 q + e of a tile's 16 is key 4 q + 2 h + e.
  static ptx::TensorMap map_of(device::MatrixView const& k, int keys) {
    if (k.rows == 0) return {};  // nothing is loaded
    return ptx::make_tensor_map({.data = k.data,
                                 .type = k.type,
                                 .dimensions = 5,
                                 .extents = {k.rows / 16, 2, 4, 2, k.cols},
                                 .strides = {16 * k.cols, 2 * k.cols, 4 * k.cols, k.cols},
                                 .box = {static_cast<unsigned>(keys / 16), 2, 4, 2, 128},
                                 .swizzle = ptx::Swizzle::bytes_128});
  }
};

/// Values of all heads side by side, transposed: to[column][row]. Tiles of 64 x 64.
__global__ void __launch_bounds__(256)
    attention_flash_wgmma_transpose_kernel(unsigned char const* from, unsigned char* to, int rows,
                                           int cols) {
  constexpr int kSide = 64, kPitch = kSide + 4;
  QUAD_SHARED(unsigned char, tile, [kSide][kPitch]);
  auto const t = static_cast<int>(threadIdx.x);
  int const row = static_cast<int>(blockIdx.x) * kSide, col = static_cast<int>(blockIdx.y) * kSide;
  // A thread has sixteen of a row. Rows end at a multiple of 16, columns at one of 64.
  int const i = t / 4, j = t % 4 * 16;
  if (row + i < rows) {
    auto const sixteen =
        *reinterpret_cast<uint4 const*>(from + static_cast<long long>(row + i) * cols + col + j);
    std::uint32_t const words[]{sixteen.x, sixteen.y, sixteen.z, sixteen.w};
#pragma unroll
    for (int e = 0; e < 16; ++e) {
      tile[i][j + e] = static_cast<unsigned char>(words[e / 4] >> e % 4 * 8 & 0xFF);
    }
  }
  __syncthreads();  // the tile is here
  if (row + j < rows) {
    std::uint32_t words[4]{};
#pragma unroll
    for (int e = 0; e < 16; ++e) words[e / 4] |= std::uint32_t{tile[j + e][i]} << e % 4 * 8;
    *reinterpret_cast<uint4*>(to + static_cast<long long>(col + i) * rows + row + j) = {
        words[0], words[1], words[2], words[3]};
  }
}

/// 64 rows of a warpgroup.
template <class T, int kHead>
class WarpgroupRows {
  using Tile = Tiles<kHead, sizeof(T)>;
  static constexpr bool kIs8Bit = sizeof(T) == 1;
  static constexpr int kKeys = Tile::kKeys, kValueSteps = kKeys * static_cast<int>(sizeof(T)) / 32;
  static constexpr int kScores = kKeys / 2, kAccumulators = kHead / 2;  // of a thread

 public:
  /// `number` is that of the warpgroup.
  __device__ WarpgroupRows(unsigned char const* queries, int number, float scale)
      : thread_{static_cast<int>(threadIdx.x) % 128},
        first_{64 * number},
        scale_log2_{scale * 1.44269504F},
        queries_{ptx::k_major_descriptor(queries + 64 * 128 * number, ptx::Swizzle::bytes_128)} {}

  /// Begins with other queries.
  __device__ void reset() {
#pragma unroll
    for (int i = 0; i < kAccumulators; ++i) accumulators_[i] = sums()[i] = 0;
    largest_[0] = largest_[1] = lowest();
    total_[0] = total_[1] = 0;
  }

  /// Starts the scores of a tile: a group.
  __device__ __forceinline__ void multiply_keys(unsigned char const* keys) {
    auto const b = ptx::k_major_descriptor(keys, ptx::Swizzle::bytes_128);
    ptx::wgmma_fence_operand(scores_);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4 * Tile::kBoxes; ++step) {
      int const box = step / 4, at = step % 4 * 32;
      auto const q = advanced(queries_, static_cast<unsigned>(box * Tile::kQueryBox + at));
      auto const k = advanced(b, static_cast<unsigned>(box * Tile::kKeyBox + at));
      if constexpr (kIs8Bit) {
        ptx::wgmma_e4m3<kKeys>(scores_, q, k, step > 0);
      } else if constexpr (std::is_same_v<T, __half>) {
        ptx::wgmma_f16<kKeys>(scores_, q, k, step > 0);
      } else {
        ptx::wgmma_bf16<kKeys>(scores_, q, k, step > 0);
      }
    }
    ptx::wgmma_commit();
  }

  /// Starts the sum of the values of a tile, times the weights: a group.
  __device__ __forceinline__ void multiply_values(unsigned char const* values) {
    auto const b = kIs8Bit
                       ? ptx::k_major_descriptor(values, ptx::Swizzle::bytes_128)
                       : ptx::mn_major_descriptor(values, ptx::Swizzle::bytes_128, Tile::kKeyBox);
    ptx::wgmma_fence_operand(sums());
#pragma unroll
    for (auto& part : weights_) ptx::wgmma_fence_operand(part);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < kValueSteps; ++step) {
      auto const part = advanced(b, static_cast<unsigned>(step * (kIs8Bit ? 32 : 16 * 128)));
      if constexpr (kIs8Bit) {
        ptx::wgmma_e4m3<kHead>(sums(), weights_[step], part, step > 0);
      } else if constexpr (std::is_same_v<T, __half>) {
        ptx::wgmma_f16<kHead, ptx::Major::mn>(accumulators_, weights_[step], part);
      } else {
        ptx::wgmma_bf16<kHead, ptx::Major::mn>(accumulators_, weights_[step], part);
      }
    }
    ptx::wgmma_commit();
  }

  /// Waits until at most the newest groups still run; that of the scores is not one of them.
  template <int newest>
  __device__ void wait_for_scores() {
    ptx::wgmma_wait<newest>(scores_);
  }
  __device__ void wait_for_sums() { ptx::wgmma_wait<0>(sums()); }

  /// Hides the keys of a tile from the seen(row)-th on.
  template <class Seen>
  __device__ void mask(Seen const& seen_by) {
    int const seen[2]{seen_by(row_of(0)), seen_by(row_of(1))};
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      int const key =
          kIs8Bit ? PermutedKeys::key_of(thread_, i) : ptx::accumulator_column(thread_, i);
      if (key >= seen[i / 2 % 2]) scores_[i] = lowest();
    }
  }

  /// Makes weights of scores, in f32, and keeps what the sums are to be scaled down by.
  __device__ void online_softmax() {
    float offset[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = largest_[half];
#pragma unroll
      for (int i = 2 * half; i < kScores; i += 4)
        top = fmaxf(top, fmaxf(scores_[i], scores_[i + 1]));
      // Four lanes have the columns of a row.
      top = fmaxf(top, __shfl_xor_sync(~0U, top, 1));
      top = fmaxf(top, __shfl_xor_sync(~0U, top, 2));
      // A row that has seen no key yet: an offset of 0 makes its weights 2^-infinity = 0, where its
      // largest score would give NaN.
      offset[half] = (top == lowest() ? 0 : top) * scale_log2_;
      factor_[half] = ptx::ex2(largest_[half] * scale_log2_ - offset[half]);
      // Of 8 bits, weights up to 2^8: fewer are less than the least number.
      if (kIs8Bit) offset[half] -= 8;
      largest_[half] = top;
      total_[half] *= factor_[half];
    }
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      scores_[i] = ptx::ex2(scores_[i] * scale_log2_ - offset[i / 2 % 2]);
      total_[i / 2 % 2] += scores_[i];
    }
  }

  /// Scales the sums down and rounds the weights to the type: when the products of the tile before,
  /// whose operands these are, are complete.
  __device__ void rescale_and_round() {
#pragma unroll
    for (int i = 0; i < kAccumulators; ++i) accumulators_[i] = sum(i) * factor_[i / 2 % 2];
    if constexpr (kIs8Bit) {
#pragma unroll
      for (int word = 0; word < kScores / 4; ++word) {
        float const* const of = scores_ + word / 4 * 16 + word / 2 % 2 * 8 + word % 2 * 2;
        weights_[word / 4][word % 4] = ptx::to_e4m3(of[0], of[1], of[4], of[5]);
      }
    } else {
#pragma unroll
      for (int pair = 0; pair < kScores / 2; ++pair) {
        weights_[pair / 4][pair % 4] = pair_of<T>(scores_[2 * pair], scores_[2 * pair + 1]);
      }
    }
  }

  /// Stores the rows before row `count` of the tile.
  __device__ void store(Stored<T>* o, long long row_step, int count) {
    float factor[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float total = total_[half];
      total += __shfl_xor_sync(~0U, total, 1);
      total += __shfl_xor_sync(~0U, total, 2);
      factor[half] = total > 0 ? 1 / total : 0;
    }
    // From registers: four lanes write 16 bytes of a row together.
#pragma unroll
    for (int i = 0; i < kAccumulators; i += 2) {
      int const half = i / 2 % 2, row = row_of(half);
      if (row >= count) continue;
      auto* const to = reinterpret_cast<std::uint32_t*>(o + row * row_step +
                                                        ptx::accumulator_column(thread_, i));
      *to = pair_of<Stored<T>>(sum(i) * factor[half], sum(i + 1) * factor[half]);
    }
  }

 private:
  /// What wgmma adds to: of e4m3 the sums of the newest tile alone.
  __device__ auto& sums() {
    if constexpr (kIs8Bit) {
      return of_tile_;
    } else {
      return accumulators_;
    }
  }
  __device__ float sum(int i) const {
    return kIs8Bit ? accumulators_[i] + of_tile_[i] : accumulators_[i];
  }
  /// In the tile of queries.
  __device__ int row_of(int half) const { return first_ + ptx::accumulator_row(thread_, 2 * half); }

  int thread_, first_;
  float scale_log2_;  // scale times log2(e): exponentials are 2^x
  ptx::MatrixDescriptor queries_;
  float scores_[kScores];              // S, then P in f32
  float accumulators_[kAccumulators];  // o, not divided by l yet
  float of_tile_[kAccumulators];       // of e4m3
  unsigned weights_[kValueSteps][4];   // P rounded to the type: operand A of the second product
  float largest_[2];                   // m, of the thread's two rows r and r + 8 (half = 0, 1)
  float total_[2];                     // l, of this lane's columns alone until store()
  float factor_[2];  // 2^(old m - new m): l has taken it, o takes it in rescale_and_round()
};

/// A tile of queries of a head, and the tiles of keys that it sees.
struct Work {
  int head, first;        ///< of the queries
  int tiles, full_tiles;  ///< of keys: that some row sees; that every row sees whole
};

/// A tile of queries of a head.
struct QueryTile {
  int head, tile;
};
/// That of this number, of heads with `tiles` each, which are dealt out `section` at a time. A section begins
/// with tiles about as long as those before it; the last one ends with the shortest.
__host__ __device__ inline QueryTile query_tile(int number, int tiles, int heads, int section) {
  int const begin = number / (tiles * section) * section, together = min(section, heads - begin);
  int const in_section = number - begin * tiles, rank = in_section / together;
  bool const is_descending = (divide_up(heads, section) - begin / section) % 2 != 0;
  return {begin + in_section % together, is_descending ? tiles - 1 - rank : rank};
}
/// The block that takes it: 0 1 2 ... last, then last ... 2 1 0, and so on.
__host__ __device__ inline int block_of(int number, int blocks) {
  int const at = number % blocks;
  return number / blocks % 2 == 0 ? at : blocks - 1 - at;
}

/// `section`: heads whose tiles are dealt out together.
template <int kHead, class T>
__device__ Work work_of(Operands<T> const& p, int number, int section) {
  using Tile = Tiles<kHead, sizeof(T)>;
  auto const [head, tile] =
      query_tile(number, divide_up(p.queries, Tile::kQueries), p.heads, section);
  int const first = tile * Tile::kQueries;
  int const seen = visible(p, min(first + Tile::kQueries, p.queries) - 1);
  return {head, first, divide_up(seen, Tile::kKeys), visible(p, first) / Tile::kKeys};
}

/// Calls f(work) for each piece of the block's share, in order: the same in all of its threads.
template <int kHead, class T, class F>
__device__ __forceinline__ void for_each_work(Operands<T> const& p, int section, F const& f) {
  int const works = divide_up(p.queries, Tiles<kHead, sizeof(T)>::kQueries) * p.heads;
  int const block = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
#pragma unroll 1
  for (int round = 0;; ++round) {
    int const number = round * blocks + block_of(round * blocks + block, blocks);
    if (number >= works) return;
    f(work_of<kHead>(p, number, section));
  }
}

template <class T, int kHead>
__global__ void __launch_bounds__(Tiles<kHead, sizeof(T)>::kThreads, 1)
    attention_flash_wgmma_kernel(const __grid_constant__ ptx::TensorMap q,
                                 const __grid_constant__ ptx::TensorMap k,
                                 const __grid_constant__ ptx::TensorMap v, Operands<T> p,
                                 Steps o_steps, int section) {
  QUAD_DYNAMIC_SHARED(unsigned char, shared);
  using Tile = Tiles<kHead, sizeof(T)>;
  constexpr int kKeys = Tile::kKeys, kKeyBytes = Tile::kKeyBytes;
  // q | k stage 0, 1 | v stage 0, 1 | barriers; each tile a box for every 64 columns of a head
  unsigned char* const keys = shared + Tile::kQueryBytes;
  unsigned char* const values = keys + kStages * kKeyBytes;
  auto& barriers = *reinterpret_cast<Barriers*>(values + kStages * kKeyBytes);
  if (threadIdx.x == 0) {
    barriers.queries.init(1, Tile::kConsumerThreads / 32);
    barriers.keys.init(1, Tile::kConsumerThreads / 32);
    barriers.values.init(1, Tile::kConsumerThreads / 32);
  }
  __syncthreads();  // the barriers are ready
  gemm::PipelineState<1> q_state;
  gemm::PipelineState<kStages> k_state;  // of keys; the producer fills values with the same one

  // Producer: one thread fills stages as they become empty.
  if (threadIdx.x >= Tile::kConsumerThreads) {
    ptx::setmaxnreg_dec<Tile::kProducerRegisters>();
    if (threadIdx.x != Tile::kConsumerThreads) return;
    for_each_work<kHead>(p, section, [&](Work const& work) {
      int const kv_head = work.head / p.group;
      for (int tile = 0; tile < work.tiles; ++tile, k_state.advance()) {
        int const stage = k_state.stage;
        ptx::mbarrier_wait(&barriers.keys.empty[stage], k_state.parity ^ 1U);
        if constexpr (sizeof(T) == 1) {
          PermutedKeys::load<Tile>(keys + stage * kKeyBytes, k, kv_head * p.keys + tile * kKeys,
                                   &barriers.keys.full[stage]);
        } else {
          load_tile<Tile, kKeys>(keys + stage * kKeyBytes, k, kv_head, tile * kKeys,
                                 &barriers.keys.full[stage]);
        }
        // Keys first: their stage is empty before the last scores with the old queries are done.
        if (tile == 0) {
          ptx::mbarrier_wait(&barriers.queries.empty[0], q_state.parity ^ 1U);
          load_tile<Tile, Tile::kQueries>(shared, q, work.head, work.first,
                                          &barriers.queries.full[0]);
          q_state.advance();
        }
        ptx::mbarrier_wait(&barriers.values.empty[stage], k_state.parity ^ 1U);
        if constexpr (sizeof(T) == 1) {
          ptx::mbarrier_arrive_expect_tx(&barriers.values.full[stage], kKeyBytes);
          ptx::tensor_load(values + stage * kKeyBytes, v, {kv_head, 0, tile * kKeys},
                           &barriers.values.full[stage]);
        } else {
          load_tile<Tile, kKeys>(values + stage * kKeyBytes, v, kv_head, tile * kKeys,
                                 &barriers.values.full[stage]);
        }
      }
    });
    return;
  }

  // Consumers: each warpgroup has 64 rows of the tile of queries.
  // No barrier makes warpgroups take turns: one has the tensor cores while another is at its softmax.
  ptx::setmaxnreg_inc<Tile::kRegisters>();
  WarpgroupRows<T, kHead> rows{shared, ptx::warpgroup_number(), p.scale};
  auto const release = [](ptx::MBarrier& barrier) {
    if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&barrier);
  };
  gemm::PipelineState<kStages> v_state;  // of values: a consumer is a tile behind with them
  for_each_work<kHead>(p, section, [&](Work const& work) {
    rows.reset();
    if (work.tiles > 0) {
      auto const mask = [&](int tile) {
        if (tile < work.full_tiles) return;
        rows.mask([&](int row) { return visible(p, work.first + row) - tile * kKeys; });
      };
      ptx::mbarrier_wait(&barriers.queries.full[0], q_state.parity);
      ptx::mbarrier_wait(&barriers.keys.full[k_state.stage], k_state.parity);
      rows.multiply_keys(keys + k_state.stage * kKeyBytes);
      rows.template wait_for_scores<0>();
      release(barriers.keys.empty[k_state.stage]);
      k_state.advance();
      mask(0);
      rows.online_softmax();
      rows.rescale_and_round();
      // Here and in the loop keys are waited for a tile ahead; see below.
      if (work.tiles > 1) ptx::mbarrier_wait(&barriers.keys.full[k_state.stage], k_state.parity);
#pragma unroll 1
      for (int tile = 1; tile < work.tiles; ++tile) {
        ptx::mbarrier_wait(&barriers.values.full[v_state.stage], v_state.parity);
        rows.multiply_keys(keys + k_state.stage * kKeyBytes);
        rows.multiply_values(values + v_state.stage * kKeyBytes);
        rows.template wait_for_scores<1>();
        release(barriers.keys.empty[k_state.stage]);
        k_state.advance();
        mask(tile);
        rows.online_softmax();
        // The wait for the next keys is here on purpose: it is a loop, and the assembler moves no wait
        // for wgmma up across a loop. Else the wait for the sums would rise to that for the scores, and
        // the exponentials would run after the products, not under them.
        if (tile + 1 < work.tiles) {
          ptx::mbarrier_wait(&barriers.keys.full[k_state.stage], k_state.parity);
        }
        rows.wait_for_sums();
        release(barriers.values.empty[v_state.stage]);
        v_state.advance();
        rows.rescale_and_round();
      }
      release(barriers.queries.empty[0]);
      q_state.advance();
      ptx::mbarrier_wait(&barriers.values.full[v_state.stage], v_state.parity);
      rows.multiply_values(values + v_state.stage * kKeyBytes);
      rows.wait_for_sums();
      release(barriers.values.empty[v_state.stage]);
      v_state.advance();
    }
    rows.store(p.o + work.head * o_steps.head + work.first * o_steps.row, o_steps.row,
               p.queries - work.first);
  });
}

/// Heads of rows of kHead elements; a box has 128 bytes of `box_rows` rows of a head.
template <int kHead>
ptx::TensorMap map_of(Problem const& problem, device::MatrixView const& x, std::int64_t heads,
                      std::int64_t rows, unsigned box_rows) {
  if (heads == 0 || rows == 0) return {};  // nothing is loaded
  auto const box_columns = static_cast<unsigned>(128 / core::size_of(x.type));
  Steps const steps = steps_of(problem, x, rows);
  return ptx::make_tensor_map({.data = x.data,
                               .type = x.type,
                               .dimensions = 3,
                               .extents = {heads, rows, kHead},
                               .strides = {steps.head, steps.row},
                               .box = {1, box_rows, box_columns},
                               .swizzle = ptx::Swizzle::bytes_128});
}

/// Values of e4m3, transposed by a kernel that this enqueues: rows are columns of a head.
ptx::TensorMap map_of_transposed(Problem const& problem, unsigned box_keys,
                                 device::StreamView stream) {
  device::MatrixView const& v = problem.v;
  if (v.rows == 0) return {};  // nothing is loaded
  auto* const to = static_cast<unsigned char*>(problem.scratch);
  auto const rows = static_cast<int>(v.rows), cols = static_cast<int>(v.cols);
  QUAD_LAUNCH(attention_flash_wgmma_transpose_kernel,
              dim3(static_cast<unsigned>(divide_up(rows, 64)), static_cast<unsigned>(cols / 64)),
              256, 0, stream, static_cast<unsigned char const*>(v.data), to, rows, cols);
  return ptx::make_tensor_map({.data = to,
                               .type = v.type,
                               .dimensions = 3,
                               .extents = {v.rows / problem.shape.keys, v.cols, problem.shape.keys},
                               .strides = {problem.shape.keys, v.rows},
                               .box = {1, static_cast<unsigned>(cols), box_keys},
                               .swizzle = ptx::Swizzle::bytes_128});
}

/// The keys of the block that gets the most, over the mean, under a causal mask.
double imbalance(Shape const& x, int queries, int heads, int section, int blocks) {
  auto const tiles = static_cast<int>((x.queries + queries - 1) / queries);
  std::vector<double> keys(static_cast<std::size_t>(blocks));
  double all = 0;
  for (int number = 0; number < tiles * heads; ++number) {
    std::int64_t const end = (query_tile(number, tiles, heads, section).tile + 1) * queries;
    auto const seen = static_cast<double>(x.visible(std::min<std::int64_t>(end, x.queries) - 1));
    keys[static_cast<std::size_t>(block_of(number, blocks))] += seen;
    all += seen;
  }
  return *std::max_element(keys.begin(), keys.end()) * blocks / all;
}

/// Heads whose keys and values have a third of the L2 cache while causal tiles of queries, which begin at
/// the same keys and end at others, read them; or twice, four times as many ... where blocks get about as
/// many keys only then. Of other tiles those of a head come one after the other.
int section_of(Shape const& x, int queries, int blocks, device::Facts const& device) {
  // Of so many rounds of blocks none has much more than another.
  constexpr std::int64_t kManyRounds = 16;
  constexpr double kEven = 1.05;
  if (x.mask == Mask::full) return 1;
  auto const kv_bytes = 2 * static_cast<std::int64_t>(sizeof(std::uint16_t)) * x.keys * x.head_size;
  auto const cache_bytes = static_cast<std::int64_t>(device.l2_bytes) / 3;
  std::int64_t const kv_heads =
      std::max<std::int64_t>(1, cache_bytes / std::max<std::int64_t>(1, kv_bytes));
  std::int64_t const heads = x.batch * x.heads, works = (x.queries + queries - 1) / queries * heads;
  std::int64_t const cached = std::min(kv_heads * x.group(), heads);
  if (works <= blocks || works > kManyRounds * blocks || x.keys == 0) {
    return static_cast<int>(cached);
  }
  std::int64_t best = cached;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t section = cached; least > kEven; section *= 2) {
    section = std::min(section, heads);
    double const found =
        imbalance(x, queries, static_cast<int>(heads), static_cast<int>(section), blocks);
    if (found < least) best = section;
    least = std::min(least, found);
    if (section == heads) break;
  }
  return static_cast<int>(best);
}

/// The same, once for launches that repeat: it takes a host as long as many a launch.
int known_section_of(Shape const& x, int queries, int blocks, device::Facts const& device) {
  std::array const asked{x.batch * x.heads,
                         x.group(),
                         x.queries,
                         x.keys,
                         x.head_size,
                         std::int64_t{x.mask == Mask::full},
                         std::int64_t{queries},
                         std::int64_t{blocks},
                         static_cast<std::int64_t>(device.l2_bytes)};
  thread_local std::array<std::int64_t, 9> known{};
  thread_local int section = 0;
  if (known != asked) {
    section = section_of(x, queries, blocks, device);
    known = asked;
  }
  return section;
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.o.rows == 0) return;
  Shape const& x = problem.shape;
  auto const with = [&]<class T, int kHead>() {
    using Tile = Tiles<kHead, sizeof(T)>;
    auto const p = operands<T>(problem);
    int const works = divide_up(p.queries, Tile::kQueries) * p.heads;
    int const blocks = std::min(works, stream.facts().multiprocessors);
    ptx::TensorMap k, v;
    if constexpr (sizeof(T) == 1) {
      k = PermutedKeys::map_of(problem.k, Tile::kKeys);
      v = map_of_transposed(problem, Tile::kKeys, stream);
    } else {
      k = map_of<kHead>(problem, problem.k, x.batch * x.kv_heads, x.keys, Tile::kKeys);
      v = map_of<kHead>(problem, problem.v, x.batch * x.kv_heads, x.keys, Tile::kKeys);
    }
    QUAD_LAUNCH((attention_flash_wgmma_kernel<T, kHead>), static_cast<unsigned>(blocks),
                Tile::kThreads, (kSharedBytes<kHead, sizeof(T)>), stream,
                map_of<kHead>(problem, problem.q, x.batch * x.heads, x.queries, Tile::kQueries), k,
                v, p, steps_of(problem, problem.o, x.queries),
                known_section_of(x, Tile::kQueries, blocks, stream.facts()));
  };
  auto const with_head = [&]<class T>() {
    if constexpr (sizeof(T) > 1) {
      if (x.head_size == 64) return with.template operator()<T, 64>();
      if (x.head_size == 256) return with.template operator()<T, 256>();
    }
    with.template operator()<T, 128>();
  };
  switch (problem.q.type) {
    case core::DataType::f16: return with_head.template operator()<__half>();
    case core::DataType::e4m3: return with_head.template operator()<core::e4m3>();
    default: return with_head.template operator()<__nv_bfloat16>();
  }
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& p) {
  if (p.q.type == core::DataType::e4m3 && p.by_tokens) return unsupported_head(p);
  if (p.q.type == core::DataType::e4m3 && (p.shape.head_size != 128 || p.shape.keys % 16 != 0)) {
    return "takes e4m3 of head size 128, with a multiple of 16 keys";
  }
  return unsupported_extent(p);
}

/// Of the values of e4m3, transposed.
std::size_t transposed_bytes(Problem const& p, device::Facts const& /*device*/) {
  return p.q.type == core::DataType::e4m3 ? static_cast<std::size_t>(p.v.rows * p.v.cols) : 0;
}

}  // namespace

extern constinit Variant<Problem> const flash_wgmma{
    {.name = "flash_wgmma",
     .where = Where::cuda,
     .types = {core::DataType::f16, core::DataType::bf16, core::DataType::e4m3},
     .needs = {.compute_capability = 90,
               .exact_capability = true,
               .shared_bytes = kSharedBytes<256, 2>,
               .ld_bytes = kPieceBytes,
               .alignment = kPieceBytes,
               .other = "up to 65535 heads of all sequences; e4m3: head size 128, a multiple of 16 "
                        "keys, scratch"},
     .preference = 40,
     .source = "after Shah et al., FlashAttention-3, algorithm 2",
     .summary = "a warpgroup copies, the others overlap products by wgmma and softmax"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported, .scratch_bytes = transposed_bytes}};

}  // namespace quadrille::kernels::attention
