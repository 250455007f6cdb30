// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transpose of swizzled tiles in shared memory with 16-byte accesses.
///
///   out[j][i] = in[i][j]
///
/// Technique    every access of global and of shared memory moves 16 bytes. A thread reads a thread
///              tile of as many rows as 16 bytes have elements, transposes it in registers and
///              stores its columns as pieces of the transposed tile, permuted by an exclusive or so
///              that eight pieces lie in all banks; rows of the transposed tile, 128 or 256 bytes,
///              are then written whole, by streaming stores. Matrices with rows or columns of at
///              most 128 bytes, and rows that do not start at multiples of 16 bytes, take strips
///              instead: tiles as wide as the matrix (or as high), read and written as the
///              contiguous memory they are
/// Shapes       row-major, any extents, leading dimensions and alignment, not overlapping
/// Work         2 m n s bytes; sectors per request, read and written: 16 and 16
/// Launch       tiles of 32 x 32 (s = 8), 64 x 64 (4) or 128 x 128 elements, 256 threads (s = 1:
///              64), 8, 16, 32 or 16 KiB of shared memory; strips of 16 KiB, 256 threads
/// Accuracy     exact
#include "transpose/transpose_swizzled_tile.cuh"

#include <algorithm>

namespace quadrille::kernels::transpose {
namespace {

#ifdef QUAD_KERNELS

template <class T>
__global__ void __launch_bounds__(Swizzled<sizeof(T)>::kThreads)
    transpose_shared_swizzled_kernel(Operands<T> p, Tiling tiling) {
  using Shape = Swizzled<sizeof(T)>;
  QUAD_SHARED(Piece, tile, [Shape::kSide * Shape::kPieces]);
  Position const position = tiling.tile(blockIdx.x);
  move_tile<Shape>(p, position, tile);
}

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
  constexpr int kAtOnce = 4;
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

}  // namespace quadrille::kernels::transpose
