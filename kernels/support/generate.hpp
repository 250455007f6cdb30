// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/generator.hpp"
#include "device/views.hpp"

/// Input values made and results checked where they lie, in GPU memory: bit for bit what
/// core::generate() gives on the host, from the same source.
namespace quadrille::kernels::generate {

/// From local to global indices: `first` plus blocks of `block` dealt to `parts` owners in turn.
struct IndexMap {
  std::int64_t first = 0;
  std::int64_t block = 1;
  std::int64_t parts = 1;
  std::int64_t part = 0;

  QUAD_HD constexpr std::int64_t global(std::int64_t local) const {
    // One block holds everything where there is one owner.
    return first + (parts == 1 ? local : (local / block * parts + part) * block + local % block);
  }
};

/// A rank's part of a generated array: element (i, j) of `data` is element (rows.global(i),
/// cols.global(j)), or with `transposed` (cols.global(j), rows.global(i)), of array `tag`.
struct Problem {
  device::MatrixView data;  ///< of any type, in memory that the device reaches
  IndexMap rows, cols;
  bool transposed = false;
  core::DataKind kind = core::DataKind::uniform;
  std::uint64_t seed = 1;
  std::uint64_t tag = 0;
};

/// What a comparison found. Starts as {0, kNone}.
struct Differences {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t count = 0;
  std::uint64_t first = kNone;  ///< i * cols + j of the first element that differs
};

/// What an element with these bits adds to a digest, at place `at` of a matrix that is packed.
QUAD_HD constexpr std::uint64_t digest_term(std::uint64_t bits, std::int64_t at) {
  return core::mix(bits + (static_cast<std::uint64_t>(at) + 1) * 0x9e3779b97f4a7c15ULL);
}
/// Calls `f(Bits{})` with the unsigned integer as wide as an element.
template <class F>
void visit_bits(core::DataType type, F&& f) {
  switch (core::size_of(type)) {
    case 8: return f(std::uint64_t{});
    case 4: return f(std::uint32_t{});
    case 2: return f(std::uint16_t{});
    default: return f(std::uint8_t{});
  }
}

/// Enqueue on a stream of a CUDA device; in a build without CUDA they end the job.
void fill(Problem const& problem, device::StreamView stream);
/// Adds what differs to `found`, which is in device memory. NaN differs from everything.
void compare(Problem const& problem, Differences* found, device::StreamView stream);

/// Adds digest_term() of every element to `sum`, both in memory of the stream's device, of any kind.
void digest(device::MatrixView const& data, std::uint64_t* sum, device::StreamView stream);

/// The launch functions behind them.
void launch_fill(Problem const& problem, device::StreamView stream);
void launch_compare(Problem const& problem, Differences* found, device::StreamView stream);
void launch_digest(device::MatrixView const& data, std::uint64_t* sum, device::StreamView stream);

}  // namespace quadrille::kernels::generate
