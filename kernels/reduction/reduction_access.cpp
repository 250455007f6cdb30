// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "reduction/reduction_access.hpp"

#include "common/access.hpp"

#include <vector>

namespace quadrille::kernels::reduction {
namespace {

constexpr unsigned kLanes = 32;
constexpr std::int64_t kWordBytes = 4;

/// Wavefronts beyond one.
std::int64_t conflicts_of(std::vector<std::int64_t> const& offsets) {
  return wavefronts_of(offsets, kWordBytes).needed - 1;
}

}  // namespace

Conflicts conflicts_of_tree(TreeStep (*step_of)(unsigned thread, unsigned s)) {
  Conflicts found;
  for (unsigned s = 1; s < kTreeThreads; s *= 2) {
    for (unsigned first = 0; first < kTreeThreads; first += kLanes) {
      std::vector<std::int64_t> to, from;
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        TreeStep const step = step_of(first + lane, s);
        if (!step.active) continue;
        to.push_back(step.to * kWordBytes);
        from.push_back(step.from * kWordBytes);
      }
      if (to.empty()) continue;
      found.loads += conflicts_of(to) + conflicts_of(from);
      found.stores += conflicts_of(to);
    }
  }
  return found;
}

}  // namespace quadrille::kernels::reduction
