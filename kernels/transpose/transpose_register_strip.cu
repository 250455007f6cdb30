// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transpose of thin matrices by strips, with thread tiles in registers.
///
///   out[j][i] = in[i][j]
///
/// Technique    a strip is as wide as the thin extent and 16 KiB large. On the thin side its rows lie
///              one behind the other in memory, and a warp moves 512 bytes of them at once; on the
///              long side it moves 512 bytes of one row. Between the two, pieces of 16 bytes pass
///              through shared memory once, whole, with a piece of padding behind the rows of each
///              thread tile: no access moves less than 16 bytes, where `shared_swizzled` takes such
///              matrices element by element
/// Shapes       row-major, not overlapping
/// Work         2 m n s bytes
/// Launch       256 threads (s = 2: 128, s = 1: 64), 4 to 16 pieces for each, 17 to 24 KiB of
///              shared memory
/// Accuracy     exact
#include "transpose/transpose_thread_tile.cuh"
#include "transpose/transpose_tiles.cuh"

#include <algorithm>
#include <string>

namespace quadrille::kernels::transpose {
namespace {

constexpr std::int64_t kMaxThinBytes = 128;

#ifdef QUAD_KERNELS

constexpr int kStripPieces = 1024;

/// Of elements of T: kStripPieces pieces are thread tiles of kVector pieces.
template <class T>
struct Strip {
  static constexpr int kVector = 16 / sizeof(T);
  static constexpr int kThreads = std::min(256, kStripPieces / kVector);
  static constexpr int kPieces = kStripPieces / kThreads;  ///< of a thread
  /// The largest padding is that of the smallest thread tiles' rows.
  static constexpr int kRoom = kStripPieces + kStripPieces / kVector;

  int width;   ///< of the thin side, in pieces
  int length;  ///< of the long side, in thread tiles

  __device__ int pieces() const { return width * length * kVector; }
  /// Where piece `piece` of the strip lies, counted along the thin side.
  __device__ int slot(int piece) const { return piece + piece / (width * kVector); }
};

/// in is m x thin: reads along the thin side.
template <class T>
__global__ void __launch_bounds__(Strip<T>::kThreads)
    transpose_register_strip_tall_kernel(Operands<T> p, Strip<T> strip) {
  using S = Strip<T>;
  constexpr int kVector = S::kVector;
  QUAD_SHARED(Piece, tile, [S::kRoom]);
  std::int64_t const i0 = std::int64_t{blockIdx.x} * strip.length * kVector;
  std::int64_t const left = p.m - i0;
  auto const thread = static_cast<int>(threadIdx.x);
  // Load
#pragma unroll
  for (int a = 0; a < S::kPieces; ++a) {
    int const piece = thread + a * S::kThreads;
    int const row = piece / strip.width;
    if (piece < strip.pieces()) {
      ptx::cp_async<16>(&tile[strip.slot(piece)],
                        p.in + (i0 + row) * p.in_ld + (piece - row * strip.width) * kVector,
                        row < left);
    }
  }
  ptx::cp_async_wait_all();
  __syncthreads();  // the strip is there
  // Transpose and store
#pragma unroll
  for (int a = 0; a < S::kPieces / kVector; ++a) {
    int const index = thread + a * S::kThreads;
    int const col = index / strip.length;
    int const row = (index - col * strip.length) * kVector;
    if (col >= strip.width || row >= left) continue;
    Piece rows[kVector];
#pragma unroll
    for (int k = 0; k < kVector; ++k) rows[k] = tile[strip.slot((row + k) * strip.width + col)];
    int const count = static_cast<int>(left - row < kVector ? left - row : kVector);
#pragma unroll
    for (int c = 0; c < kVector; ++c) {
      store_piece(p.out + (col * kVector + c) * p.out_ld + i0 + row, transposed_column<T>(rows, c),
                  count);
    }
  }
}

/// in is thin x n: writes along the thin side.
template <class T>
__global__ void __launch_bounds__(Strip<T>::kThreads)
    transpose_register_strip_wide_kernel(Operands<T> p, Strip<T> strip) {
  using S = Strip<T>;
  constexpr int kVector = S::kVector;
  QUAD_SHARED(Piece, tile, [S::kRoom]);
  std::int64_t const j0 = std::int64_t{blockIdx.x} * strip.length * kVector;
  std::int64_t const left = p.n - j0;
  auto const thread = static_cast<int>(threadIdx.x);
  // Load
  Piece rows[S::kPieces / kVector][kVector];
#pragma unroll
  for (int a = 0; a < S::kPieces / kVector; ++a) {
    int const index = thread + a * S::kThreads;
    int const row = index / strip.length;
    int const col = (index - row * strip.length) * kVector;
    int const count = row < strip.width && col < left
                          ? static_cast<int>(left - col < kVector ? left - col : kVector)
                          : 0;
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      rows[a][k] = load_piece(p.in + (row * kVector + k) * p.in_ld + j0 + col, count);
    }
  }
  // Transpose
#pragma unroll
  for (int a = 0; a < S::kPieces / kVector; ++a) {
    int const index = thread + a * S::kThreads;
    int const row = index / strip.length;
    int const col = (index - row * strip.length) * kVector;
    if (row >= strip.width) continue;
#pragma unroll
    for (int c = 0; c < kVector; ++c) {
      tile[strip.slot((col + c) * strip.width + row)] = transposed_column<T>(rows[a], c);
    }
  }
  __syncthreads();  // the strip is there
  // Store
#pragma unroll
  for (int a = 0; a < S::kPieces; ++a) {
    int const piece = thread + a * S::kThreads;
    int const row = piece / strip.width;
    if (piece < strip.pieces() && row < left) {
      store_piece(p.out + (j0 + row) * p.out_ld + (piece - row * strip.width) * kVector,
                  tile[strip.slot(piece)], kVector);
    }
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  with_operands(problem, [&]<class T>(Operands<T> const& operands) {
    using S = Strip<T>;
    bool const tall = problem.in.cols <= problem.in.rows;
    std::int64_t const thin = std::min(problem.in.rows, problem.in.cols);
    std::int64_t const longer = std::max(problem.in.rows, problem.in.cols);
    int const width = static_cast<int>(thin / S::kVector);
    // Whole lines of the long side, so that strips meet between lines.
    constexpr int kLine = 8;
    S const strip{width, kStripPieces / S::kVector / width / kLine * kLine};
    std::int64_t const each = std::int64_t{strip.length} * S::kVector;
    dim3 const grid(static_cast<unsigned>((longer + each - 1) / each));
    auto const kernel =
        tall ? transpose_register_strip_tall_kernel<T> : transpose_register_strip_wide_kernel<T>;
    QUAD_LAUNCH(kernel, grid, dim3(S::kThreads), 0, stream, operands, strip);
  });
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& problem) {
  std::int64_t const thin = std::min(problem.in.rows, problem.in.cols) *
                            static_cast<std::int64_t>(core::size_of(problem.in.type));
  if (thin % 16 == 0 && thin <= kMaxThinBytes) return {};
  return "needs an extent of 16, 32 ... 128 bytes, the smaller one has " + std::to_string(thin);
}

}  // namespace

extern constinit Variant<Problem> const register_strip{
    {.name = "register_strip",
     .where = Where::cuda,
     .types = kEveryType,
     .needs = {.ld_bytes = 16,
               .alignment = 16,
               .tile = {4, 128},
               .other = "an extent of 16, 32 ... 128 bytes"},
     .preference = 30,
     .source = "own",
     .summary = "strips of thin matrices, 16 bytes at a time"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported}};

}  // namespace quadrille::kernels::transpose
