// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Many small matrix products in one launch.
///
///   C_g = alpha op(A_g) op(B_g) + beta C_g for each group g, with rows of its own
///
/// Technique    a product that one block computes in a microsecond costs several when it is launched
///              alone. So the third extent of the grid counts the products, and as many blocks as
///              fit on a multiprocessor hide each other's loads: small products take as long as
///              their way from memory. Tiles are small, so that small products fill them: 32 x 32 or
///              64 x 64. Stages of 128 bytes of k come by cp.async, rows padded so that neither order
///              of an operand has bank conflicts. f32 is multiplied as f64, which the tensor cores
///              multiply as quickly as the other cores do f32. Where the tiles of a product alone do not
///              fill the device, four teams of threads share the k of a tile, and wait for less
/// Shapes       row-major, any layouts, extents, leading dimensions and alignment; up to 65535 groups
/// Work         2 m n k flop for each group; A and B are read once where one tile has all of C
/// Launch       128 threads, up to 75 KiB of shared memory, several blocks a multiprocessor; for a product
///              alone 256 or 512 threads, up to 156 KiB
/// Accuracy     f64 k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data; f32, multiplied and added as
///              f64, eps |c|; tf32 2^-11 an input, to which they are rounded
#include "common/ptx/barriers.cuh"
#include "common/ptx/copies.cuh"
#include "common/ptx/matrix.cuh"
#include "gemm/gemm_cuda.cuh"

#include <algorithm>
#include <type_traits>

namespace quadrille::kernels::gemm {
namespace {

#ifdef QUAD_KERNELS

constexpr int kThreads = 128, kWarpsAcross = 2;  // of a team; warps of its tile, both ways
__device__ inline int thread_number() { return static_cast<int>(threadIdx.x) % kThreads; }

template <class T>
constexpr int kDepth = 128 / static_cast<int>(sizeof(T));  // of a stage, along k

/// What the tensor cores multiply: f64, or tf32.
template <bool kTf32>
struct Instruction {
  static constexpr int kStep = kTf32 ? 8 : 16;  // along k
  using Word = std::conditional_t<kTf32, std::uint32_t, double>;
  using Sum = std::conditional_t<kTf32, float, double>;
  using A = Word[16 * kStep / 32];
  using B = Word[8 * kStep / 32];

  template <class T>
  __device__ static Word word(T value) {
    if constexpr (kTf32) {
      return ptx::to_tf32(value);
    } else {
      return value;
    }
  }
  __device__ static void multiply(Sum (&d)[4], A const& a, B const& b) {
    if constexpr (kTf32) {
      ptx::mma_m16n8k8_tf32(d, a, b);
    } else {
      ptx::mma_m16n8k16_f64(d, a, b);
    }
  }
};

/// A matrix in memory, of which `leading` elements lie between rows.
template <class T>
struct Stored {
  T const* data;
  std::int64_t leading;
  int rows, cols;
};

/// A tile of an operand for a stage in shared memory: kTile lines of kDepth elements, or the other way round.
template <class T, int kTile, bool kAlongK>
struct StagedTile {
  static constexpr int kRows = kAlongK ? kTile : kDepth<T>, kCols = kAlongK ? kDepth<T> : kTile;
  // Eight lines beside four k are in all banks.
  static constexpr int kPitch = kCols + (kAlongK ? 4 : 32 / static_cast<int>(sizeof(T)));
  static constexpr int kElements = kRows * kPitch;

  T* data;

  __device__ T at(int line, int k) const {
    return kAlongK ? data[line * kPitch + k] : data[k * kPitch + line];
  }

  /// Starts the copies of lines from `first` on and k from `depth` on, with zeros outside of the matrix.
  __device__ void copy(Stored<T> const& from, int first, int depth, bool is_aligned) const {
    int const row = kAlongK ? first : depth, col = kAlongK ? depth : first;
    if (!is_aligned) return copy_elements(from, row, col);
    constexpr int kPiece = 16 / static_cast<int>(sizeof(T)), kPieces = kCols / kPiece;
    constexpr int kRowsAtOnce = kThreads / kPieces;
    static_assert(kThreads % kPieces == 0 && kRows % kRowsAtOnce == 0);
    int const i = thread_number() / kPieces;
    int const j = thread_number() % kPieces * kPiece;
    T const* at = from.data + (row + i) * from.leading + col + j;
    T* to = data + i * kPitch + j;
    bool const is_whole = row + kRows <= from.rows && col + kCols <= from.cols;
#pragma unroll
    for (int e = 0; e < kRows; e += kRowsAtOnce) {
      if (is_whole) {
        ptx::cp_async<16>(to, at);
      } else {
        int const left = row + i + e < from.rows ? min(max(from.cols - col - j, 0), kPiece) : 0;
        ptx::cp_async_first<16>(to, left > 0 ? at : from.data, left * static_cast<int>(sizeof(T)));
      }
      at += kRowsAtOnce * from.leading;
      to += kRowsAtOnce * kPitch;
    }
  }
  __device__ static bool is_aligned(Stored<T> const& from) {
    std::uintptr_t const row_bytes = static_cast<std::uintptr_t>(from.leading) * sizeof(T);
    return (reinterpret_cast<std::uintptr_t>(from.data) | row_bytes) % 16 == 0;
  }

 private:
  __device__ void copy_elements(Stored<T> const& from, int row, int col) const {
#pragma unroll 4
    for (int e = thread_number(); e < kRows * kCols; e += kThreads) {
      int const i = e / kCols, j = e % kCols;
      bool const is_there = row + i < from.rows && col + j < from.cols;
      T const* const at = is_there ? from.data + (row + i) * from.leading + col + j : from.data;
      ptx::cp_async<sizeof(T)>(data + i * kPitch + j, at, is_there);
    }
  }
};

/// Tiles and rings. Many blocks hide each other's copies; of few, several teams of threads share the k of a
/// tile, with a ring each.
template <int kTileOf, int kBlocksOf, int kTeamsOf>
struct Shape {
  static constexpr int kTile = kTileOf, kStages = 4;
  static constexpr int kBlocks = kBlocksOf;  ///< of a multiprocessor
  static constexpr int kTeams = kTeamsOf, kBlockThreads = kTeams * kThreads;
};
using Small = Shape<32, 5, 1>;
using Large = Shape<64, 3, 1>;
using Two = Shape<32, 2, 2>;
using Alone = Shape<32, 1, 4>;

template <class T, int kTile, bool kAlongA, bool kAlongB>
constexpr std::size_t kStageBytes = sizeof(T) * (StagedTile<T, kTile, kAlongA>::kElements +
                                                 StagedTile<T, kTile, kAlongB>::kElements);

template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T x[2];
};

/// C at (row, col) and beside it.
template <class T>
__device__ void update_pair(Operands<T> const& p, int row, int col, T first, T second) {
  if (row >= p.m || col >= p.n) return;
  T* const c = p.c + row * p.ldc + col;
  bool const is_pair = col + 1 < p.n && reinterpret_cast<std::uintptr_t>(c) % (2 * sizeof(T)) == 0;
  if (is_pair && p.beta == 0) {
    *reinterpret_cast<Pair<T>*>(c) = {{p.alpha * first, p.alpha * second}};
    return;
  }
  update(p, row, col, first);
  if (col + 1 < p.n) update(p, row, col + 1, second);
}

template <class T, bool kTf32, class Shape, bool kAlongA, bool kAlongB>
__global__ void __launch_bounds__(Shape::kBlockThreads, Shape::kBlocks)
    gemm_batched_kernel(Operands<T> p, std::int64_t const* first_rows, void* const* pointers) {
  constexpr int kTile = Shape::kTile, kStages = Shape::kStages, kTeams = Shape::kTeams;
  using TileA = StagedTile<T, kTile, kAlongA>;
  using TileB = StagedTile<T, kTile, kAlongB>;
  using Multiply = Instruction<kTf32>;
  constexpr int kWarpTile = kTile / kWarpsAcross, kDown = kWarpTile / 16, kAcross = kWarpTile / 8;
  constexpr int kRing = kStages * (TileA::kElements + TileB::kElements);
  QUAD_DYNAMIC_SHARED(T, rings);
  int const team = static_cast<int>(threadIdx.x) / kThreads;
  T* const shared = rings + team * kRing;
  auto const group = static_cast<std::int64_t>(blockIdx.z);
  std::int64_t const first = first_rows == nullptr ? 0 : first_rows[group];
  if (first_rows != nullptr) p.m = static_cast<int>(first_rows[group + 1] - first);
  int const row = static_cast<int>(blockIdx.y) * kTile, col = static_cast<int>(blockIdx.x) * kTile;
  if (row >= p.m) return;  // of another group
  if (pointers == nullptr) {
    p.a += kAlongA ? first * p.lda : first;
    p.b += group * (kAlongB ? p.n : p.k) * p.ldb;
    p.c += first * p.ldc;
  } else {
    auto const count = static_cast<std::int64_t>(gridDim.z);
    p.a = static_cast<T const*>(pointers[group]);
    p.b = static_cast<T const*>(pointers[count + group]);
    p.c = static_cast<T*>(pointers[2 * count + group]);
  }
  Stored<T> const a = kAlongA ? Stored<T>{p.a, p.lda, p.m, p.k} : Stored<T>{p.a, p.lda, p.k, p.m};
  Stored<T> const b = kAlongB ? Stored<T>{p.b, p.ldb, p.n, p.k} : Stored<T>{p.b, p.ldb, p.k, p.n};
  bool const aligned_a = TileA::is_aligned(a), aligned_b = TileB::is_aligned(b);

  auto const tile_a = [&](int stage) { return TileA{shared + stage * TileA::kElements}; };
  auto const tile_b = [&](int stage) {
    return TileB{shared + kStages * TileA::kElements + stage * TileB::kElements};
  };
  // K-tiles of the team: each kTeams-th.
  int const k_tiles = divide_up(divide_up(p.k, kDepth<T>) - team, kTeams);
  auto const copy = [&](int t, int stage) {
    if (t < k_tiles) {
      int const depth = (t * kTeams + team) * kDepth<T>;
      tile_a(stage).copy(a, row, depth, aligned_a);
      tile_b(stage).copy(b, col, depth, aligned_b);
    }
    ptx::cp_async_commit();
  };
  int const warp = thread_number() / 32, lane = thread_number() % 32;
  int const my_row = warp / kWarpsAcross * kWarpTile, my_col = warp % kWarpsAcross * kWarpTile;
  typename Multiply::Sum accumulators[kDown][kAcross][4] = {};
#pragma unroll 1
  for (int t = 0; t < kStages - 1; ++t) copy(t, t);
  int stage = 0;
#pragma unroll 1
  for (int t = 0; t < k_tiles; ++t) {
    ptx::cp_async_wait<kStages - 2>();
    ptx::bar_sync(1 + team, kThreads);  // the stage is complete, and all have read the one before
    copy(t + kStages - 1, stage == 0 ? kStages - 1 : stage - 1);
    TileA const from_a = tile_a(stage);
    TileB const from_b = tile_b(stage);
    stage = stage == kStages - 1 ? 0 : stage + 1;
#pragma unroll
    for (int k = 0; k < kDepth<T>; k += Multiply::kStep) {
      typename Multiply::A fragment_a[kDown];
      typename Multiply::B fragment_b[kAcross];
#pragma unroll
      for (int i = 0; i < kDown; ++i) {
#pragma unroll
        for (int e = 0; e < 16 * Multiply::kStep / 32; ++e) {
          ptx::Element const at = ptx::a_element(sizeof(T), lane, e);
          fragment_a[i][e] = Multiply::word(from_a.at(my_row + i * 16 + at.row, k + at.column));
        }
      }
#pragma unroll
      for (int j = 0; j < kAcross; ++j) {
#pragma unroll
        for (int e = 0; e < 8 * Multiply::kStep / 32; ++e) {
          ptx::Element const at = ptx::b_element(sizeof(T), lane, e);
          fragment_b[j][e] = Multiply::word(from_b.at(my_col + j * 8 + at.column, k + at.row));
        }
      }
#pragma unroll
      for (int i = 0; i < kDown; ++i) {
#pragma unroll
        for (int j = 0; j < kAcross; ++j) {
          Multiply::multiply(accumulators[i][j], fragment_a[i], fragment_b[j]);
        }
      }
    }
  }
  if constexpr (kTeams > 1) {
    // The first team adds up what the others have, in order.
    __syncthreads();  // nobody reads a ring any more
    constexpr int kSums = kDown * kAcross * 4;
    auto* const sums = reinterpret_cast<typename Multiply::Sum*>(rings);
    auto const at = [&](int of, int e) { return (of * kSums + e) * kThreads + thread_number(); };
    static_assert(kTeams * kSums * kThreads * sizeof(*sums) <= kTeams * kRing * sizeof(T));
    if (team > 0) {
#pragma unroll
      for (int e = 0; e < kSums; ++e) {
        sums[at(team, e)] = accumulators[e / 4 / kAcross][e / 4 % kAcross][e % 4];
      }
    }
    __syncthreads();  // the sums of all teams are there
    if (team > 0) return;
#pragma unroll
    for (int of = 1; of < kTeams; ++of) {
#pragma unroll
      for (int e = 0; e < kSums; ++e) {
        accumulators[e / 4 / kAcross][e / 4 % kAcross][e % 4] += sums[at(of, e)];
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kDown; ++i) {
#pragma unroll
    for (int j = 0; j < kAcross; ++j) {
#pragma unroll
      for (int e = 0; e < 4; e += 2) {
        ptx::Element const at = ptx::sum_element(lane, e);
        update_pair(p, row + my_row + i * 16 + at.row, col + my_col + j * 8 + at.column,
                    static_cast<T>(accumulators[i][j][e]),
                    static_cast<T>(accumulators[i][j][e + 1]));
      }
    }
  }
}

template <class T, bool kTf32, class Shape>
void launch_tiles(Problem const& problem, std::int64_t rows, device::StreamView stream) {
  auto const p = operands<T>(problem);
  dim3 const grid(static_cast<unsigned>(divide_up(p.n, Shape::kTile)),
                  static_cast<unsigned>((rows + Shape::kTile - 1) / Shape::kTile),
                  static_cast<unsigned>(problem.groups.count));
  auto const with = [&]<bool kAlongA, bool kAlongB>() {
    QUAD_LAUNCH((gemm_batched_kernel<T, kTf32, Shape, kAlongA, kAlongB>), grid,
                dim3(Shape::kBlockThreads),
                (Shape::kTeams * Shape::kStages * kStageBytes<T, Shape::kTile, kAlongA, kAlongB>),
                stream, p, problem.groups.first_rows_on_device,
                problem.groups.b_blocks == nullptr ? nullptr : problem.groups.pointers);
  };
  if (problem.transpose_a) {
    problem.transpose_b ? with.template operator()<false, true>()
                        : with.template operator()<false, false>();
  } else {
    problem.transpose_b ? with.template operator()<true, true>()
                        : with.template operator()<true, false>();
  }
}

template <class T, bool kTf32>
void launch_as(Problem const& problem, device::StreamView stream) {
  if (problem.m() == 0 || problem.n() == 0) return;
  std::int64_t rows = 0;  // of the largest group
  for (std::int64_t g = 0; g < problem.groups.count; ++g) {
    rows = std::max(rows, problem.rows_of_group(g));
  }
  auto const tiles = [&](std::int64_t edge) {
    return (rows + edge - 1) / edge * ((problem.n() + edge - 1) / edge) * problem.groups.count;
  };
  // Large tiles read less, where there are enough to fill all multiprocessors twice.
  int const multiprocessors = stream.facts().multiprocessors;
  bool const is_large = std::min(rows, problem.n()) > 32 && tiles(64) >= 2 * multiprocessors;
  auto const launch = is_large                           ? launch_tiles<T, kTf32, Large>
                      : tiles(32) <= multiprocessors     ? launch_tiles<T, kTf32, Alone>
                      : tiles(32) <= 2 * multiprocessors ? launch_tiles<T, kTf32, Two>
                                                         : launch_tiles<T, kTf32, Small>;
  launch(problem, rows, stream);
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.a.type == core::DataType::f64) return launch_as<double, false>(problem, stream);
  bool const is_tf32 = problem.compute == core::Compute::tf32;
  (is_tf32 ? launch_as<float, true> : launch_as<float, false>)(problem, stream);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const batched{
    {.name = "batched",
     .where = Where::cuda,
     .types = {core::DataType::f64,
               core::DataType::f32,
               {core::DataType::f32, core::Compute::tf32}},
     .needs = {.compute_capability = 90,
               .max_extent = kMaxCudaExtent,
               .max_rows = kMaxTileRows * 32},
     .preference = 5,
     .source = "own",
     .summary = "tiles of 32 or 64 on the tensor cores; a grid of all products of a batch"},
    QUAD_KERNEL_LAUNCH(launch),
    {.notes = {.takes_groups = true, .takes_pointers = true}}};

}  // namespace quadrille::kernels::gemm
