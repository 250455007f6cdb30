// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/world.hpp"
#include "core/types.hpp"

#include <cstdint>
#include <thread>
#include <vector>

namespace quadrille::comm {

/// Calls `work(range)` for parts of [0, n) on this rank's host threads and waits for them.
template <class Work>
void on_threads(World const& world, std::int64_t n, Work&& work) {
  int const threads = world.placement().threads;
  std::vector<std::jthread> workers;
  for (int t = 1; t < threads; ++t) {
    core::Range const part = core::split_evenly(n, threads, t);
    if (part.count > 0) workers.emplace_back([&work, part] { work(part); });
  }
  work(core::split_evenly(n, threads, 0));
}

}  // namespace quadrille::comm
