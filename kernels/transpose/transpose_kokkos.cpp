// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transpose on the host at the pace of a copy.
///
///   out[j][i] = in[i][j]
///
/// Technique    a band of columns is walked downwards. Its elements are turned in registers, a few
///              rows at a time, into a buffer that gathers kStretch bytes of each output row; whole
///              cache lines leave the buffer by streaming stores, so the output is never read, and
///              several in a row, which memory takes faster than single ones. While one buffer is
///              filled the other is emptied, and with each line that leaves, a line of input is
///              asked for, so that reads and writes overlap as in a copy. Few rows are under way at
///              any time, hence leading dimensions that are powers of two, where the lines of a
///              column share one set of the cache, cost little. What does not fill a line waits in
///              the buffer, so only the ends of the rows of a task are written in part
/// Shapes       row-major, any extents, leading dimensions and alignment, not overlapping
/// Types        all, as integers of their size
/// Work         2 m n s bytes (3 m n s where the output is small enough to stay in the caches)
/// Constraints  none
/// Launch       tasks of kTaskRows rows of one band in one loop on the stream's execution space
/// Accuracy     exact
/// Source       own
#include "common/stream_store.hpp"
#include "device/host/execution.hpp"
#include "transpose/transpose.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstring>

namespace quadrille::kernels::transpose {
namespace {

using Space = Kokkos::DefaultHostExecutionSpace;

constexpr std::int64_t kLine = 64;
/// Bytes of an output row that are gathered before they leave.
constexpr std::int64_t kStretch = 8 * kLine;
constexpr std::int64_t kTaskRows = 1024;
/// Smaller outputs are likely to be read again from the cache.
constexpr std::int64_t kStreamFrom = 4 << 20;

template <class T>
struct Square {
  static constexpr int kSide = 16 / static_cast<int>(sizeof(T));
  using Vector [[gnu::vector_size(16)]] = T;
};

/// Elements of a and b in turn, from their first (kHigh: second) halves.
template <bool kHigh, class T>
[[gnu::always_inline]] inline typename Square<T>::Vector interleave(typename Square<T>::Vector a,
                                                                    typename Square<T>::Vector b) {
  constexpr int n = Square<T>::kSide;
  constexpr int h = kHigh ? n / 2 : 0;
  if constexpr (n == 2) {
    return __builtin_shufflevector(a, b, h, h + n);
  } else if constexpr (n == 4) {
    return __builtin_shufflevector(a, b, h, h + n, h + 1, h + 1 + n);
  } else if constexpr (n == 8) {
    return __builtin_shufflevector(a, b, h, h + n, h + 1, h + 1 + n, h + 2, h + 2 + n, h + 3,
                                   h + 3 + n);
  } else {
    return __builtin_shufflevector(a, b, h, h + n, h + 1, h + 1 + n, h + 2, h + 2 + n, h + 3,
                                   h + 3 + n, h + 4, h + 4 + n, h + 5, h + 5 + n, h + 6, h + 6 + n,
                                   h + 7, h + 7 + n);
  }
}

/// Turns one square to the places `out[r] + at`. Its side is a power of two, and each round of
/// interleaving row r with row r + side / 2 moves one bit of the row number into the column number.
template <class T>
[[gnu::always_inline]] inline void turn_square(T const* in, std::int64_t in_ld, T* const* out,
                                               std::int64_t at) {
  using Vector = typename Square<T>::Vector;
  constexpr int kSide = Square<T>::kSide;
  Vector now[kSide];
  Vector next[kSide];
#pragma GCC unroll 16
  for (int r = 0; r < kSide; ++r) std::memcpy(&now[r], in + r * in_ld, sizeof(Vector));
#pragma GCC unroll 4
  for (int round = 1; round < kSide; round *= 2) {
#pragma GCC unroll 8
    for (int r = 0; r < kSide / 2; ++r) {
      next[2 * r] = interleave<false, T>(now[r], now[r + kSide / 2]);
      next[2 * r + 1] = interleave<true, T>(now[r], now[r + kSide / 2]);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kSide; ++r) now[r] = next[r];
  }
#pragma GCC unroll 16
  for (int r = 0; r < kSide; ++r) std::memcpy(out[r] + at, &now[r], sizeof(Vector));
}

#if defined(__AVX__)
/// Squares of 8-byte elements have a side of 4 instead: the halves of rows r and r + 2 are loaded
/// into one vector, which leaves a single round.
template <>
struct Square<std::uint64_t> {
  static constexpr int kSide = 4;
};

template <>
[[gnu::always_inline]] inline void turn_square(std::uint64_t const* in, std::int64_t in_ld,
                                               std::uint64_t* const* out, std::int64_t at) {
  using Half [[gnu::vector_size(16)]] = std::uint64_t;
  using Vector [[gnu::vector_size(32)]] = std::uint64_t;
#pragma GCC unroll 2
  for (int j = 0; j < 4; j += 2) {
    Half row[4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) std::memcpy(&row[r], in + r * in_ld + j, sizeof(Half));
    Vector const even = __builtin_shufflevector(row[0], row[2], 0, 1, 2, 3);
    Vector const odd = __builtin_shufflevector(row[1], row[3], 0, 1, 2, 3);
    Vector const first = __builtin_shufflevector(even, odd, 0, 4, 2, 6);
    Vector const second = __builtin_shufflevector(even, odd, 1, 5, 3, 7);
    std::memcpy(out[j] + at, &first, sizeof(Vector));
    std::memcpy(out[j + 1] + at, &second, sizeof(Vector));
  }
}
#endif

/// The transpose of rows x cols elements with cols <= kCols.
template <class T>
class Band {
 public:
  /// Long enough for the hardware to read ahead in a row, short enough for both buffers to stay in
  /// the second-level cache.
  static constexpr std::int64_t kCols = std::min<std::int64_t>(512, 2048 / sizeof(T));

  Band(T const* in, std::int64_t in_ld, T* out, std::int64_t out_ld, std::int64_t rows,
       std::int64_t cols, bool streaming)
      : in_{in},
        in_ld_{in_ld},
        out_{out},
        out_ld_{out_ld},
        rows_{rows},
        cols_{cols},
        streaming_{streaming} {
    // A row starts as far behind the begin of a line in the buffer as it does in memory. That
    // holds for every stretch, for a stretch is a number of whole lines.
    for (std::int64_t j = 0; j < cols; ++j) {
      auto const address = reinterpret_cast<std::uintptr_t>(out + j * out_ld);
      skip_[j] = static_cast<std::int64_t>(address % kLine / sizeof(T));
      to_[j] = buffer_ + j * kPitch + skip_[j];
    }
  }

  void run() {
    for (std::int64_t i = 0; i < rows_; i += kRows) {
      std::int64_t const end = std::min(rows_, i + kRows);
      for (std::int64_t strip = i; strip < end; strip += kStrip) {
        turn(strip - i, strip, std::min(end, strip + kStrip));
      }
      for (std::int64_t j = 0; j < cols_; ++j) release_row(i, j);
    }
  }

 private:
  static constexpr std::int64_t kPerLine = kLine / sizeof(T);
  static constexpr std::int64_t kRows = kStretch / sizeof(T);
  static constexpr std::int64_t kPitch = kRows + kPerLine;
  static constexpr int kSide = Square<T>::kSide;
  /// Rows that are read side by side: as many streams as the hardware follows well.
  static constexpr std::int64_t kStrip = std::min<std::int64_t>(16, kPerLine);

  /// Rows [begin, end) of the input, at most kStrip, to place `at` of the buffer's rows.
  void turn(std::int64_t at, std::int64_t begin, std::int64_t end) {
    T const* const in = in_ + begin * in_ld_;
    std::int64_t const whole = end - begin == kStrip ? cols_ / kSide * kSide : 0;
    for (std::int64_t j = 0; j < whole; j += kSide) {
#pragma GCC unroll 4
      for (std::int64_t i = 0; i < kStrip; i += kSide) {
        turn_square(in + i * in_ld_ + j, in_ld_, to_ + j, at + i);
      }
    }
    for (std::int64_t j = whole; j < cols_; ++j) {
      for (std::int64_t i = 0; i < end - begin; ++i) to_[j][at + i] = in[i * in_ld_ + j];
    }
  }

  void release_row(std::int64_t stretch, std::int64_t j) {
    std::int64_t const left = rows_ - stretch;
    T* const row = buffer_ + j * kPitch;
    T* const line = out_ + j * out_ld_ + stretch - skip_[j];
    std::int64_t const filled = skip_[j] + std::min(kRows, left);
    std::int64_t const complete = left > kRows ? kRows : filled;
    std::int64_t e = stretch == 0 ? skip_[j] : 0;
    if (streaming_) {
      if (e > 0) e = copy(line, row, e, std::min(kPerLine, complete));
      for (; e + kPerLine <= complete; e += kPerLine) stream_line(line + e, row + e);
    }
    if (e < complete) copy(line, row, e, complete);
    if (left > kRows && skip_[j] > 0) {
      std::memcpy(row, row + kRows, static_cast<std::size_t>(skip_[j]) * sizeof(T));
    }
  }

  static std::int64_t copy(T* to, T const* from, std::int64_t begin, std::int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(T));
    return end;
  }

  static void stream_line(T* to, T const* from) {
    for (std::size_t byte = 0; byte < kLine; byte += kStreamBytes) {
      stream_store(reinterpret_cast<char*>(to) + byte, reinterpret_cast<char const*>(from) + byte);
    }
  }

  T const* in_;
  std::int64_t in_ld_;
  T* out_;
  std::int64_t out_ld_;
  std::int64_t rows_;
  std::int64_t cols_;
  bool streaming_;
  std::int64_t skip_[kCols];  ///< elements of a line before the begin of each output row
  T* to_[kCols];              ///< where the first element of a stretch goes
  alignas(kLine) T buffer_[kCols * kPitch];
};

template <class T>
void transpose(Problem const& p, Space const& space) {
  auto const* in = static_cast<T const*>(p.in.data);
  auto* out = static_cast<T*>(p.out.data);
  std::int64_t const m = p.in.rows;
  std::int64_t const n = p.in.cols;
  if (m == 0 || n == 0) return;
  bool const streaming = m * n * static_cast<std::int64_t>(sizeof(T)) >= kStreamFrom;
  std::int64_t const bands = (n + Band<T>::kCols - 1) / Band<T>::kCols;
  std::int64_t const tasks = bands * ((m + kTaskRows - 1) / kTaskRows);
  Kokkos::parallel_for("quadrille::transpose",
                       Kokkos::RangePolicy<Space, Kokkos::Schedule<Kokkos::Dynamic>>{
                           space, 0, tasks, Kokkos::ChunkSize{1}},
                       [=, ld_in = p.in.ld, ld_out = p.out.ld](std::int64_t task) {
                         std::int64_t const i = task / bands * kTaskRows;
                         std::int64_t const j = task % bands * Band<T>::kCols;
                         Band<T> band{in + i * ld_in + j,
                                      ld_in,
                                      out + j * ld_out + i,
                                      ld_out,
                                      std::min(kTaskRows, m - i),
                                      std::min(Band<T>::kCols, n - j),
                                      streaming};
                         band.run();
                         if (streaming) stream_fence();
                       });
  space.fence("quadrille::transpose");
}

}  // namespace

void launch_kokkos(Problem const& problem, device::StreamView stream) {
  require_consistent(problem);
  stream.run([problem, stream] {
    Space const& space = device::host_execution(stream);
    switch (core::size_of(problem.in.type)) {
      case 8: return transpose<std::uint64_t>(problem, space);
      case 4: return transpose<std::uint32_t>(problem, space);
      case 2: return transpose<std::uint16_t>(problem, space);
      default: return transpose<std::uint8_t>(problem, space);
    }
  });
}

}  // namespace quadrille::kernels::transpose
