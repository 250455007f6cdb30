// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

/// The arithmetic of products of f64 or f32 that are made of products of eight bits (Ozaki scheme II,
/// arXiv 2504.08009): rows of A and columns of B become whole numbers, their product is known by its
/// residues for moduli of eight bits, and the Chinese remainder theorem puts it together.
///
///   A'(i, l) = nearest(2^s(i) A(i, l))          |A'(i)| <= 2^budget, and B' with t(j) likewise
///   C'(i, j) = sum over l of A'(i, l) B'(l, j)   by Cauchy and Schwarz below half of the moduli's product
///   C(i, j)  = 2^-(s(i) + t(j)) C'(i, j)
///
/// All that rounds is the first line. An element of C is off by sums of 2 k errors of 2^-s / 2 times a
/// factor, independent of each other: emulated_epsilon() |a| |b| holds more than five deviations of them.
namespace quadrille::kernels::gemm {

/// Pairwise coprime.
inline constexpr int kModuli[] = {256, 255, 253, 251, 247, 241, 239, 233,
                                  229, 227, 223, 217, 211, 199, 197};
inline constexpr int kMaxModuli = 15;
/// Sums of products of residues, up to 2^14 each, stay below 2^30.
inline constexpr std::int64_t kMaxEmulatedK = std::int64_t{1} << 16;
static_assert([] {
  for (int i = 0; i < kMaxModuli; ++i) {
    for (int j = 0; j < i; ++j) {
      if (std::gcd(kModuli[i], kModuli[j]) != 1) return false;
    }
  }
  return true;
}());

/// A whole number below 2^120 in limbs of 40 bits, so that sums of moduli's residues times limbs are exact
/// in f64.
struct Limbs {
  double high = 0, middle = 0, low = 0;
};

/// A modulus and what residues for it are computed with.
struct Modulus {
  std::uint32_t value;
  std::uint32_t reciprocal;      ///< 2^32 / value, rounded up
  std::int32_t wide_reciprocal;  ///< 2^38 / value, rounded up
  std::uint32_t low_weights,
      high_weights;      ///< 256^0 to 256^3 and 256^4 to 256^7, modulo value, in bytes
  std::uint32_t offset;  ///< that makes residues of shifted numbers those of numbers, and adds 128
  Limbs share;           ///< is 1 modulo value and 0 modulo the others
};

/// The moduli of a product.
struct Moduli {
  int count = 0;
  int budget = 0;          ///< whole bits that the norm of a row has; one more where
  double one_more_to = 0;  ///< its mantissa, at least 1/2, is at most this
  Limbs product;
  Limbs inverse;  ///< 2^80, 2^40 and 1 over the product
  Modulus moduli[kMaxModuli];
};

namespace detail {

__extension__ using Wide = unsigned __int128;

inline Limbs limbs_of(Wide x) {
  constexpr Wide kMask = (Wide{1} << 40) - 1;
  return {static_cast<double>(x >> 80), static_cast<double>(x >> 40 & kMask),
          static_cast<double>(x & kMask)};
}
inline double log2_of_product(int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += std::log2(kModuli[i]);
  return sum;
}

}  // namespace detail

/// Half of the bits of the moduli's product, less what rounding to whole numbers may add.
inline double budget_of(int count) { return (detail::log2_of_product(count) - 1) / 2 - 0.06; }

/// What takes the place of eps in ErrorBound.
inline double emulated_epsilon(int count) { return 3 * std::exp2(-budget_of(count)); }

inline Moduli make_moduli(int count) {
  using detail::Wide;
  Moduli made;
  made.count = count;
  double const budget = budget_of(count);
  made.budget = static_cast<int>(std::floor(budget));
  made.one_more_to = std::exp2(budget - made.budget - 1);
  Wide product = 1;
  for (int i = 0; i < count; ++i) product *= static_cast<Wide>(kModuli[i]);
  made.product = detail::limbs_of(product);
  auto const wide = static_cast<double>(product);
  made.inverse = {0x1p80 / wide, 0x1p40 / wide, 1 / wide};
  for (int i = 0; i < count; ++i) {
    Modulus& m = made.moduli[i];
    auto const value = static_cast<std::uint64_t>(kModuli[i]);
    auto const up = [&](int bits) { return ((std::uint64_t{1} << bits) + value - 1) / value; };
    m.value = static_cast<std::uint32_t>(value);
    m.reciprocal = static_cast<std::uint32_t>(up(32));
    m.wide_reciprocal = static_cast<std::int32_t>(up(38));
    std::uint64_t power = 1;
    m.low_weights = m.high_weights = 0;
    for (unsigned byte = 0; byte < 8; ++byte) {
      (byte < 4 ? m.low_weights : m.high_weights) |= static_cast<std::uint32_t>(power)
                                                     << (8 * (byte % 4));
      power = power * 256 % value;
    }
    m.offset = static_cast<std::uint32_t>((128 + value - (std::uint64_t{1} << 62) % value) % value);
    Wide const others = product / value;
    auto const rest = static_cast<std::uint64_t>(others % value);
    std::uint64_t inverse = 1;
    while (rest * inverse % value != 1 % value) ++inverse;
    m.share = detail::limbs_of(others * inverse);
  }
  return made;
}

/// Of 0 to kMaxModuli.
inline Moduli const& moduli_of(int count) {
  static auto const all = [] {
    std::array<Moduli, kMaxModuli + 1> made;
    for (int i = 0; i <= kMaxModuli; ++i) made[static_cast<std::size_t>(i)] = make_moduli(i);
    return made;
  }();
  return all[static_cast<std::size_t>(count)];
}

/// The exponent s of a row, by the sum of squares of its elements. Big and small are those of elements
/// beyond 2^500 times 2^-600 and below 2^-500 times 2^600, which would leave what f64 holds. kNotFinite of
/// a row with infinities or NaN.
inline constexpr int kNotFinite = -100000;
struct Squares {
  double big = 0, middle = 0, small = 0;

  QUAD_HD void add(double x) {
    double const size = std::fabs(x);
    if (size >= 0x1p500) {
      big += x * 0x1p-600 * (x * 0x1p-600);
    } else if (size < 0x1p-500) {
      small += x * 0x1p600 * (x * 0x1p600);
    } else {
      middle += x * x;
    }
  }
};
QUAD_HD inline int exponent_of(Squares const& squares, Moduli const& moduli) {
  auto const [big, middle, small] = squares;
  int shift = 0;
  double sum = middle + small * 0x1p-600 * 0x1p-600;
  if (big > 0) {
    sum = big + middle * 0x1p-600 * 0x1p-600;
    shift = 600;
  } else if (middle == 0) {
    sum = small;
    shift = -600;
  }
  if (!(sum <= 0x1.fffffffffffffp1023)) return kNotFinite;
  if (sum == 0) return 0;
  int exponent = 0;
  double const mantissa = std::frexp(std::sqrt(sum), &exponent);
  return moduli.budget - exponent - shift + (mantissa <= moduli.one_more_to ? 1 : 0);
}

/// 2^exponent as two factors that f64 holds: of -1960 to 2260, which it does not, those beyond make
/// everything 0 anyway. A number times the first is rounded only where the rest makes it 0.
struct PowerOfTwo {
  double first, rest;

  QUAD_HD explicit PowerOfTwo(int exponent)
      : first{of(clamped(exponent))}, rest{of(clamped(exponent - clamped(exponent)))} {}

 private:
  QUAD_HD static int clamped(int e) { return e < -1000 ? -1000 : e > 1000 ? 1000 : e; }
  QUAD_HD static double of(int e) {
    return __builtin_bit_cast(double, static_cast<std::uint64_t>(e + 1023) << 52);
  }
};

/// A(i, l) as a whole number, plus 2^62, by 2^s(i).
QUAD_HD inline std::uint64_t shifted_whole(double x, PowerOfTwo const& power) {
  return static_cast<std::uint64_t>(
      static_cast<std::int64_t>(std::rint(x * power.first * power.rest)) + (std::int64_t{1} << 62));
}

/// Its residue, less 128: a byte with a sign.
inline std::int8_t residue_of(std::uint64_t shifted, Modulus const& m) {
  std::uint32_t sum = m.offset;
  for (int byte = 0; byte < 8; ++byte) {
    std::uint32_t const weights = byte < 4 ? m.low_weights : m.high_weights;
    sum += static_cast<std::uint32_t>(shifted >> (8 * byte) & 0xFF) *
           (weights >> (8 * (byte % 4)) & 0xFF);
  }
  auto const times = static_cast<std::uint32_t>(std::uint64_t{sum} * m.reciprocal >> 32);
  return static_cast<std::int8_t>(static_cast<int>(sum - times * m.value) - 128);
}
/// A residue, from 0 to 255, of a sum of products of such bytes.
inline std::uint8_t residue_of_sum(std::int32_t sum, Modulus const& m) {
  auto const times = static_cast<std::int32_t>(std::int64_t{sum} * m.wide_reciprocal >> 38);
  return static_cast<std::uint8_t>(sum - times * static_cast<std::int32_t>(m.value));
}

/// An element of C by the residues of C', of which residue(t) is one modulo modulus t, from 0 to 255.
/// There are at most kMaxCount moduli.
template <int kMaxCount = kMaxModuli, class Residue>
QUAD_HD double restored(Moduli const& moduli, int exponents, Residue const& residue) {
  Limbs sum;
  auto const add = [&](int t) {
    if (t >= moduli.count) return;
    double const r = residue(t);
    Limbs const& share = moduli.moduli[t].share;
    sum.high = std::fma(r, share.high, sum.high);
    sum.middle = std::fma(r, share.middle, sum.middle);
    sum.low = std::fma(r, share.low, sum.low);
  };
  // Not a loop: of which a GPU would keep residues in memory.
  [&]<int... kNumbers>(std::integer_sequence<int, kNumbers...>) { (add(kNumbers), ...); }
  (std::make_integer_sequence<int, kMaxCount>{});
  Limbs const& inverse = moduli.inverse;
  double const times = std::rint(std::fma(
      sum.high, inverse.high, std::fma(sum.middle, inverse.middle, sum.low * inverse.low)));
  double const high = std::fma(-times, moduli.product.high, sum.high);
  double const middle = std::fma(-times, moduli.product.middle, sum.middle);
  double const low = std::fma(-times, moduli.product.low, sum.low);
  PowerOfTwo const power{-exponents};
  return std::fma(high, 0x1p80, std::fma(middle, 0x1p40, low)) * power.first * power.rest;
}

}  // namespace quadrille::kernels::gemm
