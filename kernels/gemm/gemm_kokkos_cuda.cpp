// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product on a GPU with Kokkos.
///
///   C = alpha op(A) op(B) + beta C
///
/// Technique    a team per tile of C goes along k with slices of op(A) and op(B) in scratch memory;
///              each thread keeps 8 x 8 (f64: 8 x 4) sums in registers, so that a value from
///              scratch memory is used 8 (4) times. The next slices are loaded into registers
///              while the present ones are multiplied. Rows and columns of a thread are 16 apart:
///              neighbours read neighbouring words
/// Shapes       row-major, any extents, leading dimensions and alignment; op(A) and op(B) are views
///              with strides; partial tiles are padded with zeros in scratch memory
/// Types        f64, f32, i32 (modulo 2^32); sums in the same type
/// Work         2 m n k flop; A is read once per column of tiles, B once per row of tiles
/// Constraints  i32: alpha and beta are whole numbers; less than 2^31 - 1 tiles of C
/// Launch       the stream's execution space; teams of 256 threads, tiles of 128 x 128 (f64:
///              128 x 64) in slices of 8, 8 KiB (f64: 12 KiB) of scratch memory; 128 registers
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data; i32 exact
/// Source       own
#include "device/cuda/kokkos_execution.cuh"
#include "gemm/gemm.hpp"

#include <Kokkos_Core.hpp>

#include <cmath>

namespace quadrille::kernels::gemm {
namespace {

/// Threads of a team across and down its tile.
constexpr int kAcross = 16;
constexpr int kDown = 16;
constexpr int kThreads = kAcross * kDown;

using Teams = Kokkos::TeamPolicy<Kokkos::Cuda, Kokkos::LaunchBounds<kThreads, 2>>;
using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutStride, Kokkos::CudaSpace, Unmanaged>;

/// Sizes of a tile, in elements; kRowsEach x kColsEach sums a thread.
template <class T>
struct Tile {
  static constexpr int kRowsEach = 8;
  static constexpr int kColsEach = sizeof(T) == 8 ? 4 : 8;
  static constexpr int kRows = kDown * kRowsEach;
  static constexpr int kCols = kAcross * kColsEach;
  static constexpr int kDepth = 8;
};

/// A slice of an operand, kWidth across the product and kDepth along it. With a word more in each
/// line, stores along k meet other banks too.
template <class T, int kWidth>
using Slice = Kokkos::View<T[Tile<T>::kDepth][kWidth + 1], Kokkos::LayoutRight,
                           Kokkos::Cuda::scratch_memory_space, Unmanaged>;

/// n, but at most `most`, as an int: 64-bit places would cost the registers of sums.
KOKKOS_FUNCTION inline int up_to(int most, std::int64_t n) {
  return n < most ? static_cast<int>(n) : most;
}

/// A thread's elements of a slice on their way from device to scratch memory.
template <class T, int kWidth>
struct Share {
  static constexpr int kCount = kWidth * Tile<T>::kDepth / kThreads;
  T element[kCount];

  /// Where element e of thread t lies: neighbours along k where that is how memory goes.
  KOKKOS_FUNCTION static int across(int t, int e, bool along_k) {
    int const at = t + e * kThreads;
    return along_k ? at / Tile<T>::kDepth : at % kWidth;
  }
  KOKKOS_FUNCTION static int along(int t, int e, bool along_k) {
    int const at = t + e * kThreads;
    return along_k ? at % Tile<T>::kDepth : at / kWidth;
  }

  /// x(w, p): w across the product, p along it. Zero beyond the ends.
  KOKKOS_FUNCTION void load(Matrix<T const> const& x, std::int64_t first, std::int64_t step, int t,
                            bool along_k) {
    int const wide = up_to(kWidth, static_cast<std::int64_t>(x.extent(0)) - first);
    int const deep = up_to(Tile<T>::kDepth, static_cast<std::int64_t>(x.extent(1)) - step);
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      int const w = across(t, e, along_k);
      int const p = along(t, e, along_k);
      element[e] = w < wide && p < deep ? x(first + w, step + p) : T{};
    }
  }
  KOKKOS_FUNCTION void store(Slice<T, kWidth> const& slice, int t, bool along_k) const {
#pragma unroll
    for (int e = 0; e < kCount; ++e)
      slice(along(t, e, along_k), across(t, e, along_k)) = element[e];
  }
};

template <class T>
struct Product {
  using Size = Tile<T>;

  Matrix<T const> a;  ///< op(A), m x k
  Matrix<T const> b;  ///< op(B) turned, n x k, so that both are alike
  Matrix<T> c;
  T alpha, beta;
  int tiles_across;

  KOKKOS_FUNCTION void operator()(Teams::member_type const& team) const {
    int const t = team.team_rank();
    int const row = t / kAcross;
    int const col = t % kAcross;
    std::int64_t const i0 = std::int64_t{Size::kRows} * (team.league_rank() / tiles_across);
    std::int64_t const j0 = std::int64_t{Size::kCols} * (team.league_rank() % tiles_across);
    auto const depth = static_cast<std::int64_t>(a.extent(1));
    bool const a_along_k = a.stride(1) == 1;
    bool const b_along_k = b.stride(1) == 1;
    Slice<T, Size::kRows> const slice_a{team.team_scratch(0)};
    Slice<T, Size::kCols> const slice_b{team.team_scratch(0)};
    Share<T, Size::kRows> next_a;
    Share<T, Size::kCols> next_b;
    T sum[Size::kRowsEach][Size::kColsEach] = {};

    next_a.load(a, i0, 0, t, a_along_k);
    next_b.load(b, j0, 0, t, b_along_k);
    for (std::int64_t step = 0; step < depth; step += Size::kDepth) {
      next_a.store(slice_a, t, a_along_k);
      next_b.store(slice_b, t, b_along_k);
      team.team_barrier();  // the slices are complete before they are read
      next_a.load(a, i0, step + Size::kDepth, t, a_along_k);
      next_b.load(b, j0, step + Size::kDepth, t, b_along_k);
#pragma unroll
      for (int p = 0; p < Size::kDepth; ++p) {
        T factor[Size::kRowsEach];
        T line[Size::kColsEach];
#pragma unroll
        for (int r = 0; r < Size::kRowsEach; ++r) factor[r] = slice_a(p, row + r * kDown);
#pragma unroll
        for (int s = 0; s < Size::kColsEach; ++s) line[s] = slice_b(p, col + s * kAcross);
#pragma unroll
        for (int r = 0; r < Size::kRowsEach; ++r) {
#pragma unroll
          for (int s = 0; s < Size::kColsEach; ++s) sum[r][s] += factor[r] * line[s];
        }
      }
      team.team_barrier();  // all have read the slices before they are overwritten
    }

#pragma unroll
    for (int r = 0; r < Size::kRowsEach; ++r) {
#pragma unroll
      for (int s = 0; s < Size::kColsEach; ++s) {
        std::int64_t const i = i0 + row + r * kDown;
        std::int64_t const j = j0 + col + s * kAcross;
        if (i < static_cast<std::int64_t>(c.extent(0)) &&
            j < static_cast<std::int64_t>(c.extent(1))) {
          T const old = beta != T{} ? beta * c(i, j) : T{};
          c(i, j) = alpha * sum[r][s] + old;
        }
      }
    }
  }
};

/// x as it is stored, or turned: the same memory with rows and columns exchanged.
template <class T>
Matrix<T> matrix_of(device::MatrixView const& x, bool turned) {
  auto const size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  Kokkos::LayoutStride places{size(x.rows), size(x.ld), size(x.cols), 1};
  if (turned) places = Kokkos::LayoutStride{size(x.cols), 1, size(x.rows), size(x.ld)};
  return Matrix<T>{static_cast<T*>(x.data), places};
}

template <class T>
T convert(double x) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<std::int64_t>(x));
  return static_cast<T>(x);
}

template <class T>
void multiply(Problem const& p, device::StreamView stream) {
  using Size = Tile<T>;
  std::int64_t const down = (p.m() + Size::kRows - 1) / Size::kRows;
  std::int64_t const across = (p.n() + Size::kCols - 1) / Size::kCols;
  if (down == 0 || across == 0) return;
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 2;  // Kokkos refuses one more
  QUAD_REQUIRE(across <= kMost / down,
               "gemm/kokkos: more tiles than a league has teams; cut the product");
  Teams teams{device::cuda_execution(stream), static_cast<int>(down * across), kThreads};
  teams.set_scratch_size(0, Kokkos::PerTeam(Slice<T, Size::kRows>::shmem_size() +
                                            Slice<T, Size::kCols>::shmem_size()));
  Kokkos::parallel_for(
      "quadrille::gemm", teams,
      Product<T>{matrix_of<T const>(p.a, p.transpose_a), matrix_of<T const>(p.b, !p.transpose_b),
                 matrix_of<T>(p.c, false), convert<T>(p.alpha), convert<T>(p.beta),
                 static_cast<int>(across)});
}

}  // namespace

void launch_kokkos_cuda(Problem const& problem, device::StreamView stream) {
  switch (problem.c.type) {
    case core::DataType::f64: return multiply<double>(problem, stream);
    case core::DataType::f32: return multiply<float>(problem, stream);
    default: return multiply<std::uint32_t>(problem, stream);
  }
}

}  // namespace quadrille::kernels::gemm
