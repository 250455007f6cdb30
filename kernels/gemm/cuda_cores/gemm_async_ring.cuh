// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/ptx/copies.cuh"
#include "gemm/cuda_cores/gemm_thread_tile_8x16.cuh"

/// The ring of stages in shared memory that cp.async fills while a block multiplies.
namespace quadrille::kernels::gemm::simt_tiles {

/// WarpsM x WarpsN warps side by side on C, the others share the k-iterations of a stage.
template <int WarpsM, int WarpsN>
struct Tile {
  static constexpr int kBM = WarpsM * kWarpTile;
  static constexpr int kBN = WarpsN * kWarpTile;
  static constexpr int kWarpsN = WarpsN;
  static constexpr int kTileWarps = WarpsM * WarpsN;
  static constexpr int kSlices = kWarps / kTileWarps;
  static constexpr int kWarpBK = kSlices == 1 ? 32 : 8;  // of one warp
  static constexpr int kBK = kWarpBK * kSlices;          // of a stage
  static constexpr TileExtents kExtents{kBM, kBN, kBK};
  // Four words of padding put the 4 rows and 8 columns of a warp's copy of A in 32 different banks.
  static constexpr int kPitchA = kBM + 4;
  static constexpr int kPitchB = kBN;
  static constexpr int kStageA = kBK * kPitchA;
  static constexpr int kStage = kStageA + kBK * kPitchB;
  static constexpr int kStages = 4;
  static constexpr int kSharedFloats = kStages * kStage;
  static constexpr std::size_t kSharedBytes = kSharedFloats * sizeof(float);
  // What slices cost: more barriers and copies for as many multiply-adds.
  static constexpr double kRate = kSlices == 1   ? 1.00
                                  : kSlices == 2 ? 0.93
                                  : kSlices == 4 ? 0.92
                                                 : 0.76;
  static_assert(kSharedBytes <= 227 * 1024);
  static_assert((kSlices - 1) * kBM * kBN <= kSharedFloats, "partials of slices reuse the stages");
};

#ifdef QUAD_KERNELS

/// Stages [first, first + count) of a tile.
struct Run {
  int tile, first, count;
};

/// Where a tile lies in C.
struct Corner {
  int row, col;
};

/// Tiles in bands of 8 rows of tiles, column by column: blocks that run together share A and B in L2.
template <class Tile>
__device__ Corner corner_in_bands(int tiles_m, int tiles_n, int tile) {
  constexpr int kBand = 8;
  int const band = tile / (kBand * tiles_n);
  int const band_rows = min(kBand, tiles_m - band * kBand);
  int const in_band = tile - band * kBand * tiles_n;
  return {(band * kBand + in_band % band_rows) * Tile::kBM, in_band / band_rows * Tile::kBN};
}

/// Whether rows of B and C consist of whole 16 bytes.
inline bool takes_vectors(Operands<float> const& p) {
  auto const aligned = [](float const* x) { return reinterpret_cast<std::uintptr_t>(x) % 16 == 0; };
  return p.n % 4 == 0 && p.ldb % 4 == 0 && p.ldc % 4 == 0 && aligned(p.b) && aligned(p.c);
}

/// Copies the stages of A and B of all runs, by `Threads` threads: Runs has next(run), false after the last
/// one, and corner(tile). Vectors: rows of B consist of whole 16 bytes.
template <class Tile, bool kVectors, class Runs, int Threads = kThreads>
class Loader {
 public:
  __device__ Loader(Operands<float> const& p, Runs const& runs)
      : p_{p},
        runs_{runs},
        q_a_{thread() % 8},
        row_a_{thread() / 8},
        q_b_{thread() / kGroups},
        col_b_{thread() % kGroups * (kVectors ? 4 : 1)} {
    start_run();
  }

  __device__ bool is_done() const { return left_ == 0; }

  /// Does nothing after the last stage.
  __device__ void copy(float* stage) {
    if (left_ == 0) return;
    if (is_inside_ && k_left_ >= Tile::kBK) {
      copy_stage<false>(stage);
    } else {
      copy_stage<true>(stage);
    }
  }

  /// Moves to the next stage. Apart from copy(): a pointer that changes right after the copy that
  /// takes it waits until the copy has read it.
  __device__ void advance() {
    if (left_ == 0) return;
    if (--left_ == 0) return start_run();
    a_ += Tile::kBK;
    b_ += Tile::kBK * p_.ldb;
    k_left_ -= Tile::kBK;
  }

 private:
  // A: 4 rows x 8 columns in a warp, so that its 32 words come from 4 sectors.
  static constexpr int kRowsAtOnceA = Threads / 8;
  static constexpr int kCopiesA = Tile::kBM / kRowsAtOnceA;
  // B: a thread copies four words of a row, side by side in one copy or else kGroups apart.
  static constexpr int kGroups = Tile::kBN / 4;
  static constexpr int kRowsAtOnceB = Threads / kGroups;
  static constexpr int kCopiesB = Tile::kBK / kRowsAtOnceB;
  static_assert(Tile::kBK % kRowsAtOnceB == 0);

  /// Guarded: words outside of the matrices are zero.
  template <bool kGuarded>
  __device__ void copy_stage(float* stage) {
    float* const to_a = stage + q_a_ * Tile::kPitchA + row_a_;
#pragma unroll
    for (int r = 0; r < kCopiesA; ++r) {
#pragma unroll
      for (int s = 0; s < Tile::kBK; s += 8) {
        ptx::cp_async<4>(to_a + s * Tile::kPitchA + r * kRowsAtOnceA,
                         a_ + r * kRowsAtOnceA * p_.lda + s,
                         !kGuarded || (r * kRowsAtOnceA < rows_left_ && q_a_ + s < k_left_));
      }
    }
    float* const to_b = stage + Tile::kStageA + q_b_ * Tile::kPitchB + col_b_;
#pragma unroll
    for (int s = 0; s < kCopiesB; ++s) {
      float* const to = to_b + s * kRowsAtOnceB * Tile::kPitchB;
      float const* const from = b_ + s * kRowsAtOnceB * p_.ldb;
      bool const in_k = !kGuarded || q_b_ + s * kRowsAtOnceB < k_left_;
      if constexpr (kVectors) {
        ptx::cp_async<16>(to, from, in_k && (!kGuarded || cols_left_ > 0));
      } else {
#pragma unroll
        for (int c = 0; c < Tile::kBN; c += kGroups) {
          ptx::cp_async<4>(to + c, from + c, in_k && (!kGuarded || c < cols_left_));
        }
      }
    }
  }

  __device__ static int thread() { return static_cast<int>(threadIdx.x) % Threads; }

  __device__ void start_run() {
    Run run;
    left_ = 0;
    if (!runs_.next(run)) return;
    left_ = run.count;
    Corner const corner = runs_.corner(run.tile);
    int const k = run.first * Tile::kBK;
    is_inside_ = corner.row + Tile::kBM <= p_.m && corner.col + Tile::kBN <= p_.n;
    rows_left_ = p_.m - corner.row - row_a_;
    cols_left_ = p_.n - corner.col - col_b_;
    k_left_ = p_.k - k;
    a_ = p_.a + (corner.row + row_a_) * p_.lda + k + q_a_;
    b_ = p_.b + (k + q_b_) * p_.ldb + corner.col + col_b_;
  }

  Operands<float> const& p_;
  Runs runs_;
  int q_a_, row_a_, q_b_, col_b_;
  int left_;  // stages of this run
  bool is_inside_;
  int rows_left_, cols_left_, k_left_;
  float const *a_, *b_;
};

/// The k-iterations that a warp has in a stage. Each reads its values, then multiplies those of the
/// iteration before, also across stages: so the first values of a stage are read while there is work.
template <class Tile>
__device__ __forceinline__ void multiply_stage(float const* from_a, float const* from_b,
                                               Values (&values)[2],
                                               float (&accumulators)[kRows][kCols]) {
  // Unrolled no further: in a short loop without anything else the compiler keeps reads well ahead of
  // their use and registers of a multiply-add in different banks.
#pragma unroll 1
  for (int s = 0; s < Tile::kWarpBK; s += 2) {
    values[0].read(from_a, from_b);
    add_products(accumulators, values[1]);
    values[1].read(from_a + Tile::kPitchA, from_b + Tile::kPitchB);
    add_products(accumulators, values[0]);
    from_a += 2 * Tile::kPitchA;
    from_b += 2 * Tile::kPitchB;
  }
}

/// Where the ring is, as offsets in shared memory.
template <class Tile>
struct RingState {
  int reading = 0;                                   ///< the stage that is multiplied
  int writing = (Tile::kStages - 1) * Tile::kStage;  ///< and the one that is filled

  __device__ __forceinline__ void advance() {
    writing = reading;
    reading = reading == (Tile::kStages - 1) * Tile::kStage ? 0 : reading + Tile::kStage;
  }
};

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm::simt_tiles
