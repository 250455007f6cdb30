// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "reduction/reduction_access.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

namespace quadrille::kernels::reduction {
namespace {

constexpr unsigned kLanes = 32;
constexpr unsigned kBanks = 32;

}  // namespace

int wavefronts_of(std::span<unsigned const> words) {
  std::array<std::set<unsigned>, kBanks> wanted;
  for (unsigned const word : words) wanted[word % kBanks].insert(word);
  auto const longest = std::ranges::max_element(wanted, {}, &std::set<unsigned>::size);
  return static_cast<int>(longest->size());
}

Conflicts conflicts_of_tree(TreeStep (*step_of)(unsigned thread, unsigned s)) {
  Conflicts found;
  for (unsigned s = 1; s < kTreeThreads; s *= 2) {
    for (unsigned first = 0; first < kTreeThreads; first += kLanes) {
      std::vector<unsigned> to, from;
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        TreeStep const step = step_of(first + lane, s);
        if (!step.active) continue;
        to.push_back(step.to);
        from.push_back(step.from);
      }
      if (to.empty()) continue;
      found.loads += wavefronts_of(to) - 1 + wavefronts_of(from) - 1;
      found.stores += wavefronts_of(to) - 1;
    }
  }
  return found;
}

}  // namespace quadrille::kernels::reduction
