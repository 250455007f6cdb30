// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "common/access.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace quadrille::kernels {
namespace {

constexpr std::int64_t kBanks = 32, kWordBytes = 4;
constexpr std::size_t kLanes = 32;

}  // namespace

int sectors_of(std::span<std::int64_t const> addresses, std::int64_t access_bytes) {
  std::set<std::int64_t> sectors;
  for (std::int64_t const address : addresses) {
    for (std::int64_t s = address / kSectorBytes; s <= (address + access_bytes - 1) / kSectorBytes;
         ++s) {
      sectors.insert(s);
    }
  }
  return static_cast<int>(sectors.size());
}

Wavefronts wavefronts_of(std::span<std::int64_t const> offsets, std::int64_t access_bytes) {
  auto const words = static_cast<std::size_t>(std::max<std::int64_t>(1, access_bytes / kWordBytes));
  Wavefronts found;
  for (std::size_t first = 0; first < offsets.size(); first += kLanes / words) {
    std::array<std::set<std::int64_t>, kBanks> wanted;
    for (std::int64_t const offset :
         offsets.subspan(first, std::min(kLanes / words, offsets.size() - first))) {
      for (std::size_t w = 0; w < words; ++w) {
        std::int64_t const word = offset / kWordBytes + static_cast<std::int64_t>(w);
        wanted[static_cast<std::size_t>(word % kBanks)].insert(word);
      }
    }
    auto const longest = std::ranges::max_element(wanted, {}, &std::set<std::int64_t>::size);
    found.needed += static_cast<int>(longest->size());
    ++found.least;
  }
  return found;
}

}  // namespace quadrille::kernels
