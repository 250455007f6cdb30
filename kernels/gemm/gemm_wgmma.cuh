// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What products by `wgmma` share: a configuration in one place, operands as tensor copies leave them
/// in shared memory, the product of a warpgroup, and the way from a problem to a kernel.
///
/// A stage of the ring holds 128 bytes of k of a tile of A and of a tile of B, swizzled by 128 bytes.
/// wgmma reads either order of a 16-bit operand, so that no layout costs more than another:
///
///   K-major      rows of 64 k; a box has all rows
///   MN-major     boxes of 64 rows of k with 64 elements of m or n each

#include "common/ptx/bulk_copies.cuh"
#include "common/ptx/threads.cuh"
#include "common/ptx/wgmma.cuh"
#include "gemm/gemm_half_rows.cuh"
#include "gemm/gemm_stage_barriers.cuh"

namespace quadrille::kernels::gemm {

/// The constants of a product.
struct WgmmaConfig {
  int bm = 128, bn = 256;
  int consumers = 2;         ///< warpgroups that multiply, each bm / consumers rows of the tile
  bool has_producer = true;  ///< a warpgroup more, which copies
  int stages = 4;
  int raster = 8;  ///< blocks side by side that run together
};

inline constexpr TypeList kWgmmaTypes{
    {core::DataType::f16},
    {core::DataType::f16, core::Compute::f32, core::DataType::f32},
    {core::DataType::bf16},
    {core::DataType::bf16, core::Compute::f32, core::DataType::f32}};

constexpr VariantInfo row(std::string_view name, std::string_view summary,
                          WgmmaConfig const& config, int preference = 0) {
  return {.name = name,
          .where = Where::cuda,
          .types = kWgmmaTypes,
          .needs = {.compute_capability = 90,
                    .ld_bytes = 16,
                    .alignment = 16,
                    .most_extent = kMostCudaExtent,
                    .tile = {config.bm, config.bn}},
          .preference = preference,
          .source = "own",
          .summary = summary};
}

#ifdef QUAD_KERNELS

inline constexpr int kStageK = 64;  ///< of a stage
inline constexpr int kStageSteps = kStageK / 16;

/// The order of A and of B in memory. Kernels take it as an argument and have a main loop for each
/// combination, because all else is the same code.
struct Majors {
  ptx::Major a, b;
};

/// kExtent rows of A, or columns of B, and kStageK of k in shared memory.
template <int kExtent>
struct StagedOperand {
  static constexpr int kBytes = kExtent * 128;
  static constexpr int kBoxBytes = 64 * 128;  ///< of an MN-major one
  static_assert(kExtent <= 256 && kExtent % 64 == 0);

  static ptx::TensorMap map_of(device::MatrixView const& x, ptx::Major major) {
    if (x.rows == 0 || x.cols == 0) return {};  // nothing is loaded
    return ptx::make_tensor_map_2d(
        {.data = x.data,
         .type = x.type,
         .rows = x.rows,
         .columns = x.cols,
         .leading = x.ld,
         .box_rows = static_cast<unsigned>(major == ptx::Major::k ? kExtent : kStageK),
         .box_columns = 64,
         .swizzle = ptx::Swizzle::bytes_128});
  }

  /// Starts the copies of elements [first, first + kExtent) of m or n, and of k from k on.
  __device__ static void load(unsigned char* to, ptx::TensorMap const& map, ptx::Major major,
                              int first, int k, ptx::MBarrier* barrier) {
    if (major == ptx::Major::k) {
      ptx::tensor_load(to, map, first, k, barrier);
    } else {
#pragma unroll
      for (int box = 0; box < kExtent / 64; ++box) {
        ptx::tensor_load(to + box * kBoxBytes, map, k, first + box * 64, barrier);
      }
    }
  }

  /// From element `first` of m or n on, a multiple of 64.
  __device__ static ptx::MatrixDescriptor descriptor(unsigned char const* operand, ptx::Major major,
                                                     int first) {
    unsigned char const* const from = operand + first * 128;
    return major == ptx::Major::k
               ? ptx::k_major_descriptor(from, ptx::Swizzle::bytes_128)
               : ptx::mn_major_descriptor(from, ptx::Swizzle::bytes_128, kBoxBytes);
  }
  /// The same `step` steps of wgmma along k further on.
  template <ptx::Major kMajor>
  __device__ static ptx::MatrixDescriptor at_step(ptx::MatrixDescriptor descriptor, int step) {
    return advanced(descriptor,
                    static_cast<unsigned>(kMajor == ptx::Major::k ? step * 32 : step * 16 * 128));
  }
};

/// What follows from a configuration for a type.
template <WgmmaConfig kConfigOfTile, class T>
struct WgmmaTile {
  using Type = T;
  static constexpr WgmmaConfig kConfig = kConfigOfTile;
  using A = StagedOperand<kConfig.bm>;
  using B = StagedOperand<kConfig.bn>;
  static constexpr int kStageBytes = A::kBytes + B::kBytes;
  static constexpr int kConsumerThreads = kConfig.consumers * 128;
  static constexpr int kThreads = kConsumerThreads + (kConfig.has_producer ? 128 : 0);
  static constexpr int kRows = kConfig.bm / kConfig.consumers;  ///< of a warpgroup
  static constexpr int kParts = kRows / 64;     ///< of its accumulators, 64 x bn each
  static constexpr int kSums = kConfig.bn / 2;  ///< of a part, of a thread
  using Barriers = StageBarriers<kConfig.stages>;
  static constexpr int kRingBytes = kConfig.stages * kStageBytes;
  static constexpr int kSharedBytes = kRingBytes + static_cast<int>(sizeof(Barriers));
  static_assert(kRows % 64 == 0 && kSharedBytes <= 227 * 1024);
};

/// Two neighbours in a row of C; what is outside of C is zero, and is not stored.
template <class Out, class T>
__device__ Vector<Out, 2> load_pair(HalfOperands<T> const& p, int row, int col) {
  Vector<Out, 2> pair{};
  if (row >= p.m || col >= p.n) return pair;
  Out const* const c = static_cast<Out const*>(p.c) + row * p.ldc + col;
  if (col + 1 < p.n) return *reinterpret_cast<Vector<Out, 2> const*>(c);
  pair.x[0] = *c;
  return pair;
}
template <class Out, class T>
__device__ void store_pair(HalfOperands<T> const& p, int row, int col, Vector<Out, 2> pair) {
  if (row >= p.m || col >= p.n) return;
  Out* const c = static_cast<Out*>(p.c) + row * p.ldc + col;
  if (col + 1 < p.n) {
    *reinterpret_cast<Vector<Out, 2>*>(c) = pair;
  } else {
    *c = pair.x[0];
  }
}

/// The product of a warpgroup.
template <class Tile>
class WgmmaWarpgroup {
  using T = typename Tile::Type;

 public:
  /// `ring`: the first stage.
  __device__ WgmmaWarpgroup(unsigned char const* ring, Majors majors)
      : a_{Tile::A::descriptor(ring, majors.a, row())},
        b_{Tile::B::descriptor(ring + Tile::A::kBytes, majors.b, 0)} {}

  /// The first row of this warpgroup in the tile.
  __device__ static int row() { return static_cast<int>(threadIdx.x) / 128 * Tile::kRows; }

  /// The sums of no products.
  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < Tile::kParts; ++i) {
#pragma unroll
      for (int j = 0; j < Tile::kSums; ++j) sums_[i][j] = 0;
    }
  }

  /// Starts the products of a stage, which are one group.
  template <ptx::Major kA, ptx::Major kB>
  __device__ __forceinline__ void multiply(int stage, bool accumulate) {
    auto const at = static_cast<unsigned>(stage * Tile::kStageBytes);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < kStageSteps; ++step) {
      auto const a = Tile::A::template at_step<kA>(advanced(a_, at), step);
      auto const b = Tile::B::template at_step<kB>(advanced(b_, at), step);
#pragma unroll
      for (int i = 0; i < Tile::kParts; ++i) {
        auto const part = advanced(a, static_cast<unsigned>(i * 64 * 128));
        if constexpr (std::is_same_v<T, __half>) {
          ptx::wgmma_f16<Tile::kConfig.bn, kA, kB>(sums_[i], part, b, accumulate || step > 0);
        } else {
          ptx::wgmma_bf16<Tile::kConfig.bn, kA, kB>(sums_[i], part, b, accumulate || step > 0);
        }
      }
    }
    ptx::wgmma_commit();
  }

  /// Waits until all products are complete.
  __device__ void finish() {
    if constexpr (Tile::kParts == 1) {
      ptx::wgmma_wait<0>(sums_[0]);
    } else {
      ptx::wgmma_wait<0>(sums_[0], sums_[1]);
    }
  }

  /// Updates C from registers. `corner`: of the tile.
  __device__ void write(HalfOperands<T> const& p, BlockCorner corner) {
    if (p.is_c_f32) {
      write<float>(p, corner);
    } else {
      write<T>(p, corner);
    }
  }

 private:
  /// Of a thread, what 128 bytes of columns are.
  template <class Out>
  static constexpr int kAtOnce = 64 / static_cast<int>(sizeof(Out));

  template <class Out>
  __device__ void write(HalfOperands<T> const& p, BlockCorner corner) {
    int const thread = static_cast<int>(threadIdx.x) % 128;
#pragma unroll
    for (int i = 0; i < Tile::kParts; ++i) {
      int const c_row = corner.row + row() + i * 64 + ptx::accumulator_row(thread, 0);
      int const c_col = corner.col + ptx::accumulator_column(thread, 0);
#pragma unroll
      for (int j = 0; j < Tile::kSums; j += kAtOnce<Out>) {
        float* const sums = sums_[i] + j;
        scale<Out>(p, c_row, c_col + j * 2, sums);
        for_pairs<Out>(c_row, c_col + j * 2, [&](int e, int at_row, int at_col) {
          Vector<Out, 2> pair;
          from_f32(sums[e], pair.x[0]);
          from_f32(sums[e + 1], pair.x[1]);
          store_pair(p, at_row, at_col, pair);
        });
      }
    }
  }

  /// sums = alpha sums + beta C.
  template <class Out>
  __device__ __forceinline__ static void scale(HalfOperands<T> const& p, int row, int col,
                                               float* sums) {
#pragma unroll
    for (int e = 0; e < kAtOnce<Out>; ++e) sums[e] *= p.alpha;
    if (p.beta == 0) return;
    Vector<Out, 2> old[kAtOnce<Out> / 2];
    for_pairs<Out>(row, col, [&](int e, int at_row, int at_col) {
      old[e / 2] = load_pair<Out>(p, at_row, at_col);
    });
#pragma unroll
    for (int e = 0; e < kAtOnce<Out>; ++e) sums[e] += p.beta * to_f32(old[e / 2].x[e % 2]);
  }

  /// Calls f(number, row, column) for the pairs among kAtOnce accumulators.
  template <class Out, class F>
  __device__ __forceinline__ static void for_pairs(int row, int col, F const& f) {
#pragma unroll
    for (int e = 0; e < kAtOnce<Out>; e += 2) f(e, row + e / 2 % 2 * 8, col + e / 4 * 8);
  }

  float sums_[Tile::kParts][Tile::kSums];
  ptx::MatrixDescriptor a_, b_;
};

/// Calls loop.operator()<kA, kB>().
template <class Loop>
__device__ __forceinline__ void with_majors(Majors majors, Loop const& loop) {
  constexpr auto k = ptx::Major::k, mn = ptx::Major::mn;
  if (majors.a == k) {
    if (majors.b == k) {
      loop.template operator()<k, k>();
    } else {
      loop.template operator()<k, mn>();
    }
  } else if (majors.b == k) {
    loop.template operator()<mn, k>();
  } else {
    loop.template operator()<mn, mn>();
  }
}

/// Calls launch.operator()<Tile>(map of A, map of B, majors, operands) for the type of a problem.
template <WgmmaConfig kConfig, class Launch>
void with_wgmma_tile(Problem const& problem, Launch const& launch) {
  if (problem.m() == 0 || problem.n() == 0) return;
  Majors const majors{problem.transpose_a ? ptx::Major::mn : ptx::Major::k,
                      problem.transpose_b ? ptx::Major::k : ptx::Major::mn};
  auto const with = [&]<class T>(T) {
    using Tile = WgmmaTile<kConfig, T>;
    launch.template operator()<Tile>(Tile::A::map_of(problem.a, majors.a),
                                     Tile::B::map_of(problem.b, majors.b), majors,
                                     half_operands<T>(problem));
  };
  if (problem.a.type == core::DataType::bf16) {
    with(__nv_bfloat16{});
  } else {
    with(__half{});
  }
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm
