// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transpose of tiles that tensor copies load and store.
///
///   out[j][i] = in[i][j]
///
/// Technique    the copy engine computes addresses and bounds: one thread starts the copies of
///              whole tiles ahead of time, and threads only transpose tiles, in place in shared
///              memory. Tiles have the engine's swizzle of 128 bytes; threads have thread tiles
///              along diagonals, so that both the rows they read and the columns they write are
///              spread over all banks. This saves instructions, not bandwidth
/// Shapes       row-major, not overlapping
/// Work         2 m n s bytes
/// Launch       a ring of three tiles of 64 x 64 (s = 1: 128 x 128) elements, 24 to 96 KiB of
///              shared memory, 64 to 256 threads; as many blocks as fit, which share the tiles
///              cyclically
/// Accuracy     exact
#include "common/ptx/barriers.cuh"
#include "common/ptx/bulk_copies.cuh"
#include "transpose/transpose_thread_tile.cuh"
#include "transpose/transpose_tiles.cuh"

#include <algorithm>
#include <string>

namespace quadrille::kernels::transpose {
namespace {

constexpr int kStages = 3;
/// Shared memory of a multiprocessor, and what the system reserves of it for each block.
constexpr int kMultiprocessorBytes = 228 * 1024;
constexpr int kSystemBytes = 1024;

#ifdef QUAD_KERNELS

template <class T>
struct Shape {
  static constexpr int kVector = 16 / sizeof(T);
  static constexpr int kSide = sizeof(T) == 1 ? 128 : 64;
  static constexpr int kPieces = kSide / kVector;  ///< of a row
  static constexpr int kThreadTiles = kPieces * kPieces;
  static constexpr int kThreads = kThreadTiles < 256 ? kThreadTiles : 256;
  static constexpr int kRounds = kThreadTiles / kThreads;
  /// A tile is boxes side by side, with rows of 128 bytes, 8 pieces.
  static constexpr int kBoxCols = 128 / sizeof(T);
  static constexpr int kBoxes = kSide / kBoxCols;
  static constexpr int kBoxPieces = kSide * 8;
  static constexpr int kTileBytes = kSide * kSide * sizeof(T);
  /// The ring, and a barrier for each of its tiles.
  static constexpr int kSharedBytes = kStages * (kTileBytes + sizeof(ptx::MBarrier));
  static constexpr int kBlocksPerMultiprocessor =
      std::min(kMultiprocessorBytes / (kSharedBytes + kSystemBytes), 2048 / kThreads);

  /// Thread tiles in squares of 8 x 8, each square by diagonals.
  static __device__ Position thread_tile(int index) {
    int const square = index / 64;
    int const col = index % 8;
    int const row = col ^ (index / 8 % 8);
    return {square / (kPieces / 8) * 8 + row, square % (kPieces / 8) * 8 + col};
  }
  /// Where piece `piece` of a row of the tile lies.
  static __device__ int slot(int row, int piece) {
    return piece / 8 * kBoxPieces + row * 8 + (piece % 8 ^ row % 8);
  }
};

template <class T>
__device__ void load_tile(Piece* stage, ptx::TensorMap const& in, Tiling const& tiling,
                          unsigned index, ptx::MBarrier* full) {
  Position const tile = tiling.tile(index);
  ptx::mbarrier_arrive_expect_tx(full, Shape<T>::kTileBytes);
  for (int box = 0; box < Shape<T>::kBoxes; ++box) {
    ptx::tensor_load(stage + box * Shape<T>::kBoxPieces, in, tile.row * Shape<T>::kSide,
                     tile.col * Shape<T>::kSide + box * Shape<T>::kBoxCols, full);
  }
}

template <class T>
__device__ void store_tile(Piece const* stage, ptx::TensorMap const& out, Tiling const& tiling,
                           unsigned index) {
  Position const tile = tiling.tile(index);
  for (int box = 0; box < Shape<T>::kBoxes; ++box) {
    ptx::tensor_store(out, tile.col * Shape<T>::kSide,
                      tile.row * Shape<T>::kSide + box * Shape<T>::kBoxCols,
                      stage + box * Shape<T>::kBoxPieces);
  }
  ptx::bulk_commit();
}

template <class T>
__global__ void __launch_bounds__(Shape<T>::kThreads)
    transpose_bulk_tensor_kernel(const __grid_constant__ ptx::TensorMap in,
                                 const __grid_constant__ ptx::TensorMap out, Tiling tiling) {
  using S = Shape<T>;
  constexpr int kTilePieces = S::kTileBytes / 16;
  QUAD_DYNAMIC_SHARED(Piece, stages);
  auto* const full = reinterpret_cast<ptx::MBarrier*>(stages + kStages * kTilePieces);
  auto const thread = static_cast<int>(threadIdx.x);
  unsigned const tiles = tiling.count();
  unsigned const stride = gridDim.x;

  if (thread == 0) {
    for (int stage = 0; stage < kStages; ++stage) ptx::mbarrier_init(&full[stage], 1);
    ptx::fence_mbarrier_init();
  }
  // The barriers are ready.
  __syncthreads();
  if (thread == 0) {
    for (unsigned ahead = 0; ahead + 1 < kStages; ++ahead) {
      unsigned const index = blockIdx.x + ahead * stride;
      if (index < tiles) {
        load_tile<T>(stages + ahead * kTilePieces, in, tiling, index, &full[ahead]);
      }
    }
  }

  unsigned iteration = 0;
  for (unsigned index = blockIdx.x; index < tiles; index += stride, ++iteration) {
    unsigned const stage = iteration % kStages;
    Piece* const tile = stages + stage * kTilePieces;
    ptx::mbarrier_wait(&full[stage], iteration / kStages % 2);
    // Read
    Piece thread_tile[S::kRounds][S::kVector];
#pragma unroll
    for (int round = 0; round < S::kRounds; ++round) {
      Position const position = S::thread_tile(thread + round * S::kThreads);
#pragma unroll
      for (int k = 0; k < S::kVector; ++k) {
        thread_tile[round][k] = tile[S::slot(position.row * S::kVector + k, position.col)];
      }
    }
    // All thread tiles are in registers; the tile can be overwritten.
    __syncthreads();
    // Transpose
#pragma unroll
    for (int round = 0; round < S::kRounds; ++round) {
      Position const position = S::thread_tile(thread + round * S::kThreads);
#pragma unroll
      for (int c = 0; c < S::kVector; ++c) {
        tile[S::slot(position.col * S::kVector + c, position.row)] =
            transposed_column<T>(thread_tile[round], c);
      }
    }
    // The copy engine sees what this thread has written, and thread 0 waits for all threads.
    ptx::fence_proxy_async();
    __syncthreads();
    if (thread == 0) {
      store_tile<T>(tile, out, tiling, index);
      unsigned const next = index + (kStages - 1) * stride;
      if (next < tiles) {
        // The tile stored one iteration ago has left the stage that is loaded next; the copy of the
        // newest may still read.
        ptx::bulk_wait_read<1>();
        unsigned const free = (iteration + kStages - 1) % kStages;
        load_tile<T>(stages + free * kTilePieces, in, tiling, next, &full[free]);
      }
    }
  }
  // Shared memory must live until the last copy has read it.
  if (thread == 0) ptx::bulk_wait_read<0>();
}

ptx::TensorMap map_of(device::MatrixView const& view, int side, int box_cols) {
  return ptx::make_tensor_map_2d({.data = view.data,
                                  .type = view.type,
                                  .rows = view.rows,
                                  .columns = view.cols,
                                  .leading = view.ld,
                                  .box_rows = static_cast<unsigned>(side),
                                  .box_columns = static_cast<unsigned>(box_cols),
                                  .swizzle = ptx::Swizzle::bytes_128});
}

void launch(Problem const& problem, device::StreamView stream) {
  with_operands(problem, [&]<class T>(Operands<T> const&) {
    using S = Shape<T>;
    Tiling const tiling = tiles_of(problem.in, S::kSide, S::kSide);
    unsigned const blocks = std::min(
        tiling.count(),
        static_cast<unsigned>(stream.facts().multiprocessors * S::kBlocksPerMultiprocessor));
    QUAD_LAUNCH((transpose_bulk_tensor_kernel<T>), dim3(blocks), dim3(S::kThreads), S::kSharedBytes,
                stream, map_of(problem.in, S::kSide, S::kBoxCols),
                map_of(problem.out, S::kSide, S::kBoxCols), tiling);
  });
}

#endif  // QUAD_KERNELS

// The engine stores no smaller rows.
std::string unsupported(Problem const& problem) {
  std::size_t const row =
      static_cast<std::size_t>(problem.out.cols) * core::size_of(problem.out.type);
  if (row % 16 == 0) return {};
  return "needs rows of out of whole 16 bytes, they have " + std::to_string(row);
}

}  // namespace

extern constinit Variant<Problem> const bulk_tensor{
    {.name = "bulk_tensor",
     .where = Where::cuda,
     .types = kEveryType,
     .needs = {.compute_capability = 90,
               .ld_bytes = 16,
               .alignment = 16,
               .max_extent = INT32_MAX,
               .tile = {64, 64},
               .other = "rows of out of whole 16 bytes"},
     .source = "own",
     .summary = "tiles loaded and stored by tensor copies"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported}};

}  // namespace quadrille::kernels::transpose
