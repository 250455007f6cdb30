// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"

#include <span>
#include <string_view>

namespace quadrille::kernels::reduction {

enum class Operation { sum, min, max, dot, norm2 };

/// Reproducible sums are taken over this many virtual blocks of the *global* vector: block v holds
/// the elements [v n / kVirtualBlocks, (v + 1) n / kVirtualBlocks).
inline constexpr std::int64_t kVirtualBlocks = 4096;
/// Within a block, lane l adds elements l, l + kLanes, ... in order; lanes are added in halves.
inline constexpr std::int64_t kLanes = 256;

/// First element of virtual block v of a vector of n elements.
constexpr std::int64_t block_begin(std::int64_t n, std::int64_t v) {
  std::int64_t const whole = n / kVirtualBlocks;
  std::int64_t const rest = n % kVirtualBlocks;
  return v * whole + v * rest / kVirtualBlocks;
}

/// Reduction of the elements of x (and y for dot) of this rank. norm2 gives the sum of squares; the
/// caller takes the root. Accumulates f32 in f32 or f64, f64 in f64, integers in i64 as double.
struct Problem {
  void const* x = nullptr;
  void const* y = nullptr;  ///< dot only
  std::int64_t n = 0;       ///< local elements
  core::DataType type = core::DataType::f64;
  core::DataType accumulator = core::DataType::f64;
  Operation operation = Operation::sum;
  double* result = nullptr;  ///< device memory: one value; the identity when n == 0

  /// Reproducible mode: sums of the virtual blocks [block_first, block_first + block_count) of a
  /// vector of `global_n` elements, of which x holds those from block_begin(global_n, block_first).
  bool reproducible = false;
  std::int64_t global_n = 0;
  std::int64_t block_first = 0;
  std::int64_t block_count = 0;
  double* blocks = nullptr;  ///< device memory: block_count values
};

/// Adds the kVirtualBlocks block values in the one fixed order (halves): the end of every
/// reproducible reduction, whatever the number of ranks. Minimum and maximum likewise.
double combine_blocks(Operation operation, std::span<double const> blocks);
double identity(Operation operation);

/// |s - reference| <= this, for uniform data: c eps sqrt(n) sum|x|. 0 for integer data, min and
/// max.
double error_bound(Problem const& problem, double n, double sum_of_magnitudes);

std::span<Variant<Problem> const> variants();

std::string_view to_text(Operation operation);

}  // namespace quadrille::kernels::reduction
