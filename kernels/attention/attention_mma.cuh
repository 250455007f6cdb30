// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention/attention_cuda.cuh"
#include "common/ptx/matrix.cuh"
#include "common/ptx/threads.cuh"

#include <cstring>

/// A tile of queries and tiles of keys and values on the tensor cores, by rows of a warp.
namespace quadrille::kernels::attention {

/// Copied at once.
inline constexpr int kPieceBytes = 16;
template <int kHead>
inline constexpr int kRowBytes = 2 * kHead + kPieceBytes;

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

  /// A piece, and those so many rows and pieces further on.
  struct Place {
    unsigned char* data;
    __device__ unsigned char* at(int rows, int pieces) const { return Tile{data}.at(rows, pieces); }
  };
  __device__ Place place(int row, int piece) const { return {at(row, piece)}; }
};

/// The same as tensor copies leave it: boxes of kRows rows and 64 elements, swizzled by 128 bytes.
template <int kHead, int kRows>
struct BoxedTile {
  static constexpr int kBoxes = kHead / 64, kBoxBytes = 128 * kRows;
  static constexpr int kBytes = kBoxes * kBoxBytes;
  unsigned char* data;

  /// Pieces further on are an even number, from piece 0 or 1 on, and rows eights: their permutation is that
  /// of the first one.
  struct Place {
    unsigned char* row;
    int permuted;
    __device__ unsigned char* at(int rows, int pieces) const {
      return row + rows * 128 + pieces / 8 * kBoxBytes + ((pieces % 8) ^ permuted) * kPieceBytes;
    }
  };
  __device__ Place place(int row, int piece) const { return {data + row * 128, piece ^ (row % 8)}; }
};

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

/// kGroups x 16 rows of a warp, which meet tiles of kKeys keys and values one after the other: scores,
/// weights, and what was summed with them.
template <class T, int kHead, int kGroups, int kKeys>
class WarpRows {
  static constexpr int kScoreTiles = kKeys / 8, kValueTiles = kHead / 8;

 public:
  /// `first` is the first of the rows in their tile of queries.
  __device__ WarpRows(int first, float scale)
      : lane_{static_cast<int>(threadIdx.x) % 32}, first_{first}, in_powers_{scale * 1.44269504F} {
#pragma unroll
    for (int r = 0; r < 2 * kGroups; ++r) {
      largest_[r] = lowest();
      total_[r] = 0;
    }
  }

  /// Scores, not scaled yet, of all rows with a tile of keys.
  template <class Keys>
  __device__ void multiply_keys(Tile<kHead> queries, Keys keys) {
    unsigned char const* const a_row = queries.at(first_ + lane_ % 16, lane_ / 16);
    auto const b_row = keys.place(lane_ % 8 + lane_ / 16 * 8, lane_ / 8 % 2);
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
        ptx::ldmatrix_x4(b, b_row.at(8 * j, 2 * t));
        std::uint32_t const low[2]{b[0], b[1]}, high[2]{b[2], b[3]};
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
          multiply_add<T>(scores_[g][j], a[g], low);
          multiply_add<T>(scores_[g][j + 1], a[g], high);
        }
      }
    }
  }

  /// Hides the keys of a tile from the seen(row)-th on.
  template <class Seen>
  __device__ void mask(Seen const& seen_by) {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int const seen = seen_by(row_of(g, half));
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
  __device__ void online_softmax() {
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
            accumulators_[g][j][2 * half] *= factor;
            accumulators_[g][j][2 * half + 1] *= factor;
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
  template <class Values>
  __device__ void multiply_values(Values values) {
    auto const b_row = values.place(lane_ % 16, lane_ / 16);
#pragma unroll
    for (int t = 0; t < kKeys / 16; ++t) {
      __syncwarp();  // loads of later steps stay behind it: moved up, they exceed the registers
#pragma unroll
      for (int j = 0; j < kValueTiles; j += 2) {
        std::uint32_t b[4];  // of 16 columns
        ptx::ldmatrix_x4_trans(b, b_row.at(16 * t, j));
        std::uint32_t const low[2]{b[0], b[1]}, high[2]{b[2], b[3]};
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
          multiply_add<T>(accumulators_[g][j], weights_[g][t], low);
          multiply_add<T>(accumulators_[g][j + 1], weights_[g][t], high);
        }
      }
    }
  }

  /// Calls use(row, column, low, high, largest, total) for pairs of neighbours of what was summed, with
  /// the largest score of the row and the sum of its weights.
  template <class Use>
  __device__ void for_pairs(Use const& use) {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int const r = 2 * g + half;
        float total = total_[r];
        total += __shfl_xor_sync(~0U, total, 1);
        total += __shfl_xor_sync(~0U, total, 2);
#pragma unroll
        for (int j = 0; j < kValueTiles; ++j) {
          use(row_of(g, half), 8 * j + ptx::sum_element(lane_, 0).column,
              accumulators_[g][j][2 * half], accumulators_[g][j][2 * half + 1], largest_[r], total);
        }
      }
    }
  }

 private:
  /// In the tile of queries.
  __device__ int row_of(int group, int half) const {
    return first_ + 16 * group + ptx::sum_element(lane_, 2 * half).row;
  }

  int lane_, first_;
  float in_powers_;  // of two: what scores are scaled by
  float scores_[kGroups][kScoreTiles][4];
  std::uint32_t weights_[kGroups][kKeys / 16][4];
  float accumulators_[kGroups][kValueTiles][4] = {};
  float largest_[2 * kGroups], total_[2 * kGroups];  // of a row so far; sums of a lane's columns
};

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::attention
