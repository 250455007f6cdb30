// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "transpose/transpose_access.hpp"

#include "transpose/transpose_layout.hpp"

#include <array>

namespace quadrille::kernels::transpose {
namespace {

constexpr int kLanes = 32;

/// Average over the requests of a block: `threads` threads, each with `steps` accesses to
/// position(thread, step), of `access_bytes`.
template <class Positions>
double average(int threads, int steps, std::int64_t access_bytes, std::int64_t element_bytes,
               std::int64_t ld, Positions position) {
  std::int64_t sectors = 0;
  for (int first = 0; first < threads; first += kLanes) {
    for (int step = 0; step < steps; ++step) {
      std::array<std::int64_t, kLanes> addresses{};
      for (int lane = 0; lane < kLanes; ++lane) {
        Position const at = position(first + lane, step);
        addresses[static_cast<std::size_t>(lane)] = (at.row * ld + at.col) * element_bytes;
      }
      sectors += sectors_of(addresses, access_bytes);
    }
  }
  return static_cast<double>(sectors) / (threads / kLanes * steps);
}

bool is_aligned(std::size_t element_bytes, std::int64_t in_ld, std::int64_t out_ld) {
  auto const size = static_cast<std::int64_t>(element_bytes);
  return in_ld * size % 16 == 0 && out_ld * size % 16 == 0;
}

template <int kElementBytes, class Shape = Swizzled<kElementBytes>>
Sectors swizzled(std::int64_t in_ld, std::int64_t out_ld) {
  return {average(Shape::kThreadTiles, Shape::kVector, 16, kElementBytes, in_ld, Shape::read),
          average(Shape::kSide * Shape::kPieces, 1, 16, kElementBytes, out_ld,
                  [](int piece, int) { return Shape::written(piece); })};
}

}  // namespace

template <int kBlockCols>
std::optional<Sectors> sectors_of_elements(std::size_t element_bytes, std::int64_t in_ld,
                                           std::int64_t out_ld) {
  auto const size = static_cast<std::int64_t>(element_bytes);
  auto const read = [](int thread, int) { return one_element<kBlockCols>(thread); };
  auto const written = [](int thread, int) {
    Position const own = one_element<kBlockCols>(thread);
    return Position{own.col, own.row};
  };
  return Sectors{average(256, 1, size, size, in_ld, read),
                 average(256, 1, size, size, out_ld, written)};
}
template std::optional<Sectors> sectors_of_elements<32>(std::size_t, std::int64_t, std::int64_t);
template std::optional<Sectors> sectors_of_elements<16>(std::size_t, std::int64_t, std::int64_t);
template std::optional<Sectors> sectors_of_elements<8>(std::size_t, std::int64_t, std::int64_t);
template std::optional<Sectors> sectors_of_elements<4>(std::size_t, std::int64_t, std::int64_t);

std::optional<Sectors> sectors_of_tiles(std::size_t element_bytes, std::int64_t in_ld,
                                        std::int64_t out_ld) {
  auto const size = static_cast<std::int64_t>(element_bytes);
  constexpr int kThreads = kTileSide * kTileSide / kTileSteps;
  return Sectors{average(kThreads, kTileSteps, size, size, in_ld, tile_step),
                 average(kThreads, kTileSteps, size, size, out_ld, tile_step)};
}

std::optional<Sectors> sectors_of_thread_tiles(std::size_t element_bytes, std::int64_t in_ld,
                                               std::int64_t out_ld) {
  auto const size = static_cast<std::int64_t>(element_bytes);
  if (size != 4 || !is_aligned(element_bytes, in_ld, out_ld)) return {};
  constexpr int kThreads = kThreadsPerSide * kThreadsPerSide;
  return Sectors{average(kThreads, kThreadTile, 16, size, in_ld, thread_tile_read),
                 average(kThreads, kThreadTile, 16, size, out_ld, thread_tile_written)};
}

std::optional<Sectors> sectors_of_swizzled(std::size_t element_bytes, std::int64_t in_ld,
                                           std::int64_t out_ld) {
  if (!is_aligned(element_bytes, in_ld, out_ld)) return {};
  switch (element_bytes) {
    case 8: return swizzled<8>(in_ld, out_ld);
    case 4: return swizzled<4>(in_ld, out_ld);
    case 2: return swizzled<2>(in_ld, out_ld);
    case 1: return swizzled<1>(in_ld, out_ld);
    default: return {};
  }
}

std::optional<Sectors> sectors_of_wide_tiles(std::size_t element_bytes, std::int64_t in_ld,
                                             std::int64_t out_ld) {
  if (!is_aligned(element_bytes, in_ld, out_ld)) return {};
  switch (element_bytes) {
    case 8: return swizzled<8, WideTile<8>>(in_ld, out_ld);
    case 4: return swizzled<4, WideTile<4>>(in_ld, out_ld);
    default: return {};
  }
}

}  // namespace quadrille::kernels::transpose
