// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.hpp"

#include <cstdint>

/// Model of the bank conflicts of a tree in shared memory.
namespace quadrille::kernels::reduction {

inline constexpr unsigned kTreeThreads = 256;

/// One thread in one step of a tree: where `active`, word `from` is added to word `to`.
struct TreeStep {
  bool active = false;
  unsigned to = 0;
  unsigned from = 0;
};

/// Halving strides: active threads are neighbours, as are the words that they touch.
QUAD_HD constexpr TreeStep halving_step(unsigned thread, unsigned s) {
  return {thread < s, thread, thread + s};
}
/// The same where the last warp goes through its steps as a whole.
QUAD_HD constexpr TreeStep unrolled_step(unsigned thread, unsigned s) {
  constexpr unsigned kWarp = 32;
  return {thread < s || thread < kWarp, thread, thread + s};
}

/// Wavefronts beyond one for each request.
struct Conflicts {
  std::int64_t loads = 0;
  std::int64_t stores = 0;
  bool operator==(Conflicts const&) const = default;
};

/// Of the tree of one block; the order of its steps does not matter.
Conflicts conflicts_of_tree(TreeStep (*step_of)(unsigned thread, unsigned s));

/// What a profiler should count as bank conflicts for a tree with 4-byte accumulators in a grid for n
/// elements, of which a block has kElements.
template <TreeStep (*step_of)(unsigned, unsigned), unsigned kElements = kTreeThreads>
Conflicts bank_conflicts(std::int64_t n) {
  std::int64_t const blocks = (n + kElements - 1) / kElements;
  Conflicts const one = conflicts_of_tree(step_of);
  return {blocks * one.loads, blocks * one.stores};
}

}  // namespace quadrille::kernels::reduction
