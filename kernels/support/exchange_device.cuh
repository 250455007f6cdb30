// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the kernels of exchanges share: accesses to pieces of any alignment, and words that peers set.

#include "common/ptx/atomics.cuh"
#include "common/simt.cuh"
#include "support/exchange.hpp"

#ifdef QUAD_KERNELS

namespace quadrille::kernels::exchange {

/// Messages are copied as they are.
struct Keep {
  static constexpr bool kCombines = false;
};

/// Messages are combined as elements of a type.
template <class T, Combine kOp>
struct Fold {
  static constexpr bool kCombines = true;

  template <class Group>
  __device__ static Group of(Group a, Group b) {
    struct Elements {
      T x[sizeof(Group) / sizeof(T)];
    };
    auto const y = __builtin_bit_cast(Elements, b);
    auto result = __builtin_bit_cast(Elements, a);
#pragma unroll
    for (unsigned j = 0; j < sizeof(Group) / sizeof(T); ++j) {
      result.x[j] = combine_element<kOp>(result.x[j], y.x[j]);
    }
    return __builtin_bit_cast(Group, result);
  }
};

/// Group i of what `data` holds; zeros behind its end.
template <class Group>
__device__ Group load_group(void const* data, std::size_t bytes, std::size_t i) {
  constexpr std::size_t kBytes = sizeof(Group);
  auto const* const first = static_cast<unsigned char const*>(data) + i * kBytes;
  bool const is_whole = (i + 1) * kBytes <= bytes;
  if (is_whole && reinterpret_cast<std::uintptr_t>(first) % kBytes == 0) {
    return *reinterpret_cast<Group const*>(first);
  }
  unsigned words[kBytes / 4] = {};
  if (is_whole && reinterpret_cast<std::uintptr_t>(first) % 4 == 0) {
#pragma unroll
    for (unsigned w = 0; w < kBytes / 4; ++w)
      words[w] = reinterpret_cast<unsigned const*>(first)[w];
  } else {
#pragma unroll
    for (unsigned b = 0; b < kBytes; ++b) {
      if (i * kBytes + b < bytes) words[b / 4] |= unsigned{first[b]} << 8 * (b % 4);
    }
  }
  Group group;
  memcpy(&group, words, kBytes);
  return group;
}

/// The opposite; what is behind the end is dropped.
template <class Group>
__device__ void store_group(void* data, std::size_t bytes, std::size_t i, Group const& group) {
  constexpr std::size_t kBytes = sizeof(Group);
  auto* const first = static_cast<unsigned char*>(data) + i * kBytes;
  bool const is_whole = (i + 1) * kBytes <= bytes;
  if (is_whole && reinterpret_cast<std::uintptr_t>(first) % kBytes == 0) {
    *reinterpret_cast<Group*>(first) = group;
    return;
  }
  unsigned words[kBytes / 4];
  memcpy(words, &group, kBytes);
  if (is_whole && reinterpret_cast<std::uintptr_t>(first) % 4 == 0) {
#pragma unroll
    for (unsigned w = 0; w < kBytes / 4; ++w) reinterpret_cast<unsigned*>(first)[w] = words[w];
  } else {
#pragma unroll
    for (unsigned b = 0; b < kBytes; ++b) {
      if (i * kBytes + b < bytes) {
        first[b] = static_cast<unsigned char>(words[b / 4] >> 8 * (b % 4));
      }
    }
  }
}

/// Numbers wrap around.
__device__ inline void wait_until_reached(std::uint32_t const* word, std::uint32_t number) {
  while (static_cast<std::int32_t>(ptx::load_acquire_sys(word) - number) < 0) {
  }
}

/// The rank at a distance, so that not all write to the same one first.
__device__ inline int peer_at(Problem const& p, int distance) {
  int const r = p.rank + distance;
  return r < p.ranks ? r : r - p.ranks;
}

}  // namespace quadrille::kernels::exchange

#endif
