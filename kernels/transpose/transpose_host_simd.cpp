// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transpose on the host at the pace of a copy.
///
///   out[j][i] = in[i][j]
///
/// Technique    blocks of the input are turned in registers, in squares, into a buffer that fits
///              the first-level cache; then each row of the buffer leaves by streaming stores, so the
///              output is never read: whole cache lines, some in a row, which memory
///              takes faster than single lines. While they leave, the lines of the next block are
///              fetched into the second-level cache, so that reads and writes overlap as in a
///              copy. The next block lies to the right: its rows are in the same pages
/// Shapes       row-major, any extents, leading dimensions and alignment, not overlapping. Blocks
///              begin where lines of the output begin; where out.ld makes that differ from row to
///              row, a block reads up to a line of rows of the next one rather than write lines in
///              part
/// Work         2 m n s bytes; a tenth more reads where out.ld is not a multiple of 64 bytes
/// Launch       tasks of kTaskBlocks blocks down and kTaskCols columns across, fewer where there
///              would not be enough, in one parallel loop of the stream
/// Accuracy     exact
#include "common/stream_store.hpp"
#include "device/host/parallel.hpp"
#include "transpose/transpose.hpp"
#include "transpose/transpose_blocks.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace quadrille::kernels::transpose {
namespace {

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kTaskCols = 4096;
constexpr std::int64_t kTaskBlocks = 2;
/// Smaller outputs are likely to be read again from the cache.
constexpr std::size_t kStreamFrom = 4 << 20;

/// What is turned in registers: kRows x kCols elements, kRows of which fill a vector. A vector
/// holds kHalves pieces of 16 bytes, each of another row: instructions that interleave elements
/// work on pieces of 16 bytes. No more than 8 rows, for in a matrix whose rows begin a multiple of
/// 4 KiB apart the lines of a column share a set of the cache, which is 8 lines.
template <class T>
struct Tile {
  static constexpr int kCols = 16 / static_cast<int>(sizeof(T));
#if defined(__AVX2__)
  static constexpr int kHalves = kCols <= 4 ? 2 : 1;
#else
  static constexpr int kHalves = 1;
#endif
  static constexpr int kRows = kHalves * kCols;
  using Vector [[gnu::vector_size(16 * kHalves)]] = T;

  /// Row r of the tile and, where a vector has two halves, row r + kCols.
  [[gnu::always_inline]] static Vector load(T const* in, std::int64_t in_ld, int r) {
#if defined(__AVX2__)
    if constexpr (kHalves == 2) {
      auto const piece = [&](int row) {
        return _mm_loadu_si128(reinterpret_cast<__m128i const*>(in + row * in_ld));
      };
      __m256i const low = _mm256_castsi128_si256(piece(r));
      return reinterpret_cast<Vector>(_mm256_inserti128_si256(low, piece(r + kCols), 1));
    }
#endif
    Vector row;
    std::memcpy(&row, in + r * in_ld, sizeof(Vector));
    return row;
  }

  /// Elements of a and b in turn, from the first (kHigh: second) 8 bytes of each piece.
  template <bool kHigh>
  [[gnu::always_inline]] static Vector interleave(Vector a, Vector b) {
    return [&]<int... kPlace>(std::integer_sequence<int, kPlace...>) {
      return __builtin_shufflevector(a, b,
                                     (kPlace / kCols * kCols + (kHigh ? kCols / 2 : 0) +
                                      kPlace % kCols / 2 + (kPlace % 2 == 0 ? 0 : kRows))...);
    }
    (std::make_integer_sequence<int, kRows>{});
  }
};

/// Turns one tile. Each round of interleaving row r with row r + kCols / 2 moves one bit of the row
/// number into the column number.
template <class T>
[[gnu::always_inline]] inline void turn_tile(T const* in, std::int64_t in_ld, T* out,
                                             std::int64_t out_ld) {
  using Vector = typename Tile<T>::Vector;
  constexpr int kCols = Tile<T>::kCols;
  Vector now[kCols];
  Vector next[kCols];
#pragma GCC unroll 16
  for (int r = 0; r < kCols; ++r) now[r] = Tile<T>::load(in, in_ld, r);
#pragma GCC unroll 4
  for (int round = 1; round < kCols; round *= 2) {
#pragma GCC unroll 8
    for (int r = 0; r < kCols / 2; ++r) {
      next[2 * r] = Tile<T>::template interleave<false>(now[r], now[r + kCols / 2]);
      next[2 * r + 1] = Tile<T>::template interleave<true>(now[r], now[r + kCols / 2]);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kCols; ++r) now[r] = next[r];
  }
#pragma GCC unroll 16
  for (int r = 0; r < kCols; ++r) std::memcpy(out + r * out_ld, &now[r], sizeof(Vector));
}

/// The transpose with elements of type T.
template <class T>
class Transpose {
 public:
  /// Of an output of so many bytes this is a part.
  Transpose(device::MatrixView const& in, device::MatrixView const& out, std::size_t total_bytes)
      : in_{static_cast<T const*>(in.data)},
        in_ld_{in.ld},
        out_{static_cast<T*>(out.data)},
        out_ld_{out.ld},
        m_{in.rows},
        n_{in.cols},
        streaming_{total_bytes >= kStreamFrom} {}

  /// By so many threads, of which loop(n, task) runs task(i) for i < n.
  template <class Loop>
  void run(int threads, Loop const& loop) const {
    if (m_ == 0 || n_ == 0) return;
    // Blocks begin with a line of the output, as far as all its rows agree where lines begin.
    std::int64_t const shift = aligned_rows() ? (kPerLine - to_line(out_)) % kPerLine : 0;
    std::int64_t const block_rows = (m_ + shift + kRows - 1) / kRows;
    std::int64_t const col_tasks = (n_ + kTaskCols - 1) / kTaskCols;
    // Long tasks fetch ahead most of the time; but there should be some for each thread.
    std::int64_t const height =
        std::clamp<std::int64_t>(block_rows * col_tasks / (4 * threads), 1, kTaskBlocks);
    std::int64_t const row_tasks = (block_rows + height - 1) / height;
    loop(row_tasks * col_tasks, [=, this](std::int64_t task) {
      std::int64_t const i = task / col_tasks * height * kRows - shift;
      std::int64_t const j = task % col_tasks * kTaskCols;
      run_task(i, std::min(m_, i + height * kRows), j, std::min(n_, j + kTaskCols));
    });
  }

 private:
  static constexpr std::int64_t kPerLine = kLine / sizeof(T);
  /// A block: some lines each way, so that memory moves several in a row, as many as leave its
  /// transpose in the first-level and the next block in the second-level cache.
  static constexpr std::int64_t kRows = sizeof(T) >= 4 ? 64 : 128;
  static constexpr std::int64_t kCols = sizeof(T) == 8 ? 32 : sizeof(T) == 1 ? 128 : 64;
  static constexpr std::int64_t kLines = kRows / kPerLine;
  static constexpr std::int64_t kAcross = kCols / kPerLine;
  /// With room for a line beyond, which also spreads the rows over the sets of the cache.
  static constexpr std::int64_t kPitch = kRows + kPerLine;

  bool aligned_rows() const { return out_ld_ * static_cast<std::int64_t>(sizeof(T)) % kLine == 0; }

  /// Elements from a place to the next begin of a line.
  static std::int64_t to_line(T const* place) {
    return static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(place) % kLine / sizeof(T));
  }

  /// The blocks from row `first` (the first of all may begin above the matrix) to row `end`.
  void run_task(std::int64_t first, std::int64_t end, std::int64_t j0, std::int64_t j_end) const {
    alignas(kLine) T buffer[kCols * kPitch];
    std::int64_t const beyond = streaming_ && !aligned_rows() ? kPerLine - 1 : 0;
    for (std::int64_t top = first; top < end; top += kRows) {
      std::int64_t const i = std::max<std::int64_t>(0, top);
      std::int64_t const i_end = std::min(end, top + kRows);
      std::int64_t const rows = std::min(m_, i_end + beyond) - i;
      // Rows of the output begin and end in the first and last blocks only.
      bool const whole_lines =
          streaming_ && rows == kRows + beyond && (i > 0 || (aligned_rows() && to_line(out_) == 0));
      bool const whole_below = i_end + kRows + beyond <= end;
      for (std::int64_t j = j0; j < j_end; j += kCols) {
        std::int64_t const cols = std::min(kCols, j_end - j);
        T const* const block = in_ + i * in_ld_ + j;
        turn(block, rows, cols, buffer);
        if (whole_lines && cols == kCols) {
          T const* next = block;  // where there is no next one, this one again
          if (j + 2 * kCols <= j_end) next = block + kCols;
          if (j + kCols >= j_end && whole_below) next = in_ + i_end * in_ld_ + j0;
          release_and_prefetch(buffer, out_ + j * out_ld_ + i, out_ld_, next, in_ld_, beyond);
        } else {
          for (std::int64_t c = 0; c < cols; ++c) release(buffer + c * kPitch, j + c, i, i_end);
        }
      }
    }
    if (streaming_) stream_fence();
  }

  void turn(T const* in, std::int64_t rows, std::int64_t cols, T* buffer) const {
    constexpr std::int64_t kTileCols = Tile<T>::kCols;
    constexpr std::int64_t kStrip = std::max<std::int64_t>(8, Tile<T>::kRows);
    std::int64_t const whole_rows = rows / kStrip * kStrip;
    std::int64_t const whole_cols = cols / kTileCols * kTileCols;
    for (std::int64_t i = 0; i < whole_rows; i += kStrip) {
      for (std::int64_t j = 0; j < whole_cols; j += kTileCols) {
#pragma GCC unroll 4
        for (std::int64_t t = 0; t < kStrip; t += Tile<T>::kRows) {
          turn_tile(in + (i + t) * in_ld_ + j, in_ld_, buffer + j * kPitch + i + t, kPitch);
        }
      }
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = i < whole_rows ? whole_cols : 0; j < cols; ++j) {
        buffer[j * kPitch + i] = in[i * in_ld_ + j];
      }
    }
  }

  /// Writes kLines lines of each row of a block, from the first that begins in it. With each line,
  /// one of the block `next` is asked for: of many requests at once the processor drops some. The
  /// element asked for is the last of its line: the line before came with the block to the left.
  /// Lean, so that the processor looks far ahead over the stores, which wait for memory.
  static void release_and_prefetch(T const* row, T* out, std::int64_t out_ld, T const* next,
                                   std::int64_t in_ld, std::int64_t beyond) {
    constexpr std::int64_t kShare = kRows / kCols;
    static_assert(kShare * kAcross == kLines && kPerLine <= kCols);
    T const* extra = next + kRows * in_ld;
    for (std::int64_t c = 0; c < kCols; ++c) {
      std::int64_t const first = to_line(out);
#pragma GCC unroll 8
      for (std::int64_t line = 0; line < kLines; ++line) {
        prefetch(next + line / kAcross * in_ld + line % kAcross * kPerLine);
        stream_line(out + first + line * kPerLine, row + first + line * kPerLine);
      }
      if (c < beyond) {
#pragma GCC unroll 8
        for (std::int64_t line = 0; line < kAcross; ++line) prefetch(extra + line * kPerLine);
        extra += in_ld;
      }
      row += kPitch;
      out += out_ld;
      next += kShare * in_ld;
    }
  }

  static void prefetch(T const* line) { __builtin_prefetch(line + kPerLine - 1, 0, 2); }

  /// Writes elements [i, i_end) of row j of the output, from and to the next begin of a line.
  void release(T const* row, std::int64_t j, std::int64_t i, std::int64_t i_end) const {
    T* const out = out_ + j * out_ld_ + i;
    std::int64_t const count = i_end - i;
    if (!streaming_) {
      copy(out, row, 0, count);
      return;
    }
    std::int64_t const end = i_end == m_ ? count : std::min(m_ - i, count + to_line(out + count));
    std::int64_t e = std::min(to_line(out), end);
    if (i == 0) copy(out, row, 0, e);
    for (; e + kPerLine <= end; e += kPerLine) stream_line(out + e, row + e);
    copy(out, row, e, end);
  }

  static void stream_line(T* to, T const* from) {
    for (std::int64_t e = 0; e < kPerLine; e += kPerStore) stream_store(to + e, from + e);
  }

  static void copy(T* to, T const* from, std::int64_t begin, std::int64_t end) {
    if (begin < end) {
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(T));
    }
  }

  static constexpr std::int64_t kPerStore = kStreamBytes / sizeof(T);

  T const* in_;
  std::int64_t in_ld_;
  T* out_;
  std::int64_t out_ld_;
  std::int64_t m_, n_;
  bool streaming_;
};

template <class Loop>
void run(device::MatrixView const& in, device::MatrixView const& out, std::size_t total_bytes,
         int threads, Loop const& loop) {
  switch (core::size_of(in.type)) {
    case 8: return Transpose<std::uint64_t>{in, out, total_bytes}.run(threads, loop);
    case 4: return Transpose<std::uint32_t>{in, out, total_bytes}.run(threads, loop);
    case 2: return Transpose<std::uint16_t>{in, out, total_bytes}.run(threads, loop);
    default: return Transpose<std::uint8_t>{in, out, total_bytes}.run(threads, loop);
  }
}

void launch(Problem const& p, device::StreamView stream) {
  auto const bytes = static_cast<std::size_t>(p.in.rows * p.in.cols) * core::size_of(p.in.type);
  stream.run([=] { transpose_on_host(p.in, p.out, bytes, stream); });
}

}  // namespace

void transpose_on_host(device::MatrixView const& in, device::MatrixView const& out,
                       std::size_t total_bytes, device::StreamView stream) {
  run(in, out, total_bytes, device::parallel_threads(stream),
      [stream](std::int64_t n, auto const& task) {
        device::parallel_for(stream, n, task, device::Schedule::dynamic);
      });
}

void transpose_on_thread(device::MatrixView const& in, device::MatrixView const& out,
                         std::size_t total_bytes) {
  run(in, out, total_bytes, 1, [](std::int64_t n, auto const& task) {
    for (std::int64_t i = 0; i < n; ++i) task(i);
  });
}

extern constinit Variant<Problem> const host_simd{
    {.name = "host_simd",
     .where = Where::host,
     .types = kEveryType,
     .preference = 20,
     .source = "own",
     .summary = "small squares turned in registers, whole lines written past the caches"},
    launch};

}  // namespace quadrille::kernels::transpose
