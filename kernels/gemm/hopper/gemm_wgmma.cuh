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
///
/// Of f32, which is rounded to tf32 on its way and has half as many elements in 128 bytes, and of i8,
/// e4m3 and e5m2, which have twice as many, it reads K-major operands alone: others are copied first.

#include "common/ptx/bulk_copies.cuh"
#include "common/ptx/clusters.cuh"
#include "common/ptx/threads.cuh"
#include "common/ptx/wgmma.cuh"
#include "gemm/cuda_cores/gemm_k_major.cuh"
#include "gemm/hopper/gemm_stage_barriers.cuh"
#include "gemm/tensor_cores/gemm_half_rows.cuh"

#include <algorithm>
#include <array>

namespace quadrille::kernels::gemm {

/// The constants of a product.
struct WgmmaConfig {
  int bm = 128, bn = 256;
  int consumers = 2;         ///< warpgroups that multiply, each bm / consumers rows of the tile
  bool has_producer = true;  ///< a warpgroup more, which copies
  int stages = 4;
  int epilogue_tiles = 1;  ///< of C on their way, for each warp
  /// Blocks of a cluster, with tiles below each other: each copies a part of the columns of B to all.
  int cluster = 1;
  int raster = 8;  ///< clusters side by side that run together
};

// The tiles of persistent blocks. Where shared memory allows it, a warp has an epilogue tile for each that it
// stores.
inline constexpr WgmmaConfig kWide{.epilogue_tiles = 2, .cluster = 2};
inline constexpr WgmmaConfig kMiddle{.bn = 192, .epilogue_tiles = 3, .cluster = 2};
inline constexpr WgmmaConfig kNarrow{.bn = 128, .stages = 6, .epilogue_tiles = 2, .cluster = 2};
inline constexpr WgmmaConfig kSlim{.bn = 64, .stages = 8, .epilogue_tiles = 2, .cluster = 2};

inline constexpr TypeList kWgmmaTypes{
    {core::DataType::f16},
    {core::DataType::f16, core::Compute::f32, core::DataType::f32},
    {core::DataType::bf16},
    {core::DataType::bf16, core::Compute::f32, core::DataType::f32},
    {core::DataType::f32, core::Compute::tf32}};

constexpr VariantInfo row(std::string_view name, std::string_view summary,
                          WgmmaConfig const& config, int preference = 0) {
  return {.name = name,
          .where = Where::cuda,
          .types = kWgmmaTypes,
          .needs = {.compute_capability = 90,
                    .exact_capability = true,
                    .ld_bytes = 16,
                    .alignment = 16,
                    .max_extent = kMaxCudaExtent,
                    .tile = {config.bm, config.bn},
                    .other = "scratch for transposed copies (f32, but in layout nt)"},
          .preference = preference,
          .source = "own",
          .summary = summary};
}

/// A row that takes operands of any alignment.
constexpr VariantInfo any_rows(VariantInfo info) {
  info.needs.ld_bytes = info.needs.alignment = 1;
  info.needs.other = "scratch for copies (f32 but in layout nt, rows not aligned to 16 bytes)";
  return info;
}

/// For Specifics::scratch_bytes.
inline std::size_t scratch_of_copies(Problem const& problem, device::Facts const& /*device*/) {
  return KMajorCopies::all_of(problem).bytes(problem);
}

#ifdef QUAD_KERNELS

template <>
struct SumOf<core::e4m3> {
  using Type = float;
  using Stored = __nv_bfloat16;
};
template <>
struct SumOf<core::e5m2> : SumOf<core::e4m3> {};

inline constexpr int kStageSteps = 128 / 32;  ///< of wgmma, in a stage

/// The order of A and of B in memory. Kernels take it as an argument and have a main loop for each
/// combination, because all else is the same code.
struct Majors {
  ptx::Major a, b;
};

/// kExtent rows of A, or columns of B, of T and kStageK of k in shared memory. Each block of a cluster
/// copies one of kParts parts to all.
template <int kExtent, class T, int kParts = 1>
struct StagedOperand {
  static constexpr int kStageK = 128 / static_cast<int>(sizeof(T));
  static constexpr int kBytes = kExtent * 128;
  static constexpr int kBoxBytes = kStageK * 128;  ///< of an MN-major one
  // Boxes of MN-major ones have 64 rows.
  static_assert(kExtent <= 256 && kExtent % (sizeof(T) == 1 ? 8 : 64) == 0 &&
                kExtent % (8 * kParts) == 0);

  static ptx::TensorMap map_of(device::MatrixView const& x, ptx::Major major) {
    if (x.rows == 0 || x.cols == 0) return {};  // nothing is loaded
    return ptx::make_tensor_map_2d(
        {.data = x.data,
         .type = x.type,
         .rows = x.rows,
         .columns = x.cols,
         .leading = x.ld,
         .box_rows = static_cast<unsigned>(major == ptx::Major::k ? kExtent / kParts : kStageK),
         .box_columns = static_cast<unsigned>(kStageK),
         .swizzle = ptx::Swizzle::bytes_128,
         .rounds_to_tf32 = x.type == core::DataType::f32});
  }

  /// Starts the copies of part `part` of elements [first, first + kExtent) of m or n, and of k from
  /// k on.
  template <ptx::L2Hint kHint = ptx::L2Hint::none>
  __device__ static void load(unsigned char* to, ptx::TensorMap const& map, ptx::Major major,
                              int first, int k, ptx::MBarrier* barrier, int part = 0) {
    if (major == ptx::Major::k) {
      int const at = part * (kExtent / kParts);
      copy<kHint>(to + at * 128, map, first + at, k, barrier);
    } else {
      constexpr int kBoxes = kExtent / kStageK;
#pragma unroll
      for (int i = 0; i < kBoxes; i += kParts) {
        int const box = i + part;
        if (kBoxes % kParts != 0 && box >= kBoxes) break;
        copy<kHint>(to + box * kBoxBytes, map, k, first + box * kStageK, barrier);
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

 private:
  template <ptx::L2Hint kHint>
  __device__ static void copy(unsigned char* to, ptx::TensorMap const& map, int row, int col,
                              ptx::MBarrier* barrier) {
    if constexpr (kParts == 1) {
      ptx::tensor_load<kHint>(to, map, row, col, barrier);
    } else {
      ptx::tensor_load_multicast<kHint>(to, map, row, col, barrier, (1U << kParts) - 1);
    }
  }
};

/// 16 rows and 128 bytes of C on their way, of a warp, swizzled as tensor copies have them.
inline constexpr int kEpilogueTileRows = 16;
inline constexpr int kEpilogueTileBytes = kEpilogueTileRows * 128;

/// Or 32 rows of 64 bytes, or half as large.
template <class Out, int kRows = kEpilogueTileRows, int kTileBytes = kEpilogueTileBytes>
struct EpilogueTile {
  static constexpr int kRowBytes = kTileBytes / kRows;
  static constexpr int kCols = kRowBytes / static_cast<int>(sizeof(Out));
  static constexpr auto kSwizzle =
      kRowBytes == 128 ? ptx::Swizzle::bytes_128 : ptx::Swizzle::bytes_64;
  static constexpr int kAccumulators = kCols / 2;  ///< accumulators of a thread for it
  static constexpr int kPiece = 16 / static_cast<int>(sizeof(Out));
  using Pair = Vector<Out, 2>;
  using Piece = Vector<Out, kPiece>;

  unsigned char* bytes;

  template <class Element>
  __device__ Element& at(int row, int col) const {
    auto const offset =
        static_cast<unsigned>(row * kRowBytes + col * static_cast<int>(sizeof(Out)));
    return *reinterpret_cast<Element*>(bytes + ptx::swizzled(kSwizzle, offset));
  }

  /// Calls f(number, row, column) for each pair of a thread's accumulators.
  template <class F>
  __device__ __forceinline__ static void for_pairs(F const& f) {
    int const lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int e = 0; e < kAccumulators; e += 2) {
      f(e, ptx::accumulator_row(lane, e), ptx::accumulator_column(lane, e));
    }
  }

  /// sums = alpha sums + beta what is here.
  template <class Sum>
  __device__ __forceinline__ void scale(Sum* accumulators, Sum alpha, Sum beta) const {
#pragma unroll
    for (int e = 0; e < kAccumulators; ++e) accumulators[e] *= alpha;
    if (beta == 0) return;
    for_pairs([&](int e, int row, int col) {
      Pair const old = at<Pair>(row, col);
      accumulators[e] += beta * to_f32(old.x[0]);
      accumulators[e + 1] += beta * to_f32(old.x[1]);
    });
  }

  /// Stores accumulators here.
  template <class Sum>
  __device__ __forceinline__ void put(Sum const* accumulators) const {
    if constexpr (sizeof(Out) == 4) {
      for_pairs([&](int e, int row, int col) {
        at<Pair>(row, col) = {{accumulators[e], accumulators[e + 1]}};
      });
    } else {
      // Two 8 x 8 matrices below each other, and two beside these.
      int const lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
      for (int e = 0; e < kAccumulators; e += 8) {
        std::uint32_t pairs[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          Pair const pair{
              {from_f32<Out>(accumulators[e + 2 * i]), from_f32<Out>(accumulators[e + 2 * i + 1])}};
          pairs[i] = __builtin_bit_cast(std::uint32_t, pair);
        }
        ptx::stmatrix_x4(&at<Piece>(lane % 16, e * 2 + lane / 16 * 8), pairs);
      }
    }
  }

  /// Calls f(piece, piece of C, elements of it that are inside of C) by turns of the warp. This epilogue tile
  /// is at (row, col) of C.
  template <class T, class F>
  __device__ void for_pieces(HalfOperands<T> const& p, int row, int col, F const& f) const {
#pragma unroll 1
    for (int e = static_cast<int>(threadIdx.x) % 32; e < kTileBytes / 16; e += 32) {
      int const i = e / (kRowBytes / 16), j = e % (kRowBytes / 16) * kPiece;
      if (row + i >= p.m || col + j >= p.n) continue;
      f(at<Piece>(i, j),
        *reinterpret_cast<Piece*>(static_cast<Out*>(p.c) + (row + i) * p.ldc + col + j),
        min(kPiece, p.n - col - j));
    }
  }
  /// The same by single elements, where rows of C are not aligned to pieces. Lanes have neighbours.
  template <class T, class F>
  __device__ void for_elements(HalfOperands<T> const& p, int row, int col, F const& f) const {
#pragma unroll 4
    for (int e = static_cast<int>(threadIdx.x) % 32; e < kRows * kCols; e += 32) {
      int const i = e / kCols, j = e % kCols;
      if (row + i >= p.m || col + j >= p.n) continue;
      f(at<Out>(i, j), static_cast<Out*>(p.c)[(row + i) * p.ldc + col + j]);
    }
  }
  template <class T>
  __device__ static bool is_aligned(HalfOperands<T> const& p) {
    return p.ldc % kPiece == 0 && reinterpret_cast<std::uintptr_t>(p.c) % 16 == 0;
  }
  template <class T>
  __device__ void load(HalfOperands<T> const& p, int row, int col) const {
    if (is_aligned(p)) {
      for_pieces(p, row, col,
                 [](Piece& here, Piece const& there, int count) { move(here, there, count); });
    } else {
      for_elements(p, row, col, [](Out& here, Out const& there) { here = there; });
    }
  }
  template <class T>
  __device__ void store(HalfOperands<T> const& p, int row, int col) const {
    if (is_aligned(p)) {
      for_pieces(p, row, col,
                 [](Piece const& here, Piece& there, int count) { move(there, here, count); });
    } else {
      for_elements(p, row, col, [](Out const& here, Out& there) { there = here; });
    }
  }

 private:
  __device__ static void move(Piece& to, Piece const& from, int count) {
    if (count == kPiece) {
      to = from;
    } else {
#pragma unroll 1
      for (int e = 0; e < count; ++e) to.x[e] = from.x[e];
    }
  }
};

/// What follows from a configuration for a type.
template <WgmmaConfig kConfigOfTile, class T>
struct WgmmaTile {
  using Type = T;
  static constexpr WgmmaConfig kConfig = kConfigOfTile;
  using A = StagedOperand<kConfig.bm, T>;
  using B = StagedOperand<kConfig.bn, T, kConfig.cluster>;
  static constexpr int kStageK = A::kStageK;
  static constexpr int kStageBytes = A::kBytes + B::kBytes;
  static constexpr int kConsumerThreads = kConfig.consumers * 128;
  static constexpr int kThreads = kConsumerThreads + (kConfig.has_producer ? 128 : 0);
  static constexpr int kRows = kConfig.bm / kConfig.consumers;  ///< of a warpgroup
  static constexpr int kParts = kRows / 64;             ///< of its accumulators, 64 x bn each
  static constexpr int kAccumulators = kConfig.bn / 2;  ///< of a part, of a thread
  using Barriers = StageBarriers<kConfig.stages>;
  // Shared memory: the ring, epilogue tiles of C for each warp, barriers.
  static constexpr int kEpilogueTiles = kConfig.stages * kStageBytes;
  static constexpr int kBarriers =
      kEpilogueTiles + kConsumerThreads / 32 * kConfig.epilogue_tiles * kEpilogueTileBytes;
  static constexpr int kSharedBytes = kBarriers + static_cast<int>(sizeof(Barriers));
  static_assert(kRows % 64 == 0 && kSharedBytes <= 227 * 1024);

  // Of a row of an epilogue tile, so that whole ones make a tile of C.
  static constexpr int kEpilogueRowBytes = kConfig.bn % 64 == 0 ? 128 : 64;

  /// Whether the copy engine can store C: it writes whole pieces of 16 bytes.
  static bool copies_c(device::MatrixView const& c) {
    return is_aligned(c) && c.cols * static_cast<std::int64_t>(core::size_of(c.type)) % 16 == 0;
  }
  /// C in epilogue tiles.
  static ptx::TensorMap map_of_c(device::MatrixView const& c) {
    return ptx::make_tensor_map_2d(
        {.data = c.data,
         .type = c.type,
         .rows = c.rows,
         .columns = c.cols,
         .leading = c.ld,
         .box_rows = kEpilogueTileRows,
         .box_columns = static_cast<unsigned>(kEpilogueRowBytes / core::size_of(c.type)),
         .swizzle = kEpilogueRowBytes == 128 ? ptx::Swizzle::bytes_128 : ptx::Swizzle::bytes_64});
  }
  /// Brings the part of C under a tile to the L2 cache; one thread.
  __device__ static void prefetch_c(ptx::TensorMap const& c, HalfOperands<T> const& p,
                                    BlockCorner corner) {
    using Sums = SumOf<T>;
    int const size = p.is_c_f32 ? 4 : static_cast<int>(sizeof(typename Sums::Stored));
    int const cols = kEpilogueRowBytes / size;  // of an epilogue tile
#pragma unroll 1
    for (int row = corner.row; row < min(corner.row + kConfig.bm, p.m); row += kEpilogueTileRows) {
#pragma unroll 1
      for (int col = corner.col; col < min(corner.col + kConfig.bn, p.n); col += cols) {
        ptx::tensor_prefetch(c, row, col);
      }
    }
  }
};

/// The product of a warpgroup.
template <class Tile>
class WgmmaWarpgroup {
  using T = typename Tile::Type;
  using Sum = SumOf<T>::Type;
  using Stored = SumOf<T>::Stored;

 public:
  /// `ring`: the first stage.
  __device__ WgmmaWarpgroup(unsigned char const* ring, Majors majors)
      : a_{Tile::A::descriptor(ring, majors.a, ptx::warpgroup_number() * Tile::kRows)},
        b_{Tile::B::descriptor(ring + Tile::A::kBytes, majors.b, 0)} {}

  /// The first row of this warpgroup in the tile.
  __device__ static int row() { return static_cast<int>(threadIdx.x) / 128 * Tile::kRows; }

  /// The sums of no products.
  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < Tile::kParts; ++i) {
#pragma unroll
      for (int j = 0; j < Tile::kAccumulators; ++j) accumulators_[i][j] = 0;
    }
  }

  /// Starts the products of a stage, which are one group.
  template <ptx::Major kA, ptx::Major kB>
  __device__ __forceinline__ void multiply(int stage, bool accumulate) {
    multiply<kA, kB>(accumulators_, stage, accumulate);
  }
  /// The same to other accumulators.
  template <ptx::Major kA, ptx::Major kB>
  __device__ __forceinline__ void multiply(Sum (&to)[Tile::kParts][Tile::kAccumulators], int stage,
                                           bool accumulate) {
    auto const at = static_cast<unsigned>(stage * Tile::kStageBytes);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < kStageSteps; ++step) {
      auto const a = Tile::A::template at_step<kA>(advanced(a_, at), step);
      auto const b = Tile::B::template at_step<kB>(advanced(b_, at), step);
#pragma unroll
      for (int i = 0; i < Tile::kParts; ++i) {
        auto const part = advanced(a, static_cast<unsigned>(i * 64 * 128));
        if constexpr (std::is_same_v<T, float>) {
          ptx::wgmma_tf32<Tile::kConfig.bn>(to[i], part, b, accumulate || step > 0);
        } else if constexpr (std::is_same_v<T, signed char>) {
          ptx::wgmma_s8<Tile::kConfig.bn>(to[i], part, b, accumulate || step > 0);
        } else if constexpr (std::is_same_v<T, core::e4m3>) {
          ptx::wgmma_e4m3<Tile::kConfig.bn>(to[i], part, b, accumulate || step > 0);
        } else if constexpr (std::is_same_v<T, core::e5m2>) {
          ptx::wgmma_e5m2<Tile::kConfig.bn>(to[i], part, b, accumulate || step > 0);
        } else if constexpr (std::is_same_v<T, __half>) {
          ptx::wgmma_f16<Tile::kConfig.bn, kA, kB>(to[i], part, b, accumulate || step > 0);
        } else {
          ptx::wgmma_bf16<Tile::kConfig.bn, kA, kB>(to[i], part, b, accumulate || step > 0);
        }
      }
    }
    ptx::wgmma_commit();
  }

  /// Waits until all products are complete.
  __device__ void finish() {
    if constexpr (Tile::kParts == 1) {
      ptx::wgmma_wait<0>(accumulators_[0]);
    } else {
      ptx::wgmma_wait<0>(accumulators_[0], accumulators_[1]);
    }
  }

  /// Of the 64 rows of a part, as ptx::accumulator_row() and accumulator_column() place them.
  __device__ Sum (&accumulators(int part))[Tile::kAccumulators] { return accumulators_[part]; }

  /// Updates C by way of shared memory. `corner`: of the tile. `c`: C as epilogue tiles, where these are
  /// stored by tensor copies: an epilogue tile is free again when they have read it.
  __device__ void write(HalfOperands<T> const& p, BlockCorner corner, unsigned char* shared,
                        ptx::TensorMap const* c = nullptr) {
    if constexpr (std::is_same_v<Stored, Sum>) {
      write<Sum>(p, corner, shared, c);
    } else if (p.is_c_f32) {
      write<Sum>(p, corner, shared, c);
    } else {
      write<Stored>(p, corner, shared, c);
    }
  }

 private:
  template <class Out>
  __device__ void write(HalfOperands<T> const& p, BlockCorner corner, unsigned char* shared,
                        ptx::TensorMap const* c) {
    using StoredRows =
        EpilogueTile<Out, kEpilogueTileRows, kEpilogueTileRows * Tile::kEpilogueRowBytes>;
    int const warp = static_cast<int>(threadIdx.x) / 32;
    bool const is_first = threadIdx.x % 32 == 0;
    // Where they rotate evenly, the epilogue tile that follows was handed over longest ago, also from tile to
    // tile.
    constexpr int kOfTile = Tile::kParts * Tile::kAccumulators / StoredRows::kAccumulators;
    constexpr int kEpilogueTiles =
        Tile::kConfig.epilogue_tiles < kOfTile ? Tile::kConfig.epilogue_tiles : kOfTile;
    static_assert(kOfTile % kEpilogueTiles == 0);
    unsigned char* const epilogue_tiles =
        shared + Tile::kEpilogueTiles + warp * Tile::kConfig.epilogue_tiles * kEpilogueTileBytes;
#pragma unroll
    for (int i = 0; i < Tile::kParts; ++i) {
      int const c_row = corner.row + row() + i * 64 + warp % 4 * kEpilogueTileRows;
#pragma unroll
      for (int j = 0; j < Tile::kAccumulators; j += StoredRows::kAccumulators) {
        int const number = (i * Tile::kAccumulators + j) / StoredRows::kAccumulators;
        StoredRows const epilogue_tile{epilogue_tiles +
                                       number % kEpilogueTiles * kEpilogueTileBytes};
        int const c_col = corner.col + j * 2;
        if (c != nullptr && is_first) ptx::bulk_wait_read<kEpilogueTiles - 1>();
        __syncwarp();  // the epilogue tile is free
        if (p.beta != 0) {
          epilogue_tile.load(p, c_row, c_col);
          __syncwarp();  // all of it is here
        }
        epilogue_tile.scale(accumulators_[i] + j, p.alpha, p.beta);
        if (p.beta != 0) __syncwarp();  // all have read it
        epilogue_tile.put(accumulators_[i] + j);
        if (c != nullptr) ptx::fence_proxy_async();
        __syncwarp();  // all of it is here
        if (c == nullptr) {
          epilogue_tile.store(p, c_row, c_col);
        } else if (is_first) {
          ptx::tensor_store(*c, c_row, c_col, epilogue_tile.bytes);
          ptx::bulk_commit();
        }
      }
    }
  }

  Sum accumulators_[Tile::kParts][Tile::kAccumulators];
  ptx::MatrixDescriptor a_, b_;
};

/// Calls loop.operator()<kA, kB>().
template <class T, class Loop>
__device__ __forceinline__ void with_majors(Majors majors, Loop const& loop) {
  constexpr auto k = ptx::Major::k, mn = ptx::Major::mn;
  if constexpr (sizeof(T) != 2) {
    loop.template operator()<k, k>();
  } else if (majors.a == k) {
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

/// The ring of stages in shared memory and their barriers. Producer and consumers walk through it with a
/// PipelineState each:
///
///   producer    acquire (waits on `empty`)  copies, which arrive at `full`
///   consumer    wait (on `full`)            products   release (arrives at `empty`)
template <class Tile>
class WgmmaRing {
  static constexpr WgmmaConfig kConfig = Tile::kConfig;

 public:
  using State = PipelineState<kConfig.stages>;

  /// By all threads; then the barriers are ready, those of the other blocks of the cluster too. `copying`
  /// threads more than the producer arrive when a stage is full.
  __device__ WgmmaRing(unsigned char* shared, ptx::TensorMap const& a, ptx::TensorMap const& b,
                       unsigned copying = 0)
      : shared_{shared},
        barriers_{*reinterpret_cast<typename Tile::Barriers*>(shared + Tile::kBarriers)} {
    if (threadIdx.x == Tile::kConsumerThreads) {
      ptx::tensor_map_prefetch(a);
      ptx::tensor_map_prefetch(b);
    }
    if (threadIdx.x == 0) {
      barriers_.init(1 + copying, Tile::kConsumerThreads / 32 * kConfig.cluster);
    }
    if constexpr (kConfig.cluster == 1) {
      __syncthreads();
    } else {
      __syncwarp();  // the instructions take whole warps
      ptx::cluster_arrive_relaxed();
      ptx::cluster_wait();
    }
  }

  /// Where copies of a stage go, and the barrier at which they arrive.
  struct Stage {
    unsigned char *a, *b;
    ptx::MBarrier* full;
  };
  /// Waits until what was in the stage has been multiplied by all; then kStageBytes must be copied to it.
  __device__ __forceinline__ Stage producer_acquire(State const& state) {
    ptx::MBarrier* const full = &barriers_.full[state.stage];
    wait_until_empty(state);
    ptx::mbarrier_arrive_expect_tx(full, Tile::kStageBytes);
    unsigned char* const stage = shared_ + state.stage * Tile::kStageBytes;
    return {stage, stage + Tile::A::kBytes, full};
  }
  /// The same for threads that copy something else to the stage, and arrive at the barrier.
  __device__ __forceinline__ ptx::MBarrier* copying_acquire(State const& state) {
    wait_until_empty(state);
    return &barriers_.full[state.stage];
  }
  /// Waits until all stages are empty. Then the other blocks of the cluster neither copy to this one nor
  /// arrive at its barriers any more, so that it may end.
  __device__ void producer_tail(State& state) {
    if constexpr (kConfig.cluster > 1) {
#pragma unroll 1
      for (int i = 0; i < kConfig.stages; ++i, state.advance()) wait_until_empty(state);
    }
  }
  /// Of this block in its cluster: the part of B that it copies.
  __device__ static int rank() {
    return kConfig.cluster == 1 ? 0 : static_cast<int>(ptx::cluster_rank());
  }

  /// Waits until the stage is full.
  __device__ __forceinline__ void consumer_wait(State const& state) {
    ptx::mbarrier_wait(&barriers_.full[state.stage], state.parity);
  }
  /// Says that this warp reads a stage no more, in all blocks that copy to this one.
  __device__ __forceinline__ void consumer_release(int stage) {
    if (threadIdx.x % 32 != 0) return;
    ptx::MBarrier* const empty = &barriers_.empty[stage];
    if constexpr (kConfig.cluster == 1) {
      ptx::mbarrier_arrive(empty);
    } else {
#pragma unroll
      for (unsigned rank = 0; rank < kConfig.cluster; ++rank) {
        ptx::mbarrier_arrive_cluster_relaxed(empty, rank);
      }
    }
  }

 private:
  __device__ void wait_until_empty(State const& state) {
    ptx::MBarrier* const empty = &barriers_.empty[state.stage];
    if constexpr (kConfig.cluster == 1) {
      ptx::mbarrier_wait(empty, state.parity ^ 1U);
    } else {
      ptx::mbarrier_wait_cluster_relaxed(empty, state.parity ^ 1U);
    }
  }

  unsigned char* shared_;
  typename Tile::Barriers& barriers_;
};

/// How the tiles of C go over clusters: each has kConfig.cluster tiles below each other.
template <class Tile>
struct ClusterTiles {
  struct Shape {
    static constexpr WgmmaConfig kConfig = [] {
      WgmmaConfig config = Tile::kConfig;
      config.bm *= config.cluster;
      return config;
    }();
  };

  template <class T>
  __host__ __device__ static int count(HalfOperands<T> const& p) {
    return divide_up(p.m, Shape::kConfig.bm) * divide_up(p.n, Shape::kConfig.bn);
  }
  /// Of this block.
  template <class T>
  __device__ static BlockCorner corner(HalfOperands<T> const& p, int number) {
    BlockCorner corner = BlockCorner::of_tile<Shape>(p, number);
    if constexpr (Tile::kConfig.cluster > 1) {
      corner.row += static_cast<int>(ptx::cluster_rank()) * Tile::kConfig.bm;
    }
    return corner;
  }
};

/// Calls launch.operator()<Tile>(map of A, map of B, majors, operands) for the type of a problem.
template <WgmmaConfig kConfig, bool kTakesI8 = false, class Launch>
void with_wgmma_tile(Problem const& given, device::StreamView stream, Launch const& launch) {
  if (given.m() == 0 || given.n() == 0) return;
  Problem const problem = copy_operands(given, KMajorCopies::all_of(given), stream);
  Majors const majors{problem.transpose_a ? ptx::Major::mn : ptx::Major::k,
                      problem.transpose_b ? ptx::Major::k : ptx::Major::mn};
  auto const with = [&]<class T>(T) {
    using Tile = WgmmaTile<kConfig, T>;
    launch.template operator()<Tile>(Tile::A::map_of(problem.a, majors.a),
                                     Tile::B::map_of(problem.b, majors.b), majors,
                                     half_operands<T>(problem));
  };
  if constexpr (kTakesI8) {
    if (problem.a.type == core::DataType::i8) return with(std::int8_t{});
  }
  if (problem.a.type == core::DataType::f32) {
    with(float{});
  } else if (problem.a.type == core::DataType::bf16) {
    with(__nv_bfloat16{});
  } else {
    with(__half{});
  }
}

/// A kind of tile for problems P: cycles of a stage of it, which takes the tensor cores 64 bm bn / 2048
/// in every type, and longer where the tile is narrow, because shared memory is busy.
template <class P>
struct WgmmaKind {
  WgmmaConfig config;
  double stage_cycles;
  void (*launch)(P const&, device::StreamView);
};

/// The kinds of persistent blocks, by their launches.
template <class P>
constexpr std::array<WgmmaKind<P>, 4> persistent_kinds(decltype(WgmmaKind<P>::launch) wide,
                                                       decltype(WgmmaKind<P>::launch) middle,
                                                       decltype(WgmmaKind<P>::launch) narrow,
                                                       decltype(WgmmaKind<P>::launch) slim) {
  return {
      {{kWide, 1024, wide}, {kMiddle, 785, middle}, {kNarrow, 555, narrow}, {kSlim, 330, slim}}};
}

/// Cycles of one of these for a product of rows x cols with so many stages a tile: all tiles of a
/// multiprocessor, one after the other.
template <class P>
double persistent_cycles(WgmmaKind<P> const& kind, std::int64_t rows, std::int64_t cols,
                         std::int64_t stages, int multiprocessors) {
  constexpr double kTileCycles = 1000;  // of a tile beside its stages: storing it
  auto const divide = [](std::int64_t n, std::int64_t by) { return (n + by - 1) / by; };
  WgmmaConfig const& config = kind.config;
  std::int64_t const tiles =
      divide(rows, std::int64_t{config.bm} * config.cluster) * divide(cols, config.bn);
  auto const rounds = static_cast<double>(divide(tiles, multiprocessors / config.cluster));
  return rounds * (static_cast<double>(stages) * kind.stage_cycles + kTileCycles);
}

/// Launches the kind of which cycles(kind) are the fewest.
template <class P, std::size_t kCount, class Cycles>
void launch_quickest(std::array<WgmmaKind<P>, kCount> const& kinds, Cycles const& cycles,
                     P const& problem, device::StreamView stream) {
  std::ranges::min_element(kinds, {}, cycles)->launch(problem, stream);
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::gemm
