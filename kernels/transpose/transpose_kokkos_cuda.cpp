// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transpose on a GPU with Kokkos.
///
///   out[j][i] = in[i][j]
///
/// Technique    a team per tile, which goes through scratch memory: vector lanes run along the rows
///              of the input while loading and along those of the output while storing, so both
///              move whole sectors; tile rows are an element longer, against bank conflicts
/// Shapes       row-major, any extents, leading dimensions and alignment, not overlapping
/// Types        all, as integers of their size
/// Work         2 m n s bytes
/// Constraints  less than 2^31 - 1 tiles of 64 x 64
/// Launch       the stream's execution space; teams of 8 threads of 32 vector lanes, a tile of
///              64 x 65 elements in scratch memory: 33 KiB for 8-byte elements
/// Accuracy     exact
/// Source       own
#include "device/cuda/kokkos_execution.cuh"
#include "transpose/transpose.hpp"

#include <Kokkos_Core.hpp>

namespace quadrille::kernels::transpose {
namespace {

constexpr int kSide = 64;
constexpr int kTeam = 8;
constexpr int kVector = 32;

using Teams = Kokkos::TeamPolicy<Kokkos::Cuda, Kokkos::LaunchBounds<kTeam * kVector>>;
using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutStride, Kokkos::CudaSpace, Unmanaged>;
template <class T>
using Tile = Kokkos::View<T[kSide][kSide + 1], Kokkos::LayoutRight,
                          Kokkos::Cuda::scratch_memory_space, Unmanaged>;

template <class T>
Matrix<T> matrix_of(device::MatrixView const& x) {
  auto const size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  Kokkos::LayoutStride const places{size(x.rows), size(x.ld), size(x.cols), 1};
  return Matrix<T>{static_cast<T*>(x.data), places};
}

template <class T>
struct Transpose {
  Matrix<T const> in;
  Matrix<T> out;
  int tiles_across;

  KOKKOS_FUNCTION void operator()(Teams::member_type const& team) const {
    std::int64_t const i0 = std::int64_t{kSide} * (team.league_rank() / tiles_across);
    std::int64_t const j0 = std::int64_t{kSide} * (team.league_rank() % tiles_across);
    auto const m = static_cast<std::int64_t>(in.extent(0)) - i0;
    auto const n = static_cast<std::int64_t>(in.extent(1)) - j0;
    int const rows = m < kSide ? static_cast<int>(m) : kSide;
    int const cols = n < kSide ? static_cast<int>(n) : kSide;
    Tile<T> const tile{team.team_scratch(0)};
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, rows), [&](int i) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, cols),
                           [&](int j) { tile(i, j) = in(i0 + i, j0 + j); });
    });
    team.team_barrier();  // the tile is complete before others read it
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, cols), [&](int j) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, rows),
                           [&](int i) { out(j0 + j, i0 + i) = tile(i, j); });
    });
  }
};

template <class T>
void transpose(Problem const& p, device::StreamView stream) {
  std::int64_t const down = (p.in.rows + kSide - 1) / kSide;
  std::int64_t const across = (p.in.cols + kSide - 1) / kSide;
  if (down == 0 || across == 0) return;
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 2;  // Kokkos refuses one more
  QUAD_REQUIRE(across <= kMost / down,
               "transpose/kokkos: more tiles than a league has teams; cut the matrix");
  Teams teams{device::cuda_execution(stream), static_cast<int>(down * across), kTeam, kVector};
  teams.set_scratch_size(0, Kokkos::PerTeam(Tile<T>::shmem_size()));
  Kokkos::parallel_for(
      "quadrille::transpose", teams,
      Transpose<T>{matrix_of<T const>(p.in), matrix_of<T>(p.out), static_cast<int>(across)});
}

}  // namespace

void launch_kokkos_cuda(Problem const& problem, device::StreamView stream) {
  switch (core::size_of(problem.in.type)) {
    case 8: return transpose<std::uint64_t>(problem, stream);
    case 4: return transpose<std::uint32_t>(problem, stream);
    case 2: return transpose<std::uint16_t>(problem, stream);
    default: return transpose<std::uint8_t>(problem, stream);
  }
}

}  // namespace quadrille::kernels::transpose
