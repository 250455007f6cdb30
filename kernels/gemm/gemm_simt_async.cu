// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product on the FP32 units, with asynchronous copies and 128 sums per thread.
///
///   C = alpha A B + beta C
///
/// Technique    Each thread keeps 8 x 16 sums. For one step of k it reads 8 + 16 values from shared
///              memory in six 16-byte loads and issues 128 multiply-adds: the loads take at most
///              three quarters of the cycles that the multiply-adds take, where 8 x 8 sums need all
///              of them. Four neighbouring lanes share their values of A, and every fourth lane
///              its values of B, so that a load of a warp touches few different words.
///              Values of the next step are read while this step multiplies. Tiles reach a ring of
///              kStages stages by cp.async, without registers and a barrier once in kDepth steps.
///              A is copied word by word, which transposes it on the way, whatever its alignment.
///              A block has 8 warps of 64 x 64 sums each. Where C has few tiles, warps of a block
///              share one tile and split k among them (slices), so the tile shrinks but not the
///              work per thread; `simt_async` picks the tile with the least time in whole waves
/// Shapes       row-major, any extents and leading dimensions; edges are filled with zeros
/// Types        f32, sums in f32
/// Work         2 m n k flop; traffic m n k (4 / BM + 4 / BN) bytes through the L2 cache
/// Constraints  A and B not transposed; extents below 2^31 - 1024
/// Launch       256 threads, one block per multiprocessor, 128 sums and 48 values in registers;
///              tiles in groups of 8 rows so that blocks that run together share A and B in L2
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data
/// Source       own
#include "common/ptx.cuh"
#include "gemm/gemm_cuda.cuh"

#include <algorithm>
#include <array>

namespace quadrille::kernels::gemm {
namespace {

inline constexpr int kThreads = 256;
inline constexpr int kWarps = kThreads / 32;
inline constexpr int kWarpTile = 64;  // rows and columns of C of one warp
inline constexpr int kRows = 8;       // of one thread
inline constexpr int kCols = 16;

/// WarpsM x WarpsN warps side by side on C, the others share the steps of a stage.
template <int WarpsM, int WarpsN>
struct Tile {
  static constexpr int kM = WarpsM * kWarpTile;
  static constexpr int kN = WarpsN * kWarpTile;
  static constexpr int kWarpsN = WarpsN;
  static constexpr int kTileWarps = WarpsM * WarpsN;
  static constexpr int kSlices = kWarps / kTileWarps;
  static constexpr int kSteps = kSlices == 1 ? 32 : 8;  // of one warp in a stage
  static constexpr int kDepth = kSteps * kSlices;       // of a stage
  // Four words of padding put 4 rows and 8 steps of a warp's copy in 32 different banks.
  static constexpr int kPitchA = kM + 4;
  static constexpr int kPitchB = kN;
  static constexpr int kStageA = kDepth * kPitchA;
  static constexpr int kStage = kStageA + kDepth * kPitchB;
  static constexpr int kStages = 4;
  static constexpr int kSharedFloats = kStages * kStage;
  static constexpr std::size_t kSharedBytes = kSharedFloats * sizeof(float);
  static_assert(kSharedBytes <= 227 * 1024);
  static_assert((kSlices - 1) * kM * kN <= kSharedFloats, "sums of slices reuse the stages");
};

/// Copies stages of A and B, by all threads. Whole: the tile lies inside C, k is a multiple of the
/// depth and rows of B are aligned to 16 bytes.
template <class Tile, bool kWhole>
class Loader {
 public:
  __device__ Loader(Operands<float> const& p, int row, int col)
      : step_a_{thread() % 8},
        row_a_{thread() / 8},
        step_b_{thread() / kGroups},
        col_b_{thread() % kGroups * (kWhole ? 4 : 1)},
        rows_left_{p.m - row - row_a_},
        cols_left_{p.n - col - col_b_},
        k_left_{p.k},
        ldb_{p.ldb} {
#pragma unroll
    for (int r = 0; r < kPointersA; ++r) {
      a_[r] = p.a + (row + row_a_ + r * kRowsAtOnce) * p.lda + step_a_;
    }
#pragma unroll
    for (int s = 0; s < kPointersB; ++s) {
      b_[s] = p.b + (step_b_ + s * kStepsAtOnce) * p.ldb + col + col_b_;
    }
  }

  __device__ void copy(float* stage) {
    float* const to_a = stage + step_a_ * Tile::kPitchA + row_a_;
#pragma unroll
    for (int r = 0; r < kPointersA; ++r) {
#pragma unroll
      for (int s = 0; s < Tile::kDepth; s += 8) {
        ptx::cp_async<4>(to_a + s * Tile::kPitchA + r * kRowsAtOnce, a_[r] + s,
                         kWhole || (r * kRowsAtOnce < rows_left_ && step_a_ + s < k_left_));
      }
    }
    float* const to_b = stage + Tile::kStageA + step_b_ * Tile::kPitchB + col_b_;
#pragma unroll
    for (int s = 0; s < kPointersB; ++s) {
      float* const to = to_b + s * kStepsAtOnce * Tile::kPitchB;
      if constexpr (kWhole) {
        ptx::cp_async<16>(to, b_[s]);
      } else {
        bool const in_k = step_b_ + s * kStepsAtOnce < k_left_;
#pragma unroll
        for (int c = 0; c < Tile::kN; c += kGroups) {
          ptx::cp_async<4>(to + c, b_[s] + c, in_k && c < cols_left_);
        }
      }
    }
  }

  /// Turns to the next stage. Apart from copy(): a pointer that changes right behind the copy that
  /// takes it waits until the copy has read it.
  __device__ void advance() {
#pragma unroll
    for (int r = 0; r < kPointersA; ++r) a_[r] += Tile::kDepth;
#pragma unroll
    for (int s = 0; s < kPointersB; ++s) b_[s] += Tile::kDepth * ldb_;
    k_left_ -= Tile::kDepth;
  }

 private:
  // A: 8 steps x 4 rows in a warp, so that its 32 words come from 4 sectors.
  static constexpr int kRowsAtOnce = kThreads / 8;
  static constexpr int kPointersA = Tile::kM / kRowsAtOnce;
  // B: a thread copies four words of a row, side by side in one copy or else kGroups apart.
  static constexpr int kGroups = Tile::kN / 4;
  static constexpr int kStepsAtOnce = kThreads / kGroups;
  static constexpr int kPointersB = Tile::kDepth / kStepsAtOnce;
  static_assert(Tile::kDepth % kStepsAtOnce == 0);

  __device__ static int thread() { return static_cast<int>(threadIdx.x); }

  int step_a_, row_a_, step_b_, col_b_;
  int rows_left_, cols_left_, k_left_;
  std::int64_t ldb_;
  float const* a_[kPointersA];
  float const* b_[kPointersB];
};

/// What one thread reads for one step.
struct Values {
  float a[kRows];
  float b[kCols];

  __device__ void read(float const* from_a, float const* from_b) {
#pragma unroll
    for (int i = 0; i < kRows; i += 4) {
      *reinterpret_cast<float4*>(a + i) = *reinterpret_cast<float4 const*>(from_a + i * 8);
    }
#pragma unroll
    for (int j = 0; j < kCols; j += 4) {
      *reinterpret_cast<float4*>(b + j) = *reinterpret_cast<float4 const*>(from_b + j * 4);
    }
  }
};

/// Row by row there and back: each multiply-add shares a value with the one before.
__device__ inline void add_products(float (&sum)[kRows][kCols], Values const& values) {
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int jj = 0; jj < kCols; ++jj) {
      int const j = i % 2 == 0 ? jj : kCols - 1 - jj;
      sum[i][j] += values.a[i] * values.b[j];
    }
  }
}

template <class Tile, bool kWhole>
__global__ void __launch_bounds__(kThreads, 1) gemm_simt_async_kernel(Operands<float> p) {
  QUAD_DYNAMIC_SHARED(float, shared);
  int const warp = static_cast<int>(threadIdx.x) / 32;
  int const lane = static_cast<int>(threadIdx.x) % 32;
  int const slice = warp / Tile::kTileWarps;
  int const warp_row = warp % Tile::kTileWarps / Tile::kWarpsN * kWarpTile;
  int const warp_col = warp % Tile::kWarpsN * kWarpTile;
  // 8 groups of rows by 4 groups of columns.
  int const lane_row = lane >> 2;
  int const lane_col = lane & 3;

  // Tiles in bands of 8 rows, column by column.
  int const tiles_m = divide_up(p.m, Tile::kM);
  int const tiles_n = divide_up(p.n, Tile::kN);
  constexpr int kBand = 8;
  int const block = static_cast<int>(blockIdx.x);
  int const band = block / (kBand * tiles_n);
  int const band_rows = min(kBand, tiles_m - band * kBand);
  int const in_band = block - band * kBand * tiles_n;
  int const row = (band * kBand + in_band % band_rows) * Tile::kM;
  int const col = in_band / band_rows * Tile::kN;

  Loader<Tile, kWhole> loader{p, row, col};
  int const stages = divide_up(p.k, Tile::kDepth);
#pragma unroll 1
  for (int t = 0; t < Tile::kStages - 1; ++t) {
    if (t < stages) loader.copy(shared + t * Tile::kStage);
    ptx::cp_async_commit();  // also an empty one, so that a wait counts stages
    loader.advance();
  }

  float const* const my_a = shared + slice * Tile::kSteps * Tile::kPitchA + warp_row + lane_row * 4;
  float const* const my_b =
      shared + Tile::kStageA + slice * Tile::kSteps * Tile::kPitchB + warp_col + lane_col * 4;
  float sum[kRows][kCols] = {};
  Values values[2] = {};
  int read_at = 0;                                    // offset of the stage that is multiplied
  int write_at = (Tile::kStages - 1) * Tile::kStage;  // and of the one that is filled

  ptx::cp_async_wait<Tile::kStages - 2>();
  __syncthreads();  // the copies of all threads have arrived

  // Each step reads its values, then multiplies those of the step before, the last one of the stage
  // before included: so the first values of a stage are under way while there is work to do.
#pragma unroll 1
  for (int t = 0; t < stages; ++t) {
    if (t + Tile::kStages - 1 < stages) loader.copy(shared + write_at);
    ptx::cp_async_commit();
    float const* from_a = my_a + read_at;
    float const* from_b = my_b + read_at;
    // Unrolled no further: in a short loop without anything else the compiler keeps reads well
    // ahead of their use and registers of a multiply-add in different banks.
#pragma unroll 1
    for (int s = 0; s < Tile::kSteps; s += 2) {
      values[0].read(from_a, from_b);
      add_products(sum, values[1]);
      values[1].read(from_a + Tile::kPitchA, from_b + Tile::kPitchB);
      add_products(sum, values[0]);
      from_a += 2 * Tile::kPitchA;
      from_b += 2 * Tile::kPitchB;
    }
    loader.advance();
    write_at = read_at;
    read_at = read_at == (Tile::kStages - 1) * Tile::kStage ? 0 : read_at + Tile::kStage;
    ptx::cp_async_wait<Tile::kStages - 2>();
    __syncthreads();  // the next stage is complete, and all have read this one: it may be filled
  }
  add_products(sum, values[1]);

  if constexpr (Tile::kSlices > 1) {
    // Slices meet in shared memory, each thread's sums one after the other for all threads.
    __syncthreads();  // the last values have been read
    constexpr int kTileThreads = Tile::kTileWarps * 32;
    int const thread = static_cast<int>(threadIdx.x) % kTileThreads;
    if (slice > 0) {
      float* const to = shared + (slice - 1) * Tile::kM * Tile::kN + thread * 4;
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int j = 0; j < kCols; j += 4) {
          *reinterpret_cast<float4*>(to + (i * kCols + j) * kTileThreads) =
              float4{sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]};
        }
      }
    }
    __syncthreads();  // all sums have arrived
    if (slice > 0) return;
#pragma unroll 1
    for (int other = 0; other < Tile::kSlices - 1; ++other) {
      float const* const from = shared + other * Tile::kM * Tile::kN + thread * 4;
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int j = 0; j < kCols; j += 4) {
          float4 const value =
              *reinterpret_cast<float4 const*>(from + (i * kCols + j) * kTileThreads);
          sum[i][j] += value.x;
          sum[i][j + 1] += value.y;
          sum[i][j + 2] += value.z;
          sum[i][j + 3] += value.w;
        }
      }
    }
  }

#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    int const c_row = row + warp_row + i / 4 * 32 + lane_row * 4 + i % 4;
    if (kWhole || c_row < p.m) {
#pragma unroll
      for (int j = 0; j < kCols; j += 4) {
        int const c_col = col + warp_col + j * 4 + lane_col * 4;
        if constexpr (kWhole) {
          update_vector(p, c_row, c_col, sum[i] + j);
        } else {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            if (c_col + e < p.n) update(p, c_row, c_col + e, sum[i][j + e]);
          }
        }
      }
    }
  }
}

template <class Tile>
void enqueue(Operands<float> const& p, device::StreamView stream) {
  auto const aligned = [](float const* x) { return reinterpret_cast<std::uintptr_t>(x) % 16 == 0; };
  bool const whole = p.m % Tile::kM == 0 && p.n % Tile::kN == 0 && p.k % Tile::kDepth == 0 &&
                     p.ldb % 4 == 0 && p.ldc % 4 == 0 && aligned(p.b) && aligned(p.c);
  auto const blocks = std::int64_t{divide_up(p.m, Tile::kM)} * divide_up(p.n, Tile::kN);
  QUAD_REQUIRE(blocks <= std::numeric_limits<int>::max(),
               "gemm/simt_async: 2^31 tiles or more; cut the product into blocks");
  dim3 const grid(static_cast<unsigned>(blocks));
  if (whole) {
    QUAD_LAUNCH((gemm_simt_async_kernel<Tile, true>), grid, dim3(kThreads), Tile::kSharedBytes,
                stream, p);
  } else {
    QUAD_LAUNCH((gemm_simt_async_kernel<Tile, false>), grid, dim3(kThreads), Tile::kSharedBytes,
                stream, p);
  }
}

/// Time of a product, in units of a wave of 64 x 64 tiles that lack nothing. A block has as many
/// multiply-adds for each step and warp of its tile; `rate` is what slices cost: more barriers and
/// copies for as many multiply-adds.
template <class Tile>
double time_of(Operands<float> const& p, int units, double rate) {
  constexpr double kStart = 64;  // filling the ring and writing C, in steps
  auto const tiles = std::int64_t{divide_up(p.m, Tile::kM)} * divide_up(p.n, Tile::kN);
  auto const waves = static_cast<double>((tiles + units - 1) / units);
  return waves * Tile::kTileWarps * (p.k + kStart) / rate;
}

template <class Tile>
void launch(Problem const& problem, device::StreamView stream, char const* variant) {
  auto const p = operands<float>(problem, variant);
  if (p.m > 0 && p.n > 0) enqueue<Tile>(p, stream);
}

}  // namespace

void launch_simt_async(Problem const& problem, device::StreamView stream) {
  auto const p = operands<float>(problem, "simt_async");
  if (p.m == 0 || p.n == 0) return;
  struct Choice {
    double time;
    void (*enqueue)(Operands<float> const&, device::StreamView);
  };
  int const units = stream.device().facts().units;
  std::array const choices{
      Choice{time_of<Tile<2, 4>>(p, units, 1.00), enqueue<Tile<2, 4>>},
      Choice{time_of<Tile<2, 2>>(p, units, 0.93), enqueue<Tile<2, 2>>},
      Choice{time_of<Tile<1, 2>>(p, units, 0.92), enqueue<Tile<1, 2>>},
      Choice{time_of<Tile<1, 1>>(p, units, 0.76), enqueue<Tile<1, 1>>},
  };
  std::min_element(choices.begin(), choices.end(), [](Choice const& x, Choice const& y) {
    return x.time < y.time;
  })->enqueue(p, stream);
}

void launch_simt_async_128x256(Problem const& problem, device::StreamView stream) {
  launch<Tile<2, 4>>(problem, stream, "simt_async_128x256");
}
void launch_simt_async_128x128(Problem const& problem, device::StreamView stream) {
  launch<Tile<2, 2>>(problem, stream, "simt_async_128x128");
}
void launch_simt_async_64x128(Problem const& problem, device::StreamView stream) {
  launch<Tile<1, 2>>(problem, stream, "simt_async_64x128");
}
void launch_simt_async_64x64(Problem const& problem, device::StreamView stream) {
  launch<Tile<1, 1>>(problem, stream, "simt_async_64x64");
}

}  // namespace quadrille::kernels::gemm
