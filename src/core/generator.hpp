// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.hpp"

#include <cstdint>

namespace quadrille::core {

/// What input arrays contain.
enum class DataKind {
  uniform,   ///< multiples of 2^-24 in [-1, 1), exact in f32 and f64, rounded in 16-bit types
  normal,    ///< sum of four 16-bit uniforms scaled to unit variance; same bits on every device
  integer,   ///< integers in [-4, 4]: partial sums stay exact
  constant,  ///< 1 everywhere
  zeros,
};
constexpr auto enum_names(DataKind) {
  return EnumNames<DataKind, 5>{{{DataKind::uniform, "uniform"},
                                 {DataKind::normal, "normal"},
                                 {DataKind::integer, "integer"},
                                 {DataKind::constant, "constant"},
                                 {DataKind::zeros, "zeros"}}};
}

/// Counter-based hash (finaliser of SplitMix64, applied per word): no state, no order, so any rank
/// can recompute any element on host or device.
QUAD_HD constexpr std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  x ^= x >> 31;
  return x;
}

/// Key of one row of one array: hash this once per row, then element_hash() per element.
QUAD_HD constexpr std::uint64_t row_key(std::uint64_t seed, std::uint64_t tag, std::int64_t i) {
  std::uint64_t const array = mix(seed * 0x9e3779b97f4a7c15ULL + tag + 1);
  return mix(array + static_cast<std::uint64_t>(i) * 0xd1342543de82ef95ULL);
}

QUAD_HD constexpr std::uint64_t element_hash(std::uint64_t key, std::int64_t j) {
  return mix(key + static_cast<std::uint64_t>(j) * 0x9e3779b97f4a7c15ULL);
}

/// Turns a hash into a value of the given kind, as a double that every element type holds exactly
/// or rounds once. Integer types take the `integer` values for every kind but zeros and constant.
QUAD_HD constexpr double value_from_hash(DataKind kind, std::uint64_t hash) {
  switch (kind) {
    case DataKind::uniform:
      return static_cast<double>(static_cast<std::int64_t>(hash >> 39) - (1LL << 24)) /
             static_cast<double>(1LL << 24);
    case DataKind::normal: {
      auto const sum = static_cast<std::int64_t>((hash & 0xffff) + ((hash >> 16) & 0xffff) +
                                                 ((hash >> 32) & 0xffff) + (hash >> 48));
      // Variance of the sum of four uniforms on [0, 65536) is 4 * 65536^2 / 12.
      return static_cast<double>(sum - 2 * 65535) * (1.7320508075688772 / 65536.0);
    }
    case DataKind::integer:
      return static_cast<double>(static_cast<std::int64_t>((hash >> 32) % 9) - 4);
    case DataKind::constant: return 1.0;
    case DataKind::zeros: return 0.0;
  }
  return 0.0;
}

/// Element (i, j) of array `tag`: a pure function of (kind, seed, tag, global i, global j).
template <class T>
QUAD_HD constexpr T generate(DataKind kind, std::uint64_t seed, std::uint64_t tag, std::int64_t i,
                             std::int64_t j) {
  if constexpr (std::is_integral_v<T>) {
    if (kind == DataKind::uniform || kind == DataKind::normal) kind = DataKind::integer;
  }
  return static_cast<T>(value_from_hash(kind, element_hash(row_key(seed, tag, i), j)));
}

}  // namespace quadrille::core
