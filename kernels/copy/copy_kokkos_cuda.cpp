// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Copy on a GPU with Kokkos.
///
///   to[i] = from[i]
///
/// Technique    a range policy over the largest pieces, up to 16 bytes, at whose multiples both
///              arrays begin: fewer instructions for the same bytes; what is left behind the last
///              piece is copied by bytes in the same launch
/// Shapes       n contiguous bytes, any alignment
/// Types        any
/// Work         2 n bytes
/// Constraints  the arrays do not overlap
/// Launch       the stream's execution space; one piece a thread
/// Accuracy     exact
/// Source       own
#include "copy/copy.hpp"
#include "device/cuda/kokkos_execution.cuh"

#include <Kokkos_Core.hpp>

namespace quadrille::kernels::copy {
namespace {

using Range = Kokkos::RangePolicy<Kokkos::Cuda, Kokkos::IndexType<std::int64_t>>;

/// 16 bytes that move as one.
struct alignas(16) Wide {
  std::uint32_t word[4];
};

// Pointers, not Views: see vector_kokkos_cuda.cpp.
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

template <class Piece>
void copy(Problem const& p, device::StreamView stream) {
  auto const bytes = static_cast<std::size_t>(p.bytes);
  auto const pieces = static_cast<std::int64_t>(bytes / sizeof(Piece));
  std::size_t const rest = bytes % sizeof(Piece);
  auto const* const from_rest = static_cast<std::uint8_t const*>(p.from) + (bytes - rest);
  auto* const to_rest = static_cast<std::uint8_t*>(p.to) + (bytes - rest);
  Kokkos::parallel_for(
      "quadrille::copy",
      Range{device::cuda_execution(stream), 0, pieces + static_cast<std::int64_t>(rest)},
      Copy<Piece>{static_cast<Piece const*>(p.from), static_cast<Piece*>(p.to), pieces, from_rest,
                  to_rest});
}

}  // namespace

void launch_kokkos_cuda(Problem const& problem, device::StreamView stream) {
  std::uintptr_t const places =
      reinterpret_cast<std::uintptr_t>(problem.from) | reinterpret_cast<std::uintptr_t>(problem.to);
  if (places % 16 == 0) return copy<Wide>(problem, stream);
  if (places % 8 == 0) return copy<std::uint64_t>(problem, stream);
  if (places % 4 == 0) return copy<std::uint32_t>(problem, stream);
  if (places % 2 == 0) return copy<std::uint16_t>(problem, stream);
  copy<std::uint8_t>(problem, stream);
}

}  // namespace quadrille::kernels::copy
