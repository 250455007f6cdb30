// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "gemm/gemm_access.hpp"

#include <set>
#include <utility>
#include <vector>

namespace quadrille::kernels::gemm {
namespace {

constexpr int kLanes = 32;

void add(Requests& to, Requests const& of_tile, std::int64_t tiles) {
  to.requests += tiles * of_tile.requests;
  to.parts += tiles * of_tile.parts;
  to.least += tiles * of_tile.least;
}

/// All requests of a block for one tile.
template <class Use>
void for_requests(Access const& access, int threads, std::int64_t ld, std::int64_t element_bytes,
                  Use&& use) {
  std::vector<std::int64_t> offsets;
  for (int step = 0; step < access.steps; ++step) {
    for (int first = 0; first < threads; first += kLanes) {
      offsets.clear();
      for (int thread = first; thread < first + kLanes && thread < threads; ++thread) {
        Place const place = access.at(thread, step);
        if (place != kNowhere) offsets.push_back((place.row * ld + place.col) * element_bytes);
      }
      if (!offsets.empty()) use(offsets);
    }
  }
}

}  // namespace

std::optional<Traffic> traffic_of(Pattern const& pattern, std::int64_t m, std::int64_t n,
                                  std::int64_t k, std::int64_t element_bytes) {
  bool const is_whole = !pattern.accesses.empty() && m % pattern.rows == 0 &&
                        n % pattern.cols == 0 && k % pattern.depth == 0 &&
                        k * element_bytes % kSectorBytes == 0 &&
                        n * element_bytes % kSectorBytes == 0;
  if (!is_whole) return {};
  std::int64_t const blocks = m / pattern.rows * (n / pattern.cols);
  std::int64_t const tiles = blocks * (k / pattern.depth);
  Traffic traffic;
  std::set<std::pair<Memory, std::int64_t>> sectors;
  bool has_shared = false;
  for (Access const& access : pattern.accesses) {
    bool const is_shared =
        access.memory == Memory::shared_load || access.memory == Memory::shared_store;
    std::int64_t const bytes = access.elements * element_bytes;
    Requests of_tile;
    for_requests(access, pattern.threads, access.memory == Memory::a ? k : n, element_bytes,
                 [&](std::vector<std::int64_t> const& offsets) {
                   ++of_tile.requests;
                   if (is_shared) {
                     Wavefronts const wavefronts = wavefronts_of(offsets, bytes);
                     of_tile.parts += wavefronts.needed;
                     of_tile.least += wavefronts.least;
                     return;
                   }
                   of_tile.parts += sectors_of(offsets, bytes);
                   if (access.memory == Memory::c) return;
                   for (std::int64_t const offset : offsets) {
                     sectors.emplace(access.memory, offset / kSectorBytes);
                   }
                 });
    std::int64_t const times = access.each == For::tile ? tiles : blocks;
    switch (access.memory) {
      case Memory::a:
      case Memory::b: add(traffic.global_loads, of_tile, times); break;
      case Memory::c: add(traffic.global_stores, of_tile, blocks); break;
      case Memory::shared_load: add(traffic.shared_loads, of_tile, times); break;
      case Memory::shared_store: add(traffic.shared_stores, of_tile, times); break;
    }
    has_shared |= is_shared;
  }
  if (has_shared) {
    traffic.l2_bytes =
        static_cast<double>(kSectorBytes * (tiles * static_cast<std::int64_t>(sectors.size()) +
                                            traffic.global_stores.parts));
  }
  return traffic;
}

}  // namespace quadrille::kernels::gemm
