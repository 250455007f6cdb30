// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transpose on the host at the pace of a copy.
///
///   out[j][i] = in[i][j]
///
/// Technique    a band of a few input lines across is walked downwards; its elements are turned in
///              registers, squares of 16 bytes a side, into a buffer that holds a short stretch of
///              each output row. What is complete as a cache line leaves the buffer by streaming
///              stores, so the output is never read; the rest of a row stays for the next stretch,
///              so only the ends of a row of a task are ever written in part. Every line of the
///              input is read once, in any alignment, hence power-of-two leading dimensions, where
///              all lines of a column fall into one set of the cache, cost nothing
/// Shapes       row-major, any extents, leading dimensions and alignment, not overlapping
/// Types        all, as integers of their size
/// Work         2 m n s bytes (3 m n s where the output is small enough to stay in the caches)
/// Constraints  none
/// Launch       tasks of kTaskRows x kTaskCols in one loop on the stream's execution space
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
constexpr std::int64_t kTaskRows = 512;
constexpr std::int64_t kTaskCols = 512;
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

/// The transpose of a band: rows x cols elements with cols <= kCols.
template <class T>
class Band {
 public:
  static constexpr std::int64_t kPerLine = kLine / sizeof(T);
  static constexpr std::int64_t kCols = 512;

  Band(T* out, std::int64_t out_ld, std::int64_t cols, bool streaming)
      : out_{out}, out_ld_{out_ld}, cols_{cols}, streaming_{streaming} {
    // A row starts as far behind the begin of a line in the buffer as it does in memory.
    for (std::int64_t j = 0; j < cols; ++j) {
      auto const address = reinterpret_cast<std::uintptr_t>(out + j * out_ld);
      skip_[j] = static_cast<std::int64_t>(address % kLine / sizeof(T));
      held_[j] = skip_[j];
    }
  }

  void run(T const* in, std::int64_t in_ld, std::int64_t rows) {
    for (std::int64_t i = 0; i < rows; i += kRows) {
      std::int64_t const count = std::min(kRows, rows - i);
      turn(in + i * in_ld, in_ld, count);
      for (std::int64_t j = 0; j < cols_; ++j) release(j, i, count, i + count == rows);
    }
  }

 private:
  static constexpr std::int64_t kRows = kStretch / sizeof(T);
  static constexpr std::int64_t kPitch = kRows + kPerLine;
  static constexpr int kSide = Square<T>::kSide;

  /// Appends `rows` elements to each row of the buffer.
  void turn(T const* in, std::int64_t in_ld, std::int64_t rows) {
    T* to[kCols];
    for (std::int64_t j = 0; j < cols_; ++j) to[j] = buffer_ + j * kPitch + held_[j];
    std::int64_t const whole_rows = rows / kSide * kSide;
    std::int64_t const whole_cols = cols_ / kSide * kSide;
    for (std::int64_t i = 0; i < whole_rows; i += kSide) {
      for (std::int64_t j = 0; j < whole_cols; j += kSide) {
        turn_square(in + i * in_ld + j, in_ld, to + j, i);
      }
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = i < whole_rows ? whole_cols : 0; j < cols_; ++j) {
        to[j][i] = in[i * in_ld + j];
      }
    }
  }

  /// Writes what is complete of row j of the output, after elements [i, i + count) came to it; all
  /// of it when these are the last.
  void release(std::int64_t j, std::int64_t i, std::int64_t count, bool last) {
    T* const row = buffer_ + j * kPitch;
    T* const line = out_ + j * out_ld_ + i - held_[j];
    std::int64_t const filled = held_[j] + count;
    std::int64_t const complete = last ? filled : filled / kPerLine * kPerLine;
    if (complete == 0) {
      held_[j] = filled;
      return;
    }
    std::int64_t e = skip_[j];
    if (streaming_) {
      if (e > 0) e = copy(line, row, e, std::min(kPerLine, complete));
      for (; e + kPerLine <= complete; e += kPerLine) stream_line(line + e, row + e);
    }
    copy(line, row, e, complete);
    std::memcpy(row, row + complete, kLine);
    held_[j] = filled - complete;
    skip_[j] = 0;
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

  T* out_;
  std::int64_t out_ld_;
  std::int64_t cols_;
  bool streaming_;
  std::int64_t held_[kCols];  ///< elements of each row that wait in the buffer
  std::int64_t skip_[kCols];  ///< of these, places before the begin of the row
  alignas(kLine) T buffer_[kCols * kPitch + kPerLine];
};

template <class T>
void transpose(Problem const& p, Space const& space) {
  auto const* in = static_cast<T const*>(p.in.data);
  auto* out = static_cast<T*>(p.out.data);
  std::int64_t const m = p.in.rows;
  std::int64_t const n = p.in.cols;
  if (m == 0 || n == 0) return;
  bool const streaming = m * n * static_cast<std::int64_t>(sizeof(T)) >= kStreamFrom;

  std::int64_t const row_tasks = (m + kTaskRows - 1) / kTaskRows;
  std::int64_t const col_tasks = (n + kTaskCols - 1) / kTaskCols;
  Kokkos::parallel_for("quadrille::transpose",
                       Kokkos::RangePolicy<Space, Kokkos::Schedule<Kokkos::Dynamic>>{
                           space, 0, row_tasks * col_tasks, Kokkos::ChunkSize{1}},
                       [=, ld_in = p.in.ld, ld_out = p.out.ld](std::int64_t task) {
                         std::int64_t const first = task / col_tasks * kTaskRows;
                         std::int64_t const rows = std::min(kTaskRows, m - first);
                         std::int64_t const begin = task % col_tasks * kTaskCols;
                         std::int64_t const end = std::min(n, begin + kTaskCols);
                         for (std::int64_t j = begin; j < end; j += Band<T>::kCols) {
                           std::int64_t const cols = std::min(Band<T>::kCols, end - j);
                           Band<T> band{out + j * ld_out + first, ld_out, cols, streaming};
                           band.run(in + first * ld_in + j, ld_in, rows);
                         }
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
