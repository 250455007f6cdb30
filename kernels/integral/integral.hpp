// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"

#include <span>
#include <string_view>

namespace quadrille::kernels::integral {

/// sin^2(a x) cos^2(b x); 4/(1 + x^2); exp(-x^2); 1/(1 + 25 x^2).
enum class Integrand { sin2cos2, arctan, gauss, runge };
enum class Rule { midpoint, simpson, gauss_legendre };  ///< Gauss-Legendre with 3 points a cell

/// Cells are split over ranks by the same virtual blocks as in reductions.
inline constexpr std::int64_t kVirtualBlocks = 4096;
constexpr std::int64_t block_begin(std::int64_t cells, std::int64_t v) {
  return v * (cells / kVirtualBlocks) + v * (cells % kVirtualBlocks) / kVirtualBlocks;
}

/// amplitude times the integral over [lower, upper] by `cells` equal cells, of which this rank has
/// [first, first + count).
struct Problem {
  Integrand integrand = Integrand::sin2cos2;
  Rule rule = Rule::midpoint;
  core::DataType type = core::DataType::f64;  ///< of the evaluation; sums are f64
  double a = 2, b = 1;                        ///< sin2cos2 only
  double amplitude = 1;
  double lower = 0, upper = 1;
  std::int64_t cells = 0;  ///< global
  std::int64_t first = 0;
  std::int64_t count = 0;
  double* result = nullptr;  ///< device memory: one value

  /// Reproducible: one value per virtual block [block_first, block_first + block_count), integrand
  /// by the project's own polynomials with explicit fma, lanes as in reductions.
  bool reproducible = false;
  std::int64_t block_first = 0;
  std::int64_t block_count = 0;
  double* blocks = nullptr;
};

/// Evaluations of the integrand for that many cells.
constexpr double evaluations(Rule rule, double cells) {
  return cells * (rule == Rule::midpoint ? 1 : rule == Rule::simpson ? 2 : 3);
}

/// The closed form, for any a and b and limits.
double exact(Problem const& problem);
/// Discretisation error of the rule plus rounding of the type; what a check may allow.
double error_bound(Problem const& problem);
/// Default interval of each integrand: [0, 40000 pi], [0, 1], [0, 1], [-1, 1].
void set_default_interval(Problem& problem);

std::span<Variant<Problem> const> variants();

std::string_view to_text(Integrand integrand);
std::string_view to_text(Rule rule);

}  // namespace quadrille::kernels::integral
