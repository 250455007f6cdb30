// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Copy with Kokkos.
///
///   to[i] = from[i]
///
/// Technique    a range policy over the largest pieces, up to 16 bytes, at whose multiples both
///              arrays begin: fewer instructions for the same bytes; what is left behind the last
///              piece is copied by bytes in the same loop
/// Shapes       n contiguous bytes, any alignment
/// Work         2 n bytes; on a host 3 n, for the caches read the target first
/// Launch       the stream's execution space; one piece an iteration
/// Accuracy     exact
#include "common/kokkos.hpp"
#include "copy/copy.hpp"

namespace quadrille::kernels::copy {
namespace {

/// 16 bytes that move as one.
struct alignas(16) Wide {
  std::uint32_t word[4];
};

// Pointers, not Views: see vector_kokkos.cpp.
template <class Piece>
struct Copy {
  Piece const* from;
  Piece* to;
  std::int64_t pieces;
  std::uint8_t const* from_rest;
  std::uint8_t* to_rest;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    if (i < pieces) {
      to[i] = from[i];
    } else {
      to_rest[i - pieces] = from_rest[i - pieces];
    }
  }
};

template <class Piece, class Space>
void copy(Space const& space, Problem const& p) {
  auto const bytes = static_cast<std::size_t>(p.bytes);
  auto const pieces = static_cast<std::int64_t>(bytes / sizeof(Piece));
  std::size_t const rest = bytes % sizeof(Piece);
  auto const* const from_rest = static_cast<std::uint8_t const*>(p.from) + (bytes - rest);
  auto* const to_rest = static_cast<std::uint8_t*>(p.to) + (bytes - rest);
  Kokkos::parallel_for("quadrille::copy",
                       RangeOf<Space>{space, 0, pieces + static_cast<std::int64_t>(rest)},
                       Copy<Piece>{static_cast<Piece const*>(p.from), static_cast<Piece*>(p.to),
                                   pieces, from_rest, to_rest});
}

void launch(Problem const& problem, device::StreamView stream) {
  device::run_kokkos(stream, [problem](auto const& space) {
    std::uintptr_t const places = reinterpret_cast<std::uintptr_t>(problem.from) |
                                  reinterpret_cast<std::uintptr_t>(problem.to);
    if (places % 16 == 0) return copy<Wide>(space, problem);
    if (places % 8 == 0) return copy<std::uint64_t>(space, problem);
    if (places % 4 == 0) return copy<std::uint32_t>(space, problem);
    if (places % 2 == 0) return copy<std::uint16_t>(space, problem);
    copy<std::uint8_t>(space, problem);
  });
}

}  // namespace

extern constinit Variant<Problem> const kokkos{
    {.name = "kokkos",
     .where = Where::kokkos,
     .types = kEveryType,
     .preference = 10,
     .source = "own",
     .summary = "one source for host and GPU: a range policy over pieces of up to 16 bytes"},
    launch};

}  // namespace quadrille::kernels::copy
