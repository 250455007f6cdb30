// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.hpp"

#include <cstdint>

/// The one order of summation of everything reproducible, for host and device. A global index range
/// is cut into virtual blocks that no rank shares; within a block lane l takes items l, l + kLanes,
/// ... in order; lanes are folded in halves; so are, at the end, the block values.
///
/// The functions are static, here and in the headers built on this one: every target then keeps the
/// code of its own compiler flags, where the linker would pick one copy for all.
namespace quadrille::kernels {

/// Reproducible sums are taken over this many virtual blocks of the *global* range: block v holds
/// the items [v n / kVirtualBlocks, (v + 1) n / kVirtualBlocks).
inline constexpr std::int64_t kVirtualBlocks = 4096;
inline constexpr std::int64_t kLanes = 256;

/// First item of virtual block v of a range of n.
QUAD_HD constexpr std::int64_t block_begin(std::int64_t n, std::int64_t v) {
  return v * (n / kVirtualBlocks) + v * (n % kVirtualBlocks) / kVirtualBlocks;
}

/// Folds values[0, count) in halves of the next power of two, `count` at most `limit`, and returns
/// values[0]. Values beyond `count` up to that power must be the identity of `join`; folding more
/// of them would change nothing, so short blocks are cheap and keep their bits.
template <class T, class Join>
static inline T fold_halves(T* values, std::int64_t count, std::int64_t limit, Join join) {
  std::int64_t width = 1;
  while (width < count && width < limit) width *= 2;
  for (std::int64_t half = width / 2; half > 0; half /= 2) {
    for (std::int64_t i = 0; i < half; ++i) values[i] = join(values[i], values[i + half]);
  }
  return values[0];
}

}  // namespace quadrille::kernels
