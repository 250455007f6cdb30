// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Integral as in the textbook: what every other variant is compared with, beside the closed form.
///
///   s = amplitude * h * sum f(lower + (i + 1/2) h)   (or Simpson, or Gauss-Legendre, a cell)
///
/// Technique    one loop over cells with the library's functions, summed in long double
/// Shapes       cells [first, first + count) of the interval
/// Work         1, 2 or 3 evaluations a cell (midpoint, Simpson, Gauss-Legendre); Simpson carries
///              the right end of a cell over to the next
/// Launch       serial, on the stream's own thread
/// Accuracy     error_bound()
#include "device/device.hpp"
#include "integral/integral.hpp"

#include <cmath>

namespace quadrille::kernels::integral {
namespace {

double evaluate(Problem const& p, double x) {
  switch (p.integrand) {
    case Integrand::sin2cos2: {
      double const product = std::sin(p.a * x) * std::cos(p.b * x);
      return product * product;
    }
    case Integrand::arctan: return 4 / (1 + x * x);
    case Integrand::gauss: return std::exp(-x * x);
    case Integrand::runge: return 1 / (1 + 25 * x * x);
  }
  return 0;
}

double integrate(Problem const& p) {
  double const h = (p.upper - p.lower) / static_cast<double>(p.cells);
  double const offset = std::sqrt(0.6) / 2;
  auto const f = [&](double position) { return evaluate(p, p.lower + position * h); };
  auto left = static_cast<double>(p.first);
  double left_value = p.rule == Rule::simpson && p.count > 0 ? f(left) : 0;
  long double sum = 0;
  for (std::int64_t i = p.first; i < p.first + p.count; ++i) {
    left = static_cast<double>(i);
    double const middle = left + 0.5;
    if (p.rule == Rule::midpoint) {
      sum += f(middle);
    } else if (p.rule == Rule::simpson) {
      double const right_value = f(left + 1);
      sum += (left_value + 4 * f(middle) + right_value) / 6;
      left_value = right_value;
    } else {
      sum += (5 * f(middle - offset) + 8 * f(middle) + 5 * f(middle + offset)) / 18;
    }
  }
  if (p.rule == Rule::simpson && p.count > 0) {
    // The two cells at a node share its value; that of a rank's last cell belongs to the next rank.
    std::int64_t const end = p.first + p.count;
    if (p.first > 0) sum += f(static_cast<double>(p.first)) / 6;
    if (end < p.cells) sum -= left_value / 6;
  }
  return static_cast<double>(static_cast<long double>(p.amplitude) * h * sum);
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.reproducible) return launch_reproducible(problem, stream);
  stream.run([problem] { *problem.result = integrate(problem); });
}

}  // namespace

extern constinit Variant<Problem> const reference{
    {.name = "reference",
     .role = Role::reference,
     .where = Where::host,
     .types = {core::DataType::f64, core::DataType::f32},
     .source = "DCU programming tutorial, integral",
     .summary = "one thread, the library's sin, cos and exp, double precision"},
    launch};

}  // namespace quadrille::kernels::integral
