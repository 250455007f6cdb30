// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Matrix product with Kokkos.
///
///   C = alpha op(A) op(B) + beta C
///
/// Technique    a team per tile of C goes along k with slices of op(A) and op(B) in scratch memory;
///              each thread keeps a thread tile of accumulators, so that a value from scratch
///              memory is used several times. The next slices are loaded while the present ones are
///              multiplied. Rows and columns of a thread are as far apart as the team has threads
///              each way: neighbours read neighbouring words. Elements of 16 bits are widened on
///              their way to scratch memory
/// Shapes       row-major, any extents, leading dimensions and alignment; op(A) and op(B) are views
///              with strides; partial tiles are padded with zeros in scratch memory
/// Work         2 m n k flop; A is read once per column of tiles, B once per row of tiles
/// Launch       the stream's execution space. GPU: teams of 16 x 16 threads with 8 x 8 accumulators
///              (f64: 8 x 4), tiles of 128 x 128 (f64: 128 x 64) in slices of 8, 8 KiB (f64: 12 KiB)
///              of scratch memory, 128 registers. Host: teams of one thread with 16 x 64
///              accumulators, which stay in the first-level cache
/// Accuracy     k eps w / 2 at worst, eps (sqrt(k) + 2) w for random data; i32 exact modulo 2^32
#include "common/kokkos.hpp"
#include "gemm/gemm.hpp"

namespace quadrille::kernels::gemm {
namespace {

constexpr int kHostRows = 16;
constexpr int kHostCols = 64;

/// Sizes of a tile, in elements: kDown x kAcross threads with kRowsEach x kColsEach accumulators.
template <class T, class Space>
struct Tile {
  static constexpr int kDown = kOnGpu<Space> ? 16 : 1;
  static constexpr int kAcross = kOnGpu<Space> ? 16 : 1;
  static constexpr int kThreads = kDown * kAcross;
  static constexpr int kRowsEach = kOnGpu<Space> ? 8 : kHostRows;
  static constexpr int kColsEach = !kOnGpu<Space> ? kHostCols : sizeof(T) == 8 ? 4 : 8;
  static constexpr int kRows = kDown * kRowsEach;
  static constexpr int kCols = kAcross * kColsEach;
  static constexpr int kDepth = 8;

  using Teams = Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<kThreads, 2>>;
  /// A slice of an operand, kWidth across the product and kDepth along it. With a word more in each
  /// line, stores along k meet other banks too.
  template <int kWidth>
  using Slice =
      Unmanaged<T[kDepth][kWidth + 1], Kokkos::LayoutRight, typename Space::scratch_memory_space>;
};

/// A thread's elements of a slice on their way from device to scratch memory.
template <int kWidth, class T, class Space>
struct Share {
  using Size = Tile<T, Space>;
  static constexpr int kCount = kWidth * Size::kDepth / Size::kThreads;
  T element[kCount];

  /// Where element e of thread t lies: neighbours along k where that is how memory goes.
  KOKKOS_FUNCTION static int across(int t, int e, bool along_k) {
    int const at = t + e * Size::kThreads;
    return along_k ? at / Size::kDepth : at % kWidth;
  }
  KOKKOS_FUNCTION static int along(int t, int e, bool along_k) {
    int const at = t + e * Size::kThreads;
    return along_k ? at % Size::kDepth : at / kWidth;
  }

  /// x(w, p): w across the product, p along it. Zero beyond the ends.
  template <class In>
  KOKKOS_FUNCTION void load(MatrixOf<In const, Space> const& x, std::int64_t first,
                            std::int64_t step, int t, bool along_k) {
    int const wide = up_to(kWidth, static_cast<std::int64_t>(x.extent(0)) - first);
    int const deep = up_to(Size::kDepth, static_cast<std::int64_t>(x.extent(1)) - step);
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      int const w = across(t, e, along_k);
      int const p = along(t, e, along_k);
      element[e] = w < wide && p < deep ? static_cast<T>(x(first + w, step + p)) : T{};
    }
  }
  template <class Slice>
  KOKKOS_FUNCTION void store(Slice const& slice, int t, bool along_k) const {
#pragma unroll
    for (int e = 0; e < kCount; ++e)
      slice(along(t, e, along_k), across(t, e, along_k)) = element[e];
  }
};

/// A and B of In, sums in T, C of Out.
template <class In, class T, class Out, class Space>
struct Product {
  using Size = Tile<T, Space>;
  using Teams = typename Size::Teams;
  using SliceOfA = typename Size::template Slice<Size::kRows>;
  using SliceOfB = typename Size::template Slice<Size::kCols>;

  MatrixOf<In const, Space> a;  ///< op(A), m x k
  MatrixOf<In const, Space> b;  ///< op(B) transposed, n x k, so that both are alike
  MatrixOf<Out, Space> c;
  T alpha, beta;
  int tiles_across;

  KOKKOS_FUNCTION void operator()(typename Teams::member_type const& team) const {
    int const t = team.team_rank();
    int const row = t / Size::kAcross;
    int const col = t % Size::kAcross;
    std::int64_t const i0 = std::int64_t{Size::kRows} * (team.league_rank() / tiles_across);
    std::int64_t const j0 = std::int64_t{Size::kCols} * (team.league_rank() % tiles_across);
    auto const depth = static_cast<std::int64_t>(a.extent(1));
    bool const a_along_k = a.stride(1) == 1;
    bool const b_along_k = b.stride(1) == 1;
    SliceOfA const slice_a{team.team_scratch(0)};
    SliceOfB const slice_b{team.team_scratch(0)};
    Share<Size::kRows, T, Space> next_a;
    Share<Size::kCols, T, Space> next_b;
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
        for (int r = 0; r < Size::kRowsEach; ++r) factor[r] = slice_a(p, row + r * Size::kDown);
#pragma unroll
        for (int s = 0; s < Size::kColsEach; ++s) line[s] = slice_b(p, col + s * Size::kAcross);
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
        std::int64_t const i = i0 + row + r * Size::kDown;
        std::int64_t const j = j0 + col + s * Size::kAcross;
        if (i < static_cast<std::int64_t>(c.extent(0)) &&
            j < static_cast<std::int64_t>(c.extent(1))) {
          T const old = beta != T{} ? beta * static_cast<T>(c(i, j)) : T{};
          c(i, j) = static_cast<Out>(alpha * sum[r][s] + old);
        }
      }
    }
  }
};

template <class T>
T convert(double x) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<std::int64_t>(x));
  return static_cast<T>(x);
}

template <class In, class T, class Out, class Space>
void multiply(Space const& space, Problem const& p) {
  using Functor = Product<In, T, Out, Space>;
  using Size = Tile<T, Space>;
  auto const down = static_cast<int>((p.m() + Size::kRows - 1) / Size::kRows);
  auto const across = static_cast<int>((p.n() + Size::kCols - 1) / Size::kCols);
  if (down == 0 || across == 0) return;
  typename Functor::Teams teams{space, down * across, Size::kThreads};
  teams.set_scratch_size(
      0, Kokkos::PerTeam(Functor::SliceOfA::shmem_size() + Functor::SliceOfB::shmem_size()));
  using Operand = MatrixOf<In const, Space>;
  Kokkos::parallel_for(
      "quadrille::gemm", teams,
      Functor{matrix_of<Operand>(p.a, p.transpose_a), matrix_of<Operand>(p.b, !p.transpose_b),
              matrix_of<MatrixOf<Out, Space>>(p.c), convert<T>(p.alpha), convert<T>(p.beta),
              across});
}

template <class In, class Space>
void multiply_in_f32(Space const& space, Problem const& p) {
  if (p.c.type == core::DataType::f32) {
    multiply<In, float, float>(space, p);
  } else {
    multiply<In, float, In>(space, p);
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  device::run_kokkos(stream, [problem](auto const& space) {
    switch (problem.a.type) {
      case core::DataType::f64: return multiply<double, double, double>(space, problem);
      case core::DataType::f32: return multiply<float, float, float>(space, problem);
      case core::DataType::f16: return multiply_in_f32<core::f16>(space, problem);
      case core::DataType::bf16: return multiply_in_f32<core::bf16>(space, problem);
      default: return multiply<std::uint32_t, std::uint32_t, std::uint32_t>(space, problem);
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const kokkos{
    {.name = "kokkos",
     .where = Where::kokkos,
     .types = {core::DataType::f64,
               core::DataType::f32,
               core::DataType::f16,
               {core::DataType::f16, core::Compute::f32, core::DataType::f32},
               core::DataType::bf16,
               {core::DataType::bf16, core::Compute::f32, core::DataType::f32},
               core::DataType::i32},
     .needs = {.tile = {kHostRows, kHostCols}, .other = "i32: whole alpha and beta"},
     .preference = 10,
     .source = "own",
     .summary = "one source for host and GPU: a team per tile, slices in scratch memory"},
    launch,
    {.unsupported = whole_scalars}};

}  // namespace quadrille::kernels::gemm
