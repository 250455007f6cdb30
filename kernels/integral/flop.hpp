// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "integral/integral.hpp"

namespace quadrille::kernels::integral {

/// Operations of an evaluation, a fused multiply-add counted as two: the fewest that a variant here
/// needs, of reproducible problems, whose bits prescribe them, those of integral_math.hpp. 0 where
/// multiply-adds tell no limit: divisions, and the exponential of f32, for which devices have other
/// units.
constexpr double flop_of_evaluation(Problem const& p) {
  bool const is_f64 = p.type == core::DataType::f64;
  if (p.integrand == Integrand::sin2cos2) {
    // Angle addition: two multiply-adds a factor, one for product and sum. sin2() twice: its argument,
    // 7 to reduce it, a square, Horner's rule with 10 multiply-adds or 6, a product.
    return p.reproducible ? 2 * (1 + 7 + 1 + (is_f64 ? 20 : 12) + 1) + 2 : 10;
  }
  if (p.integrand == Integrand::gauss && (is_f64 || p.reproducible)) {
    // A square, 7 to reduce it, Horner's rule with 11 multiply-adds or 6, a scale.
    return 1 + 7 + (is_f64 ? 22 : 12) + 1;
  }
  return 0;
}

}  // namespace quadrille::kernels::integral
