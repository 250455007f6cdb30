// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>

#ifdef __CUDACC__
#define QUAD_HD __host__ __device__
#else
#define QUAD_HD
#endif

namespace quadrille::core {

/// A binary floating-point format as storage, with infinities and NaN as in IEEE 754: values are
/// computed in double and rounded once, to nearest, ties to even, when they are stored. The same
/// bits on host and device. Without infinities the largest exponent is one of numbers, too, and its
/// largest mantissa NaN, which is what is too large as well.
template <class Bits, int kExponentBits, int kMantissaBits, bool kHasInfinity = true>
struct SmallFloat {
  Bits bits = 0;

  SmallFloat() = default;
  QUAD_HD constexpr explicit SmallFloat(double value) : bits{rounded(value)} {}
  QUAD_HD constexpr explicit operator double() const {
    std::uint64_t const sign = static_cast<std::uint64_t>(bits >> (kExponentBits + kMantissaBits));
    std::uint64_t const exponent = bits >> kMantissaBits & kExponentMask;
    std::uint64_t const mantissa = bits & kMantissaMask;
    if (exponent == 0) {  // 0 and subnormal numbers
      // The least subnormal number is a power of two that double holds exactly.
      double const least = from_bits(std::uint64_t{1023 + 1 - kBias - kMantissaBits} << 52);
      double const magnitude = static_cast<double>(mantissa) * least;
      return sign != 0 ? -magnitude : magnitude;
    }
    bool const is_number = kHasInfinity ? exponent != kExponentMask : (bits & kTop) != kTop;
    std::uint64_t const wide = is_number ? exponent + (1023 - kBias) : 0x7ff;
    return from_bits(sign << 63 | wide << 52 | mantissa << (52 - kMantissaBits));
  }
  /// The same from and to f32, which some widths of vectors of a host do at once: no branches.
  QUAD_HD constexpr explicit SmallFloat(std::same_as<float> auto value) : bits{rounded(value)} {}
  QUAD_HD constexpr explicit operator float() const {
    std::uint32_t const sign = static_cast<std::uint32_t>(bits) >> (kExponentBits + kMantissaBits);
    std::uint32_t const magnitude = bits & ((1U << (kExponentBits + kMantissaBits)) - 1);
    std::uint32_t const moved = magnitude << kDropped;
    // The exponent of 2^(127 - bias) times less, which the product makes right, below the normal
    // numbers, too. Infinities and NaN keep theirs.
    float const scale = __builtin_bit_cast(float, static_cast<std::uint32_t>(254 - kBias) << 23);
    float const product = __builtin_bit_cast(float, moved) * scale;
    bool const is_finite =
        kHasInfinity ? magnitude >> kMantissaBits != kExponentMask : magnitude != kTop;
    std::uint32_t const wide =
        is_finite ? __builtin_bit_cast(std::uint32_t, product) : moved | 0x7f800000U;
    return __builtin_bit_cast(float, sign << 31 | wide);
  }
  /// Of values: NaN differs from itself, and -0 does not from 0.
  QUAD_HD friend constexpr bool operator==(SmallFloat a, SmallFloat b) {
    return static_cast<double>(a) == static_cast<double>(b);
  }

 private:
  static constexpr std::uint64_t kBias = (std::uint64_t{1} << (kExponentBits - 1)) - 1;
  static constexpr std::uint64_t kExponentMask = (std::uint64_t{1} << kExponentBits) - 1;
  static constexpr std::uint64_t kMantissaMask = (std::uint64_t{1} << kMantissaBits) - 1;
  // All bits but the sign, NaN where there is no infinity.
  static constexpr std::uint64_t kTop = kExponentMask << kMantissaBits | kMantissaMask;
  static constexpr int kDropped = 23 - kMantissaBits;  // bits of the mantissa of f32

  QUAD_HD static constexpr double from_bits(std::uint64_t x) {
    return __builtin_bit_cast(double, x);
  }

  QUAD_HD static constexpr Bits rounded(float value) {
    auto const wide = __builtin_bit_cast(std::uint32_t, value);
    std::uint32_t const sign = wide >> 31 << (kExponentBits + kMantissaBits);
    std::uint32_t const magnitude = wide & 0x7fffffffU;
    constexpr auto kLess = static_cast<std::uint32_t>(127 - kBias);
    std::uint32_t const half_below = (1U << (kDropped - 1)) - 1 + (magnitude >> kDropped & 1);
    std::uint32_t const normal = (magnitude + half_below - (kLess << 23)) >> kDropped;
    // Below the normal numbers: the sum with this power of two is rounded at the least number, and
    // its mantissa counts in least numbers.
    constexpr std::uint32_t kPower = (kLess + kDropped + 1) << 23;
    float const sum = __builtin_bit_cast(float, magnitude) + __builtin_bit_cast(float, kPower);
    std::uint32_t const small = __builtin_bit_cast(std::uint32_t, sum) - kPower;
    [[maybe_unused]] constexpr auto kInfinity =
        static_cast<std::uint32_t>(kExponentMask << kMantissaBits);
    [[maybe_unused]] constexpr auto kBeyond = static_cast<std::uint32_t>(kExponentMask + kLess)
                                              << 23;
    std::uint32_t kept = magnitude < (kLess + 1) << 23 ? small : normal;
    if constexpr (kHasInfinity) {
      kept = magnitude >= kBeyond ? kInfinity : kept;
      kept = magnitude > 0x7f800000U ? kInfinity | 1U << (kMantissaBits - 1) : kept;
    } else {
      kept = kept < kTop ? kept : static_cast<std::uint32_t>(kTop);
    }
    return static_cast<Bits>(sign | kept);
  }
  QUAD_HD static constexpr Bits rounded(double value) {
    auto const wide = __builtin_bit_cast(std::uint64_t, value);
    std::uint64_t const sign = wide >> 63 << (kExponentBits + kMantissaBits);
    [[maybe_unused]] std::uint64_t const infinity = kExponentMask << kMantissaBits;
    auto const exponent = static_cast<int>(wide >> 52 & 0x7ff) - 1023 + static_cast<int>(kBias);
    std::uint64_t const mantissa = wide & ((std::uint64_t{1} << 52) - 1);
    if constexpr (kHasInfinity) {
      if (value != value) return static_cast<Bits>(sign | infinity | 1U << (kMantissaBits - 1));
      if (exponent >= static_cast<int>(kExponentMask)) return static_cast<Bits>(sign | infinity);
    } else {
      if (!(exponent <= static_cast<int>(kExponentMask))) return static_cast<Bits>(sign | kTop);
    }
    // Below the normal numbers the mantissa moves to the right with its leading one.
    int const shift = 52 - kMantissaBits + (exponent > 0 ? 0 : 1 - exponent);
    if (shift > 53) return static_cast<Bits>(sign);
    std::uint64_t const whole = mantissa | std::uint64_t{1} << 52;
    std::uint64_t kept = whole >> shift;
    std::uint64_t const rest = whole & ((std::uint64_t{1} << shift) - 1);
    std::uint64_t const half = std::uint64_t{1} << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0;
    // A carry out of the mantissa is the next exponent, and from the largest one infinity.
    std::uint64_t const below = exponent > 0 ? static_cast<std::uint64_t>(exponent - 1) : 0;
    std::uint64_t const whole_bits = (below << kMantissaBits) + kept;
    return static_cast<Bits>(sign | (kHasInfinity || whole_bits < kTop ? whole_bits : kTop));
  }
};

}  // namespace quadrille::core
