// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "transpose/transpose_access.hpp"

#include "transpose/transpose_places.hpp"

#include <array>
#include <set>

namespace quadrille::kernels::transpose {
namespace {

constexpr int kLanes = 32;

/// Average over the requests of a block: `threads` threads, each with `steps` accesses to
/// place(thread, step), of `access_bytes`.
template <class PlaceOf>
double average(int threads, int steps, std::int64_t access_bytes, std::int64_t element_bytes,
               std::int64_t ld, PlaceOf place) {
  std::int64_t sectors = 0;
  for (int first = 0; first < threads; first += kLanes) {
    for (int step = 0; step < steps; ++step) {
      std::array<std::int64_t, kLanes> addresses{};
      for (int lane = 0; lane < kLanes; ++lane) {
        Place const at = place(first + lane, step);
        addresses[static_cast<std::size_t>(lane)] = (at.row * ld + at.col) * element_bytes;
      }
      sectors += sectors_of(addresses, access_bytes);
    }
  }
  return static_cast<double>(sectors) / (threads / kLanes * steps);
}

template <int kBlockCols>
Sectors naive(std::int64_t size, std::int64_t in_ld, std::int64_t out_ld) {
  auto const read = [](int thread, int) { return one_element<kBlockCols>(thread); };
  auto const written = [](int thread, int) {
    Place const own = one_element<kBlockCols>(thread);
    return Place{own.col, own.row};
  };
  return {average(256, 1, size, size, in_ld, read), average(256, 1, size, size, out_ld, written)};
}

template <int kElementBytes>
Sectors swizzled(std::int64_t in_ld, std::int64_t out_ld) {
  using Shape = Swizzled<kElementBytes>;
  return {average(Shape::kPatches, Shape::kVector, 16, kElementBytes, in_ld, Shape::read),
          average(Shape::kSide * Shape::kPieces, 1, 16, kElementBytes, out_ld,
                  [](int piece, int) { return Shape::written(piece); })};
}

}  // namespace

int sectors_of(std::span<std::int64_t const> addresses, std::int64_t access_bytes) {
  std::set<std::int64_t> sectors;
  for (std::int64_t const address : addresses) {
    for (std::int64_t s = address / kSectorBytes; s <= (address + access_bytes - 1) / kSectorBytes;
         ++s) {
      sectors.insert(s);
    }
  }
  return static_cast<int>(sectors.size());
}

std::optional<Sectors> sectors_per_request(std::string_view variant, std::size_t element_bytes,
                                           std::int64_t in_ld, std::int64_t out_ld) {
  auto const size = static_cast<std::int64_t>(element_bytes);
  bool const aligned = in_ld * size % 16 == 0 && out_ld * size % 16 == 0;
  if (variant == "naive_32x8") return naive<32>(size, in_ld, out_ld);
  if (variant == "naive_8x32") return naive<8>(size, in_ld, out_ld);
  if (variant == "shared_tile" || variant == "shared_padded" || variant == "in_place") {
    constexpr int kThreads = kTileSide * kTileSide / kTileSteps;
    return Sectors{average(kThreads, kTileSteps, size, size, in_ld, tile_step),
                   average(kThreads, kTileSteps, size, size, out_ld, tile_step)};
  }
  if (variant == "register_4x4" && size == 4 && aligned) {
    constexpr int kThreads = kPatchThreads * kPatchThreads;
    return Sectors{average(kThreads, kPatch, 16, size, in_ld, patch_read),
                   average(kThreads, kPatch, 16, size, out_ld, patch_written)};
  }
  if (variant == "shared_swizzled" && aligned) {
    switch (size) {
      case 8: return swizzled<8>(in_ld, out_ld);
      case 4: return swizzled<4>(in_ld, out_ld);
      case 2: return swizzled<2>(in_ld, out_ld);
      case 1: return swizzled<1>(in_ld, out_ld);
      default: return {};
    }
  }
  return {};
}

}  // namespace quadrille::kernels::transpose
