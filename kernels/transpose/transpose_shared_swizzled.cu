// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transpose of swizzled tiles in shared memory with 16-byte accesses.
///
///   out[j][i] = in[i][j]
///
/// Technique    every access of global and of shared memory moves 16 bytes. A thread reads a thread
///              tile of as many rows as 16 bytes have elements, transposes it in registers (no instruction
///              for 4 and 8 bytes, byte permutations for fewer) and
///              stores its columns as pieces of the transposed tile, permuted by an exclusive or so
///              that eight pieces lie in all banks; rows of the transposed tile, 128 or 256 bytes,
///              are then written whole, by streaming stores. Matrices with rows or columns of at
///              most 128 bytes, and rows that do not start at multiples of 16 bytes, take strips
///              instead: tiles as wide as the matrix (or as high), read and written as the
///              contiguous memory they are
///              wide_tile_diagonal: tiles twice as wide, so that every warp reads and writes 512
///              bytes in a row and every thread has eight loads in flight, taken along diagonals
///              (Ruetsch and Micikevicius): by rows of tiles, blocks that run together write at the
///              same column of all rows of out, which lie in few channels of memory where rows are
///              a large power of two apart; diagonals spread what is read and what is written
/// Before       shared_padded; wide_tile_diagonal starts from shared_swizzled
/// Shapes       row-major, any extents, leading dimensions and alignment, not overlapping
/// Work         2 m n s bytes, s: bytes of an element; sectors per request, read and written: 16 and 16
/// Launch       s = 8: tiles of 32 x 32, 8 KiB of shared memory; 4: 64 x 64, 16 KiB; 2: 128 x 128,
///              32 KiB; 1: 128 x 128, 16 KiB; 256 threads, s = 1: 64. Strips of 16 KiB, 256 threads;
///              wide_tile_diagonal: tiles of 64 x 64 (s = 8) or 128 x 128 (4) elements, 256 or 512
///              threads, 32 or 64 KiB
/// Accuracy     exact
#include "transpose/transpose_thread_tile.cuh"
#include "transpose/transpose_tiles.cuh"

#include <algorithm>

namespace quadrille::kernels::transpose {
namespace {

#ifdef QUAD_KERNELS

// f32: thread t has rows 4 R .. and columns 4 C .. of a tile of 64 x 64: R = t / 16, C = t % 16.
// It stores column 4 C + c as piece R of row 4 C + c of the transposed tile, at place R ^ C:
//
//   place (16 bytes)     0  1  2  3  4  5  6  7 ... 15
//   rows 0 to 3    C=0   piece 0  1  2  3  4  5  6  7
//   rows 4 to 7    C=1   piece 1  0  3  2  5  4  7  6
//   rows 8 to 11   C=2   piece 2  3  0  1  6  7  4  5
//
//   stores: eight threads of one R have C = 0 .. 7: eight places, so all 32 banks
//   loads:  16 threads read a row whole, its pieces in another order: all 32 banks again
/// One tile, whose first element is (i0, j0) of in; kWhole where all of it lies in the matrix.
template <class Shape, bool kWhole, class T>
__device__ __forceinline__ void move_tile(Operands<T> const& p, std::int64_t i0, std::int64_t j0,
                                          Piece* tile) {
  constexpr int kVector = Shape::kVector;
  static_assert(Shape::kRounds * Shape::kThreads == Shape::kThreadTiles);
  constexpr int kWrites = Shape::kSide * Shape::kPieces / Shape::kThreads;
  auto const thread = static_cast<int>(threadIdx.x);
  int rows = Shape::kSide;
  int cols = Shape::kSide;
  if constexpr (!kWhole) {
    rows = static_cast<int>(p.m - i0 < rows ? p.m - i0 : rows);
    cols = static_cast<int>(p.n - j0 < cols ? p.n - j0 : cols);
  }

  // Load
  Piece thread_tile[Shape::kRounds][kVector];
#pragma unroll
  for (int round = 0; round < Shape::kRounds; ++round) {
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      Position const from = Shape::read(thread + round * Shape::kThreads, k);
      int const count = kWhole ? kVector : from.row < rows ? cols - from.col : 0;
      thread_tile[round][k] = load_piece(p.in + (i0 + from.row) * p.in_ld + j0 + from.col, count);
    }
  }
  // Transpose
#pragma unroll
  for (int round = 0; round < Shape::kRounds; ++round) {
    Position const corner = Shape::read(thread + round * Shape::kThreads, 0);
#pragma unroll
    for (int c = 0; c < kVector; ++c) {
      tile[Shape::slot(corner.col + c, corner.row / kVector)] =
          transposed_column<T>(thread_tile[round], c);
    }
  }
  // A thread stores what others have transposed.
  __syncthreads();
  // Store
#pragma unroll
  for (int write = 0; write < kWrites; ++write) {
    Position const to = Shape::written(thread + write * Shape::kThreads);
    int const count = kWhole ? kVector : to.row < cols ? rows - to.col : 0;
    store_piece(p.out + (j0 + to.row) * p.out_ld + i0 + to.col,
                tile[Shape::slot(to.row, to.col / kVector)], count);
  }
}

/// The tile at `position`, in tiles.
template <class Shape, class T>
__device__ __forceinline__ void move_tile(Operands<T> const& p, Position position, Piece* tile) {
  std::int64_t const i0 = std::int64_t{position.row} * Shape::kSide;
  std::int64_t const j0 = std::int64_t{position.col} * Shape::kSide;
  if (p.m - i0 >= Shape::kSide && p.n - j0 >= Shape::kSide) {
    move_tile<Shape, true>(p, i0, j0, tile);
  } else {
    move_tile<Shape, false>(p, i0, j0, tile);
  }
}

template <class T>
__global__ void __launch_bounds__(Swizzled<sizeof(T)>::kThreads)
    transpose_shared_swizzled_kernel(Operands<T> p, Tiling tiling) {
  using Shape = Swizzled<sizeof(T)>;
  QUAD_SHARED(Piece, tile, [Shape::kSide * Shape::kPieces]);  // kPieces of 16 bytes to a row
  Position const position = tiling.tile(blockIdx.x);
  move_tile<Shape>(p, position, tile);
}

/// Tiles along diagonals that start in the first row and go on at the left side.
struct Diagonal {
  Tiling tiling;

  __device__ Position tile(unsigned index) const {
    unsigned const row = index % tiling.down;
    return {static_cast<int>(row),
            static_cast<int>((std::uint64_t{row} + index / tiling.down) % tiling.across)};
  }
};

template <class T>
__global__ void __launch_bounds__(WideTile<sizeof(T)>::kThreads)
    transpose_wide_tile_diagonal_kernel(Operands<T> p, Diagonal order) {
  QUAD_DYNAMIC_SHARED(Piece, tile);
  move_tile<WideTile<sizeof(T)>>(p, order.tile(blockIdx.x), tile);
}

// The rest is for thin matrices and for rows that are not aligned: no swizzle, padding instead.

constexpr int kStripThreads = 256;
constexpr int kStripBytes = 16384;
/// Extents up to this many bytes make a matrix thin.
constexpr std::int64_t kThinBytes = 128;

/// A tile of any shape, by rows in shared memory, with one bank more every 128 bytes (two where
/// elements fill two): then neither rows nor columns of 1, 2, 4 ... elements conflict in one bank.
template <class T>
struct Strip {
  static constexpr int kElements = kStripBytes / sizeof(T);
  static constexpr int kRun = 128 / sizeof(T);
  static constexpr int kPad = sizeof(T) >= 4 ? 1 : 4 / sizeof(T);
  static constexpr int kRoom = kElements + kElements / kRun * kPad;
  QUAD_HD static constexpr int slot(int element) { return element + element / kRun * kPad; }
};

/// The elements of a tile in the order of memory: lines, of which the tile has one where its rows
/// follow each other without a gap.
struct Lines {
  int count, length;
};

/// Tiles of tile_rows x tile_cols. kWideIn, kWideOut: lines start at multiples of 16 bytes.
template <class T, bool kWideIn, bool kWideOut>
__global__ void __launch_bounds__(kStripThreads)
    transpose_strip_kernel(Operands<T> p, Tiling tiling, int tile_rows, int tile_cols) {
  constexpr int kVector = 16 / sizeof(T);
  constexpr int kAtOnce = 4;  // pieces of a thread on their way
  using Shape = Strip<T>;
  QUAD_SHARED(T, tile, [Shape::kRoom]);
  Position const position = tiling.tile(blockIdx.x);
  std::int64_t const i0 = std::int64_t{position.row} * tile_rows;
  std::int64_t const j0 = std::int64_t{position.col} * tile_cols;
  int const rows = static_cast<int>(p.m - i0 < tile_rows ? p.m - i0 : tile_rows);
  int const cols = static_cast<int>(p.n - j0 < tile_cols ? p.n - j0 : tile_cols);
  T const* const in = p.in + i0 * p.in_ld + j0;
  T* const out = p.out + j0 * p.out_ld + i0;
  auto const thread = static_cast<int>(threadIdx.x);

  // Load: some pieces at a time, all loads in flight before the first piece is stored
  {
    Lines const lines = p.in_ld == cols ? Lines{1, rows * cols} : Lines{rows, cols};
    constexpr int kStep = kWideIn ? kVector : 1;
    int const per_line = (lines.length + kStep - 1) / kStep;
    int const pieces = lines.count * per_line;
    for (int first = thread; first < pieces; first += kAtOnce * kStripThreads) {
      Piece wide[kAtOnce];
      T one[kAtOnce];
#pragma unroll
      for (int a = 0; a < kAtOnce; ++a) {
        int const piece = first + a * kStripThreads;
        if (piece >= pieces) continue;
        int const line = piece / per_line;
        int const element = (piece - line * per_line) * kStep;
        T const* const from = in + line * p.in_ld + element;
        if constexpr (kWideIn) {
          wide[a] = load_piece(from, lines.length - element);
        } else {
          one[a] = *from;
        }
      }
#pragma unroll
      for (int a = 0; a < kAtOnce; ++a) {
        int const piece = first + a * kStripThreads;
        if (piece >= pieces) continue;
        int const line = piece / per_line;
        int const element = (piece - line * per_line) * kStep;
        int const begin = line * lines.length + element;
        if constexpr (kWideIn) {
          auto const part = same_bits<Elements<T>>(wide[a]);
#pragma unroll
          for (int e = 0; e < kVector; ++e) {
            if (element + e < lines.length) tile[Shape::slot(begin + e)] = part.of[e];
          }
        } else {
          tile[Shape::slot(begin)] = one[a];
        }
      }
    }
  }
  // A thread stores what others have loaded.
  __syncthreads();
  // Store
  {
    Lines const lines = p.out_ld == rows ? Lines{1, rows * cols} : Lines{cols, rows};
    constexpr int kStep = kWideOut ? kVector : 1;
    int const per_line = (lines.length + kStep - 1) / kStep;
    int const pieces = lines.count * per_line;
#pragma unroll kAtOnce
    for (int piece = thread; piece < pieces; piece += kStripThreads) {
      int const line = piece / per_line;
      int const element = (piece - line * per_line) * kStep;
      T* const to = out + line * p.out_ld + element;
      int const begin = line * lines.length + element;
      int c = begin / rows;
      int r = begin - c * rows;
      if constexpr (kWideOut) {
        int const count = lines.length - element;
        Elements<T> part{};
#pragma unroll
        for (int e = 0; e < kVector; ++e) {
          if (e < count) part.of[e] = tile[Shape::slot(r * cols + c)];
          if (++r == rows) {
            r = 0;
            ++c;
          }
        }
        store_piece(to, same_bits<Piece>(part), count);
      } else {
        *to = tile[Shape::slot(r * cols + c)];
      }
    }
  }
}

/// The tile of a strip: the thin extent and as much of the other as fits, whole lines of it.
template <class T>
Position strip_tile(Problem const& p) {
  constexpr auto kLine = static_cast<std::int64_t>(128 / sizeof(T));
  constexpr std::int64_t kElements = Strip<T>::kElements;
  auto const beside = [&](std::int64_t thin) {
    return static_cast<int>(kElements / thin / kLine * kLine);
  };
  std::int64_t const thin = std::min(p.in.rows, p.in.cols);
  if (thin * static_cast<std::int64_t>(sizeof(T)) > kThinBytes) {
    // Not thin, but not aligned: an ordinary tile.
    int const side = sizeof(T) == 8 ? 32 : 64;
    return {static_cast<int>(kElements / side), side};
  }
  if (p.in.cols == thin) return {beside(thin), static_cast<int>(thin)};
  return {static_cast<int>(thin), beside(thin)};
}

template <class T>
void launch_strip(Problem const& problem, Operands<T> const& operands, device::StreamView stream) {
  Position const tile = strip_tile<T>(problem);
  Tiling const tiling = tiles_of(problem.in, tile.row, tile.col);
  auto const go = [&](auto kernel) {
    QUAD_LAUNCH(kernel, dim3(tiling.count()), dim3(kStripThreads), 0, stream, operands, tiling,
                tile.row, tile.col);
  };
  // Rows without a gap make one line, which starts where the tile does.
  auto const wide = [](device::MatrixView const& x) {
    return rows_aligned(x) ||
           (x.ld == x.cols && x.cols * static_cast<std::int64_t>(sizeof(T)) <= kThinBytes &&
            reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0);
  };
  bool const wide_in = wide(problem.in);
  bool const wide_out = wide(problem.out);
  if (wide_in && wide_out) return go(transpose_strip_kernel<T, true, true>);
  if (wide_in) return go(transpose_strip_kernel<T, true, false>);
  if (wide_out) return go(transpose_strip_kernel<T, false, true>);
  go(transpose_strip_kernel<T, false, false>);
}

void launch(Problem const& problem, device::StreamView stream) {
  with_operands(problem, [&]<class T>(Operands<T> const& operands) {
    using Shape = Swizzled<sizeof(T)>;
    std::int64_t const thin_bytes =
        std::min(problem.in.rows, problem.in.cols) * static_cast<std::int64_t>(sizeof(T));
    if (thin_bytes <= kThinBytes || !rows_aligned(problem.in) || !rows_aligned(problem.out)) {
      return launch_strip(problem, operands, stream);
    }
    Tiling const tiling = tiles_of(problem.in, Shape::kSide, Shape::kSide);
    QUAD_LAUNCH((transpose_shared_swizzled_kernel<T>), dim3(tiling.count()), dim3(Shape::kThreads),
                0, stream, operands, tiling);
  });
}

void launch_wide_tile_diagonal(Problem const& problem, device::StreamView stream) {
  with_operands(problem, [&]<class T>(Operands<T> const& operands) {
    if constexpr (sizeof(T) >= 4) {
      using Shape = WideTile<sizeof(T)>;
      Tiling const tiling = tiles_of(problem.in, Shape::kSide, Shape::kSide);
      QUAD_LAUNCH((transpose_wide_tile_diagonal_kernel<T>), dim3(tiling.count()),
                  dim3(Shape::kThreads), sizeof(Piece) * Shape::kSide * Shape::kPieces, stream,
                  operands, Diagonal{tiling});
    }
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const shared_swizzled{
    {.name = "shared_swizzled",
     .where = Where::cuda,
     .types = kEveryType,
     .needs = {.tile = {32, 32}},
     .preference = 20,
     .source = "own",
     .summary = "16-byte accesses, swizzled; f32 sectors per request 16 and 16"},
    QUAD_KERNEL_LAUNCH(launch)};

extern constinit Variant<Problem> const wide_tile_diagonal{
    {.name = "wide_tile_diagonal",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32, core::DataType::i64, core::DataType::i32},
     .needs = {.ld_bytes = 16, .alignment = 16, .tile = {32, 32}},
     .source = "own",
     .summary = "rows of 512 bytes along diagonals; f32 sectors per request 16 and 16"},
    QUAD_KERNEL_LAUNCH(launch_wide_tile_diagonal)};

}  // namespace quadrille::kernels::transpose
