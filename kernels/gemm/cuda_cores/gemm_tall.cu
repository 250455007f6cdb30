// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product of many rows, few columns and a short k.
///
///   C = alpha op(A) op(B) + beta C
///
/// Technique    the time is that of reading A and writing C once, if enough of both is on its way.
///              Every lane of every warp has its part of B in registers, as the tensor cores'
///              instructions take it. Warps have 32 rows of A in turn, which they copy to a ring of
///              their own, of which each lane reads what it copied (`gemm_thin.cuh`), and no barrier
///              is needed. Columns of B are given to instructions such that each lane has neighbours
///              in a row of C, 16 bytes where elements have 4 or 8
/// Shapes       row-major, any layouts; n and k up to 32, any m
/// Work         2 m n k flop; traffic m k s + m n s bytes, and B for each warp, which caches hold
/// Launch       256 threads, where n and k are at most 16 512; 192 KiB of shared memory, one block per
///              multiprocessor
/// Accuracy     f64 k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data; f32, multiplied and
///              added as f64, eps |c|; of 16-bit types the same as f64 in eps of f32, and eps |c|
///              for storing them
#include "gemm/cuda_cores/gemm_thin.cuh"

#include <algorithm>
#include <string>

namespace quadrille::kernels::gemm {
namespace {

constexpr int kMax = 32;    // of n and k
constexpr int kShort = 16;  // for which warps need fewer registers, so that there are more warps

#ifdef QUAD_KERNELS

using namespace thin;

/// Groups that have a lane's neighbours together: of f64, two elements are 16 bytes.
template <class T>
constexpr int kTogether = sizeof(T) == 8 ? 1 : 2;

/// The column of C in place `place` of an instruction's eight, of which lane t has 2 t and 2 t + 1.
template <class T>
__device__ constexpr int col_of(int group, int place) {
  constexpr int kNeighbours = 2 * kTogether<T>;
  return group / kTogether<T> * (4 * kNeighbours) + place / 2 * kNeighbours +
         group % kTogether<T> * 2 + place % 2;
}

/// For n and k up to kSize.
template <class T, int kSize>
struct Tall {
  static constexpr int kWarps = (kSize == kShort ? 16 : 8) * (sizeof(T) == 2 ? 3 : 2) / 2;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kRing = kRings / kWarps;  ///< bytes
  static constexpr int kGroups = kSize / 8;      ///< of columns, of which an instruction has one
  static constexpr int kOfChunk = kSize < kChunk<T> ? kSize : kChunk<T>;  ///< k-iterations
  static constexpr int kChunks = kSize / kOfChunk;
  static constexpr int steps() {
    int steps = 0;
    while (steps < kSteps<T> && has_step<T>(steps, kOfChunk)) ++steps;
    return steps;
  }
};

/// A lane's part of B for the instructions of all groups and steps.
template <class T, int kSize>
struct Columns {
  using Shape = Tall<T, kSize>;
  static constexpr int kSteps = Shape::steps();  ///< of a chunk
  Word<T> words[Shape::kGroups][Shape::kChunks * kSteps][kWords<T>];

  __device__ void load(Product<T> const& p, bool is_transposed, int lane) {
    int const g = lane >> 2, t = lane & 3;
    std::int64_t const along_k = is_transposed ? 1 : p.ldb, along_n = is_transposed ? p.ldb : 1;
#pragma unroll
    for (int j = 0; j < Shape::kGroups; ++j) {
      int const col = col_of<T>(j, g);
#pragma unroll
      for (int step = 0; step < Shape::kChunks * kSteps; ++step) {
        T x[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          int const k = step / kSteps * kChunk<T> + k_of<T>(t, step % kSteps * 4 + e);
          x[e] = col < p.n && k < p.k ? p.b[k * along_k + col * along_n] : T{};
        }
#pragma unroll
        for (int w = 0; w < kWords<T>; ++w) {
          if constexpr (sizeof(T) == 2) {
            words[j][step][w] =
                __builtin_bit_cast(std::uint16_t, x[2 * w]) |
                static_cast<std::uint32_t>(__builtin_bit_cast(std::uint16_t, x[2 * w + 1])) << 16;
          } else {
            words[j][step][w] = x[w];
          }
        }
      }
    }
  }
};

/// A lane's neighbours in rows of C.
template <class T, class Out, int kSize>
struct Row {
  static constexpr int kCount = 2 * kTogether<T>;
  static constexpr int kPieces = kSize / 8 / kTogether<T>;
  using Piece = Elements<Out, kCount>;

  /// What C is before the product.
  __device__ static void load(Product<T> const& p, int row, int t, Piece (&old)[kPieces]) {
    Out const* const c = static_cast<Out const*>(p.c) + row * p.ldc;
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      int const col = col_of<T>(piece * kTogether<T>, 2 * t);
      if (col + kCount <= p.n) {
        old[piece] = *reinterpret_cast<Piece const*>(c + col);
      } else {
#pragma unroll
        for (int e = 0; e < kCount; ++e) {
          if (col + e < p.n) old[piece].x[e] = c[col + e];
        }
      }
    }
  }

  /// `sums(group, e)` is the sum in place 2 t + e of a group.
  template <class Sums>
  __device__ static void store(Product<T> const& p, int row, int t, Piece const (&old)[kPieces],
                               Sums const& accumulators) {
    Out* const c = static_cast<Out*>(p.c) + row * p.ldc;
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      Piece values;
#pragma unroll
      for (int e = 0; e < kCount; ++e) {
        Sum<T> value = p.alpha * accumulators(piece * kTogether<T> + e / 2, e % 2);
        if (p.beta != 0) value += p.beta * widened(old[piece].x[e]);
        values.x[e] = narrowed<Out>(value);
      }
      int const col = col_of<T>(piece * kTogether<T>, 2 * t);
      if (col + kCount <= p.n) {
        *reinterpret_cast<Piece*>(c + col) = values;
      } else {
#pragma unroll
        for (int e = 0; e < kCount; ++e) {
          if (col + e < p.n) c[col + e] = values.x[e];
        }
      }
    }
  }
};

template <class T, class Out, int kSize, bool kAlongA>
__global__ void __launch_bounds__(Tall<T, kSize>::kThreads, 1)
    gemm_tall_kernel(Product<T> p, bool transposed_b) {
  using A = Panel<T, kAlongA>;
  using B = Columns<T, kSize>;
  using Shape = Tall<T, kSize>;
  constexpr int kStage = A::bytes_of(Shape::kOfChunk), kStages = Shape::kRing / kStage;
  QUAD_DYNAMIC_SHARED(unsigned char, rings);
  int const warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  int const g = lane >> 2, t = lane & 3;
  int const warps = static_cast<int>(gridDim.x) * Shape::kWarps;
  int const tiles = divide_up(p.m, kSide);
  int const chunks = p.k > kChunk<T> ? Shape::kChunks : 1;
  unsigned char* const ring = rings + warp * Shape::kRing;
  // Where every chunk has the same k-iterations.
  constexpr bool kZeroed = Shape::kChunks == 1;
  if (kZeroed) {
#pragma unroll 1
    for (int stage = 0; stage < kStages; ++stage) {
      A::template fill_rest<Shape::kOfChunk>(ring + stage * kStage, p.k, lane);
    }
  }

  // Copies are kStages chunks ahead of the product.
  int next = static_cast<int>(blockIdx.x) * Shape::kWarps + warp, next_chunk = 0;
  auto const copy = [&](int stage) {
    if (next < tiles) {
      std::int64_t const row = std::int64_t{next} * kSide;
      int const k = next_chunk * kChunk<T>;
      A::template copy<Shape::kOfChunk, kZeroed>(ring + stage * kStage,
                                                 p.a + (kAlongA ? row * p.lda : row), p.lda,
                                                 static_cast<int>(p.m - row), k, p.k - k, lane);
    }
    ptx::cp_async_commit();
    if (++next_chunk == chunks) {
      next_chunk = 0;
      next += warps;
    }
  };
  int tile = next;
#pragma unroll 1
  for (int stage = 0; stage < kStages; ++stage) copy(stage);
  B columns;
  columns.load(p, transposed_b, lane);
  int stage = 0;
#pragma unroll 1
  for (; tile < tiles; tile += warps) {
    Sum<T> accumulators[kLaneSides / 2][Shape::kGroups][4] = {};
#pragma unroll
    for (int chunk = 0; chunk < Shape::kChunks; ++chunk) {
      if (chunk >= chunks) continue;
      ptx::cp_async_wait<kStages - 1>();
#pragma unroll
      for (int step = 0; step < B::kSteps; ++step) {
        if (!has_step<T>(step, p.k - chunk * kChunk<T>)) continue;
        Word<T> a[kLaneSides][kWords<T>];
        A::read(ring + stage * kStage, step, lane, a);
#pragma unroll
        for (int j = 0; j < Shape::kGroups; ++j) {
          if (col_of<T>(j, 0) >= p.n) continue;
#pragma unroll
          for (int q = 0; q < kLaneSides / 2; ++q) {
            multiply<T>(accumulators[q][j], a[2 * q], a[2 * q + 1],
                        columns.words[j][chunk * B::kSteps + step]);
          }
        }
      }
      // Behind the instructions, which have read this stage.
      copy(stage);
      stage = stage == kStages - 1 ? 0 : stage + 1;
    }
    using Row = gemm::Row<T, Out, kSize>;
#pragma unroll
    for (int i = 0; i < kLaneSides; ++i) {
      int const row = tile * kSide + A::side_of(i, g);
      if (row >= p.m) continue;
      typename Row::Piece old[Row::kPieces];
      if (p.beta != 0) Row::load(p, row, t, old);
      Row::store(p, row, t, old,
                 [&](int group, int e) { return accumulators[i / 2][group][i % 2 * 2 + e]; });
    }
  }
  ptx::cp_async_wait_all();
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.m() == 0 || problem.n() == 0) return;
  with_layout(problem, [&]<class T, bool kAlongA, bool kAlongB>(Product<T> const& p) {
    auto const run = [&]<class Out, int kSize>() {
      using Shape = Tall<T, kSize>;
      int const blocks =
          std::min(divide_up(divide_up(p.m, kSide), Shape::kWarps), stream.facts().multiprocessors);
      QUAD_LAUNCH((gemm_tall_kernel<T, Out, kSize, kAlongA>), dim3(static_cast<unsigned>(blocks)),
                  dim3(Shape::kThreads), kRings, stream, p, kAlongB);
    };
    auto const with_size = [&]<class Out>() {
      if (std::max(p.n, p.k) <= kShort) return run.template operator()<Out, kShort>();
      run.template operator()<Out, kMax>();
    };
    if constexpr (sizeof(T) == 2) {
      if (p.is_c_f32) return with_size.template operator()<float>();
    }
    with_size.template operator()<T>();
  });
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& problem) {
  if (problem.n() <= kMax && problem.k() <= kMax) return {};
  return "takes n and k up to " + std::to_string(kMax) + ", not " + std::to_string(problem.n()) +
         " and " + std::to_string(problem.k());
}

}  // namespace

extern constinit Variant<Problem> const tall{
    {.name = "tall",
     .where = Where::cuda,
     .types = thin::kTypes,
     .needs = {.compute_capability = 90,
               .shared_bytes = thin::kRings,
               .ld_bytes = 16,
               .alignment = 16,
               .max_extent = kMaxCudaExtent,
               .other = "n and k up to 32"},
     .preference = 50,
     .source = "own",
     .summary = "many rows, few columns, short k: B in registers, A past it"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported}};

}  // namespace quadrille::kernels::gemm
