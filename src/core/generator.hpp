// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.hpp"

#include <cstdint>

namespace quadrille::core {

/// What input arrays contain. Random values have all the bits of f64, or of f32 for the types below
/// it, which round once.
enum class DataKind {
  uniform,   ///< in [-1, 1)
  normal,    ///< sum of four uniform values scaled to unit variance; same bits on every device
  positive,  ///< in [0, 1): sums grow with every term
  scaled,    ///< uniform times 2^-8 to 2^7: a few terms decide a sum
  integer,   ///< integers in [-4, 4]: partial sums stay exact
  constant,  ///< 1 everywhere
  zeros,
  bits,      ///< of integers, each bit 0 or 1: for what is moved alone
  inverted,  ///< the complement of `bits`
};
constexpr auto enum_names(DataKind) {
  return EnumNames<DataKind, 9>{{{DataKind::uniform, "uniform"},
                                 {DataKind::normal, "normal"},
                                 {DataKind::positive, "positive"},
                                 {DataKind::scaled, "scaled"},
                                 {DataKind::integer, "integer"},
                                 {DataKind::constant, "constant"},
                                 {DataKind::zeros, "zeros"},
                                 {DataKind::bits, "bits"},
                                 {DataKind::inverted, "inverted"}}};
}
/// Whether every word has bits of its own, over the whole range of its type.
constexpr bool is_any_bits(DataKind kind) {
  return kind == DataKind::bits || kind == DataKind::inverted;
}
/// Whether a type holds every value of a kind exactly, and sums of them as long as they fit.
constexpr bool is_whole(DataKind kind) {
  return kind == DataKind::integer || kind == DataKind::constant || kind == DataKind::zeros;
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

/// A random value with so many bits behind the sign, which a double holds exactly but for the one
/// rounding of `normal`; not for kinds of whole numbers.
QUAD_HD constexpr double real_from_hash(DataKind kind, std::uint64_t hash, int bits) {
  double const unit = static_cast<double>(std::int64_t{1} << bits);
  std::int64_t const centred =
      static_cast<std::int64_t>(hash >> (63 - bits)) - (std::int64_t{1} << bits);
  switch (kind) {
    case DataKind::uniform: return static_cast<double>(centred) / unit;
    case DataKind::positive: return static_cast<double>(hash >> (64 - bits)) / unit;
    case DataKind::scaled:  // by bits that `centred` leaves
      return static_cast<double>(centred) / unit * (static_cast<double>(1 << (hash & 15)) / 256);
    default: break;
  }
  // Four uniform values of 16 bits have a sum of 17 and a sign; another hash fills the rest.
  auto const sum = static_cast<std::int64_t>((hash & 0xffff) + ((hash >> 16) & 0xffff) +
                                             ((hash >> 32) & 0xffff) + (hash >> 48));
  int const rest = bits - 17;
  auto const fill = static_cast<std::int64_t>(mix(hash + 0x9e3779b97f4a7c15ULL) >> (64 - rest));
  // Variance of the sum of four uniforms on [0, 65536) is 4 * 65536^2 / 12.
  double const scale = 1.7320508075688772 / 65536.0 / static_cast<double>(std::int64_t{1} << rest);
  return static_cast<double>((sum - 2 * 65535) * (std::int64_t{1} << rest) + fill) * scale;
}

/// Turns a hash into a value of the given kind as it is stored. Integer types take the `integer`
/// values for every kind of real numbers, but for i8, whose products use its range: any value.
template <class T>
QUAD_HD constexpr T value_from_hash(DataKind kind, std::uint64_t hash) {
  if (kind == DataKind::zeros) return static_cast<T>(0.0);
  if (kind == DataKind::constant) return static_cast<T>(1.0);
  if constexpr (std::is_integral_v<T>) {
    if (kind == DataKind::bits) return static_cast<T>(hash);
    if (kind == DataKind::inverted) return static_cast<T>(~hash);
  }
  if constexpr (std::is_same_v<T, std::int8_t>) {
    if (kind != DataKind::integer) return static_cast<T>(hash >> 56);
  }
  if (std::is_integral_v<T> || kind == DataKind::integer) {
    return static_cast<T>(static_cast<double>(static_cast<std::int64_t>((hash >> 32) % 9) - 4));
  }
  constexpr int kBits = std::is_same_v<T, double> ? 53 : 24;
  return static_cast<T>(real_from_hash(kind, hash, kBits));
}

/// Element (i, j) of array `tag`: a pure function of (kind, seed, tag, global i, global j).
template <class T>
QUAD_HD constexpr T generate(DataKind kind, std::uint64_t seed, std::uint64_t tag, std::int64_t i,
                             std::int64_t j) {
  return value_from_hash<T>(kind, element_hash(row_key(seed, tag, i), j));
}

}  // namespace quadrille::core
