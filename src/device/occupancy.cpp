// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/occupancy.hpp"

#include "device/block_limits.hpp"

#include <algorithm>

namespace quadrille::device {
namespace {

constexpr int kWarp = 32;
constexpr std::size_t kKi = 1024;

template <class T>
T round_up(T value, T unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

Multiprocessor multiprocessor(int compute_capability) {
  switch (compute_capability) {
    case 70: return {2048, 32, 65536, 256, 4, 96 * kKi, 0, 256};
    case 75: return {1024, 16, 65536, 256, 4, 64 * kKi, 0, 256};
    case 80: return {2048, 32, 65536, 256, 4, 164 * kKi, kKi, 128};
    case 86: return {1536, 16, 65536, 256, 4, 100 * kKi, kKi, 128};
    case 87: return {1536, 16, 65536, 256, 4, 164 * kKi, kKi, 128};
    case 89: return {1536, 24, 65536, 256, 4, 100 * kKi, kKi, 128};
    case 90:
    case 100: return {2048, 32, 65536, 256, 4, 228 * kKi, kKi, 128};
    case 120: return {1536, 24, 65536, 256, 4, 100 * kKi, kKi, 128};
    default: return {};
  }
}

BlockLimits block_limits(Multiprocessor const& offered, BlockNeeds const& needs) {
  BlockLimits limits{.blocks = offered.blocks};
  int const warps = (needs.threads + kWarp - 1) / kWarp;
  if (warps == 0 || needs.threads > 1024) return limits;
  limits.threads = offered.threads / kWarp / warps;

  // Each partition has its own registers, so what is left over in one helps no warp of another.
  limits.registers = offered.blocks;
  if (needs.registers > 0) {
    int const each = round_up(needs.registers * kWarp, offered.register_unit);
    bool const fits = each * round_up(warps, offered.partitions) <= offered.registers;
    limits.registers =
        fits ? offered.registers / offered.partitions / each * offered.partitions / warps : 0;
  }

  std::size_t const shared =
      round_up(needs.shared_bytes + offered.shared_reserved, offered.shared_unit);
  limits.shared_memory =
      shared == 0 ? offered.blocks : static_cast<int>(offered.shared_bytes / shared);
  return limits;
}

int resident_blocks(Multiprocessor const& offered, BlockNeeds const& needs) {
  BlockLimits const limits = block_limits(offered, needs);
  return std::min({limits.threads, limits.registers, limits.shared_memory, limits.blocks});
}

}  // namespace quadrille::device
