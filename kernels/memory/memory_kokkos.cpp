// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads of one window with Kokkos.
///
///   result[reader][lane] = number of the lane + sum of its words, modulo 2^32
///
/// Technique    a team per reader goes around the window from a place of its own; its threads share
///              the lanes, and each takes the words of a lane at once: on a GPU every thread has
///              one lane of 16 bytes, on a host the only thread has all lanes
/// Shapes       windows of whole tiles of 16 KiB
/// Work         tiles x 16 KiB read
/// Launch       the stream's execution space; teams of 256 threads on a GPU, of one on a host
/// Accuracy     exact
#include "common/kokkos.hpp"
#include "memory/memory.hpp"

namespace quadrille::kernels::memory {
namespace {

template <class Space>
struct Read {
  static constexpr Lanes kLanes = kOnGpu<Space> ? kDeviceLanes : kHostLanes;
  static constexpr int kThreads = kOnGpu<Space> ? kLanes.count : 1;
  static constexpr int kLanesEach = kLanes.count / kThreads;
  using Teams = Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<kThreads>>;

  /// What a lane takes at once.
  struct alignas(4 * kLanes.words) Piece {
    std::uint32_t word[kLanes.words];
  };
  static constexpr int kTilePieces = static_cast<int>(kTileBytes / sizeof(Piece));

  Piece const* window;
  std::uint32_t* result;
  std::int64_t window_tiles, tiles;

  KOKKOS_FUNCTION void operator()(typename Teams::member_type const& team) const {
    Share const share = share_of(team.league_rank(), team.league_size(), window_tiles, tiles);
    int const first = team.team_rank() * kLanesEach;
    std::uint32_t sum[kLanesEach] = {};
    std::int64_t tile = share.first;
    for (std::int64_t i = 0; i < share.count; ++i) {
      Piece const* const pieces = window + tile * kTilePieces + first;
      for (int p = 0; p < kTilePieces; p += kLanes.count) {
        for (int l = 0; l < kLanesEach; ++l) {
          Piece const piece = pieces[p + l];
          for (std::uint32_t const word : piece.word) sum[l] += word;
        }
      }
      if (++tile == window_tiles) tile = 0;
    }
    for (int l = 0; l < kLanesEach; ++l) {
      int const at = team.league_rank() * kLanes.count + first + l;
      result[at] = sum[l] + static_cast<std::uint32_t>(at);
    }
  }
};

void launch(Problem const& problem, device::StreamView stream) {
  device::run_kokkos(stream, [p = problem]<class Space>(Space const& space) {
    using Reader = Read<Space>;
    Kokkos::parallel_for("quadrille::memory::read",
                         typename Reader::Teams{space, p.readers, Reader::kThreads},
                         Reader{static_cast<typename Reader::Piece const*>(p.window), p.result,
                                p.bytes / kTileBytes, p.tiles});
  });
}

}  // namespace

extern constinit Variant<Problem> const kokkos{
    {.name = "kokkos",
     .where = Where::kokkos,
     .types = kEveryType,
     .needs = {.other = "windows of whole 16 KiB"},
     .preference = 10,
     .source = "own",
     .summary = "one source for host and GPU: a team per reader"},
    launch,
    {.unsupported = window_unsupported<>}};

}  // namespace quadrille::kernels::memory
