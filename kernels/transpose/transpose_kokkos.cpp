// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Transpose with Kokkos.
///
///   out[j][i] = in[i][j]
///
/// Technique    a team per tile, which goes through scratch memory: vector lanes run along the rows
///              of the input while loading and along those of the output while storing, so both
///              move whole sectors or lines; tile rows are an element longer, against bank conflicts
/// Shapes       row-major, any extents, leading dimensions and alignment, not overlapping
/// Work         2 m n s bytes
/// Launch       the stream's execution space. GPU: teams of 8 threads of 32 vector lanes, a tile of
///              64 x 65 elements in scratch memory, 33 KiB for 8-byte elements. Host: teams of one
///              thread, tiles of 32 x 33
/// Accuracy     exact
#include "common/kokkos.hpp"
#include "transpose/transpose.hpp"

namespace quadrille::kernels::transpose {
namespace {

constexpr int kSmallestSide = 32;

template <class Space>
struct Size {
  static constexpr int kSide = kOnGpu<Space> ? 64 : kSmallestSide;
  static constexpr int kTeam = kOnGpu<Space> ? 8 : 1;
  static constexpr int kVector = kOnGpu<Space> ? 32 : 1;
};

template <class Space>
using Teams =
    Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<Size<Space>::kTeam * Size<Space>::kVector>>;
template <class T, class Space>
using Tile = Unmanaged<T[Size<Space>::kSide][Size<Space>::kSide + 1], Kokkos::LayoutRight,
                       typename Space::scratch_memory_space>;

template <class T, class Space>
struct Transpose {
  static constexpr int kSide = Size<Space>::kSide;

  MatrixOf<T const, Space> in;
  MatrixOf<T, Space> out;
  int tiles_across;

  KOKKOS_FUNCTION void operator()(typename Teams<Space>::member_type const& team) const {
    std::int64_t const i0 = std::int64_t{kSide} * (team.league_rank() / tiles_across);
    std::int64_t const j0 = std::int64_t{kSide} * (team.league_rank() % tiles_across);
    int const rows = up_to(kSide, static_cast<std::int64_t>(in.extent(0)) - i0);
    int const cols = up_to(kSide, static_cast<std::int64_t>(in.extent(1)) - j0);
    Tile<T, Space> const tile{team.team_scratch(0)};
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

template <class T, class Space>
void transpose(Space const& space, Problem const& p) {
  constexpr int kSide = Size<Space>::kSide;
  auto const down = static_cast<int>((p.in.rows + kSide - 1) / kSide);
  auto const across = static_cast<int>((p.in.cols + kSide - 1) / kSide);
  if (down == 0 || across == 0) return;
  Teams<Space> teams{space, down * across, Size<Space>::kTeam, Size<Space>::kVector};
  teams.set_scratch_size(0, Kokkos::PerTeam(Tile<T, Space>::shmem_size()));
  Kokkos::parallel_for("quadrille::transpose", teams,
                       Transpose<T, Space>{matrix_of<MatrixOf<T const, Space>>(p.in),
                                           matrix_of<MatrixOf<T, Space>>(p.out), across});
}

void launch(Problem const& problem, device::StreamView stream) {
  device::run_kokkos(stream, [problem](auto const& space) {
    switch (core::size_of(problem.in.type)) {
      case 8: return transpose<std::uint64_t>(space, problem);
      case 4: return transpose<std::uint32_t>(space, problem);
      case 2: return transpose<std::uint16_t>(space, problem);
      default: return transpose<std::uint8_t>(space, problem);
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const kokkos{
    {.name = "kokkos",
     .where = Where::kokkos,
     .types = kEveryType,
     .needs = {.tile = {kSmallestSide, kSmallestSide}},
     .preference = 10,
     .source = "own",
     .summary = "one source for host and GPU: a team per tile in scratch memory"},
    launch};

}  // namespace quadrille::kernels::transpose
