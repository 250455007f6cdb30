// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Integral by one thread of the host in f32, with two kinds of sums.
///
///   s = amplitude * h * sum f(lower + (i + 1/2) h)
///
/// Technique    two mistakes. Both variants round x to f32 before the sine, which loses its phase where
///              x is large (`reference` keeps it in f64). `host_serial` adds up in f64;
///              `host_serial_f32_sum` in f32, where a term below half of the sum's last bit no longer
///              changes it: of 1e8 equal cells over 40000 pi the sum stops at 16384
/// Shapes       cells [first, first + count) of the interval, by the midpoint rule
/// Work         1 evaluation per cell
/// Launch       serial, on the stream's own thread
/// Accuracy     none
#include "device/device.hpp"
#include "integral/integral.hpp"

#include <cmath>

namespace quadrille::kernels::integral {
namespace {

float evaluate(Problem const& p, float x) {
  switch (p.integrand) {
    case Integrand::sin2cos2: {
      float const product =
          std::sin(static_cast<float>(p.a) * x) * std::cos(static_cast<float>(p.b) * x);
      return product * product;
    }
    case Integrand::arctan: return 4 / (1 + x * x);
    case Integrand::gauss: return std::exp(-x * x);
    case Integrand::runge: return 1 / (1 + 25 * x * x);
  }
  return 0;
}

template <class Sum>
void launch(Problem const& problem, device::StreamView stream) {
  stream.run([p = problem] {
    double const h = (p.upper - p.lower) / static_cast<double>(p.cells);
    auto const width = static_cast<float>(h);
    Sum sum = 0;
    for (std::int64_t i = p.first; i < p.first + p.count; ++i) {
      auto const x = static_cast<float>(p.lower + (static_cast<double>(i) + 0.5) * h);
      sum += static_cast<Sum>(evaluate(p, x) * width);
    }
    *p.result = p.amplitude * static_cast<double>(sum);
  });
}

std::string midpoint_only(Problem const& problem) {
  if (problem.rule != Rule::midpoint) return "takes the midpoint rule alone";
  return plain_only(problem);
}

}  // namespace

extern constinit Variant<Problem> const host_serial{
    {.name = "host_serial",
     .role = Role::demonstration,
     .where = Where::host,
     .types = {core::DataType::f32},
     .needs = {.other = "midpoint, not reproducible"},
     .source = "DCU programming tutorial, integral",
     .summary = "one thread, arguments in f32: phases are lost"},
    launch<double>,
    {.unsupported = midpoint_only}};

extern constinit Variant<Problem> const host_serial_f32_sum{
    {.name = "host_serial_f32_sum",
     .role = Role::demonstration,
     .where = Where::host,
     .types = {core::DataType::f32},
     .needs = {.other = "midpoint, not reproducible"},
     .source = "DCU programming tutorial, integral",
     .summary = "host_serial with a sum in f32, which stops growing"},
    launch<float>,
    {.unsupported = midpoint_only}};

}  // namespace quadrille::kernels::integral
