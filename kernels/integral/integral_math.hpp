// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "integral/integral.hpp"

#include <cmath>
#include <cstdint>
#include <type_traits>

/// The integrands for host and device: additions, multiplications, divisions and explicit fma in a
/// fixed order and nothing else, so that the bits are the same wherever this is compiled without
/// contraction. No branches, so that loops over it vectorise. Static for the reason given in
/// virtual_blocks.hpp.
namespace quadrille::kernels::integral {

/// c0 + c1 z + ... by Horner's rule. Written out by the template: a loop over coefficients inside
/// the loop over lanes would keep that one from being vectorised.
template <class T>
QUAD_HD static inline T polynomial(T /*z*/, T c0) {
  return c0;
}
template <class T, class... Rest>
QUAD_HD static inline T polynomial(T z, T c0, Rest... rest) {
  return std::fma(polynomial(z, rest...), z, c0);
}

/// y - k pi with the whole k that leaves at most pi / 2. |y| below 2^50; two parts of pi keep the
/// error at half an ulp of the result.
QUAD_HD static inline double reduce_half_turn(double y) {
  constexpr double kInversePi = 0x1.45f306dc9c883p-2;
  constexpr double kPiHigh = 0x1.921fb54442d18p+1;
  constexpr double kPiLow = 0x1.1a62633145c07p-53;
  constexpr double kRound = 0x1.8p+52;  // adding it leaves no room for a fraction
  double const k = std::fma(y, kInversePi, kRound) - kRound;
  return std::fma(-k, kPiLow, std::fma(-k, kPiHigh, y));
}

/// sin^2(y): period pi, so that no quadrant needs telling apart. The argument is reduced in f64;
/// the polynomial in r^2, |r| <= pi / 2, interpolates sin^2(r) / r^2 at Chebyshev nodes: error
/// 3e-19 (f64), 2.3e-10 (f32), beside rounding.
template <class T>
QUAD_HD static inline T sin2(double y) {
  auto const r = static_cast<T>(reduce_half_turn(y));
  T const z = r * r;
  if constexpr (std::is_same_v<T, double>) {
    return z * polynomial(z, 1.0, -0.3333333333333333, 0.04444444444444425, -0.0031746031746019434,
                          0.00014109347442281151, -4.275559823546779e-06, 9.39683389953625e-08,
                          -1.5661323426708646e-09, 2.0469089719114014e-11, -2.144894253051327e-13,
                          1.6907591569171433e-15);
  } else {
    return z * polynomial(z, 1.0F, -0.3333333432674408F, 0.04444441944360733F,
                          -0.0031745433807373047F, 0.00014102373097557575F,
                          -4.2336478145443834e-06F, 8.133117290753944e-08F);
  }
}

/// exp(y) for y <= 0: 2^k times a polynomial of degree 11 (f64; error 3e-18) or 6 (f32; 2e-9) on
/// |r| <= log(2) / 2. Below the last normal number it stays there: an absolute error of nothing.
QUAD_HD static inline double exp_negative(double y) {
  constexpr double kLog2e = 0x1.71547652b82fep+0;
  constexpr double kLn2High = 0x1.62e42fefa39efp-1;
  constexpr double kLn2Low = 0x1.abc9e3b39803fp-56;
  constexpr double kRound = 0x1.8p+52;
  y = y < -708.0 ? -708.0 : y;
  double const shifted = std::fma(y, kLog2e, kRound);  // k in the low bits
  double const k = shifted - kRound;
  double const r = std::fma(-k, kLn2Low, std::fma(-k, kLn2High, y));
  auto const scale = __builtin_bit_cast(
      double, (__builtin_bit_cast(std::uint64_t, shifted) << 52) + 0x3ff0000000000000ULL);
  return scale * polynomial(r, 1.0, 1.0, 0.5000000000000019, 0.1666666666666668,
                            0.04166666666648809, 0.008333333333319601, 0.0013888888952314812,
                            0.00019841269890047143, 2.480148548228773e-05, 2.7557240918547625e-06,
                            2.763263965412376e-07, 2.511003761756205e-08);
}

QUAD_HD static inline float exp_negative(float y) {
  constexpr float kLog2e = 0x1.715476p+0F;
  constexpr float kLn2High = 0x1.62e4p-1F;  // 15 bits: k times it is exact
  constexpr float kLn2Low = 0x1.7f7d1cp-20F;
  constexpr float kRound = 0x1.8p+23F;
  y = y < -87.0F ? -87.0F : y;
  float const shifted = std::fma(y, kLog2e, kRound);
  float const k = shifted - kRound;
  float const r = std::fma(-k, kLn2Low, std::fma(-k, kLn2High, y));
  auto const scale =
      __builtin_bit_cast(float, (__builtin_bit_cast(std::uint32_t, shifted) << 23) + 0x3f800000U);
  return scale * polynomial(r, 1.0F, 1.0F, 0.5F, 0.16666415333747864F, 0.04166635125875473F,
                            0.008375126868486404F, 0.0013941108481958508F);
}

/// The integrand at x, evaluated in T.
template <Integrand f, class T>
QUAD_HD static inline double value_at(double x, double a, double b) {
  auto const t = static_cast<T>(x);
  if constexpr (f == Integrand::sin2cos2) {
    return static_cast<double>(sin2<T>(a * x) * (T{1} - sin2<T>(b * x)));
  } else if constexpr (f == Integrand::arctan) {
    return static_cast<double>(T{4} / std::fma(t, t, T{1}));
  } else if constexpr (f == Integrand::gauss) {
    return static_cast<double>(exp_negative(-t * t));
  } else {
    return static_cast<double>(T{1} / std::fma(T{25} * t, t, T{1}));
  }
}

/// What the cells are.
struct Mesh {
  double lower, h, a, b;
  double last;   ///< the number of cells
  double scale;  ///< of the sum of cell_value()
};

inline Mesh mesh_of(Problem const& p) {
  double const h = (p.upper - p.lower) / static_cast<double>(p.cells);
  double const weight = p.rule == Rule::midpoint ? 1 : p.rule == Rule::simpson ? 6 : 18;
  return {p.lower, h, p.a, p.b, static_cast<double>(p.cells), p.amplitude * (h / weight)};
}

/// Weighted sum of the evaluations of one cell. `cell` is a whole number, so that x does not depend
/// on how it was counted.
template <Integrand f, Rule rule, class T>
QUAD_HD static inline double cell_value(Mesh const& m, double cell) {
  auto const at = [&m](double position) {
    return value_at<f, T>(std::fma(position, m.h, m.lower), m.a, m.b);
  };
  if constexpr (rule == Rule::midpoint) {
    return at(cell + 0.5);
  } else if constexpr (rule == Rule::simpson) {
    return std::fma(4.0, at(cell + 0.5), 2.0 * at(cell));
  } else {
    constexpr double kNode = 0.3872983346207417;  // sqrt(3/5) / 2
    double const sides = at(cell + (0.5 - kNode)) + at(cell + (0.5 + kNode));
    return std::fma(5.0, sides, 8.0 * at(cell + 0.5));
  }
}

/// What the ends of the interval add for Simpson's rule.
template <Integrand f, Rule rule, class T>
QUAD_HD static inline double end_value(Mesh const& m, bool has_first, bool has_last) {
  if constexpr (rule != Rule::simpson) return 0;
  double sum = 0;
  if (has_first) sum = sum - value_at<f, T>(m.lower, m.a, m.b);
  if (has_last) sum = sum + value_at<f, T>(std::fma(m.last, m.h, m.lower), m.a, m.b);
  return sum;
}

/// Integral over cells [begin, end) in lanes, on the host.
template <Integrand f, Rule rule, class T>
static inline double integrate_cells(Mesh const& m, std::int64_t begin, std::int64_t end) {
  auto const add = [](double x, double y) { return x + y; };
  double lane[kLanes] = {};
  std::int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    auto const row = static_cast<double>(i);
    for (int l = 0; l < static_cast<int>(kLanes); ++l) {
      lane[l] += cell_value<f, rule, T>(m, row + static_cast<double>(l));
    }
  }
  for (std::int64_t l = 0; i + l < end; ++l) {
    lane[l] += cell_value<f, rule, T>(m, static_cast<double>(i + l));
  }
  double const sum = fold_halves(lane, end - begin, kLanes, add);
  bool const has_first = begin == 0 && end > begin;
  bool const has_last = static_cast<double>(end) == m.last && end > begin;
  return m.scale * (sum + end_value<f, rule, T>(m, has_first, has_last));
}

/// Calls g.operator()<integrand, rule, T>() for the problem.
template <class G>
static void visit(Problem const& p, G const& g) {
  auto const with_type = [&]<Integrand f, Rule rule>() {
    if (p.type == core::DataType::f64) return g.template operator()<f, rule, double>();
    return g.template operator()<f, rule, float>();
  };
  auto const with_rule = [&]<Integrand f>() {
    switch (p.rule) {
      case Rule::midpoint: return with_type.template operator()<f, Rule::midpoint>();
      case Rule::simpson: return with_type.template operator()<f, Rule::simpson>();
      case Rule::gauss_legendre: return with_type.template operator()<f, Rule::gauss_legendre>();
    }
  };
  switch (p.integrand) {
    case Integrand::sin2cos2: return with_rule.template operator()<Integrand::sin2cos2>();
    case Integrand::arctan: return with_rule.template operator()<Integrand::arctan>();
    case Integrand::gauss: return with_rule.template operator()<Integrand::gauss>();
    case Integrand::runge: return with_rule.template operator()<Integrand::runge>();
  }
}

}  // namespace quadrille::kernels::integral
