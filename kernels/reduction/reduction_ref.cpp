// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reduction as in the textbook: what every other variant is compared with.
///
///   s = sum x[i], sum x[i] y[i], sum x[i]^2, min x[i] or max x[i]
///
/// Technique    one loop; floating-point sums in long double, in blocks of 4096, so that the error
///              does not grow with n
/// Shapes       x, y: n contiguous elements
/// Work         n s bytes read (2 n s for dot), one thread
/// Launch       serial, on the stream's own thread
/// Accuracy     where long double has 64 bits: 2^-53 |s| + 2^-64 (4096 + n / 4096) sum|x|; i32
///              (partial sums below 2^63), min, max: exact up to the rounding of the result to f64
#include "device/device.hpp"
#include "reduction/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace quadrille::kernels::reduction {
namespace {

/// term(0) + ... + term(n - 1).
template <class Sum, class Term>
double sum_of(std::int64_t n, Term term) {
  constexpr std::int64_t kBlock = 4096;
  Sum total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    Sum block = 0;
    for (std::int64_t i = begin; i < std::min(begin + kBlock, n); ++i) block += term(i);
    total += block;
  }
  return static_cast<double>(total);
}

/// The element that comes first in the order `before`; any NaN is taken and kept.
template <class T, class Before>
double extreme_of(T const* x, std::int64_t n, double nothing, Before before) {
  double best = nothing;
  for (std::int64_t i = 0; i < n; ++i) {
    auto const value = static_cast<double>(x[i]);
    if (std::isnan(value)) return value;
    if (before(value, best)) best = value;
  }
  return best;
}

template <class T>
void reduce(Problem const& p) {
  using Sum = std::conditional_t<std::is_integral_v<T>, std::int64_t, long double>;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  auto const* x = static_cast<T const*>(p.x);
  auto const* y = static_cast<T const*>(p.y);
  switch (p.operation) {
    case Operation::sum:
      *p.result = sum_of<Sum>(p.n, [&](std::int64_t i) { return static_cast<Sum>(x[i]); });
      break;
    case Operation::dot:
      *p.result = sum_of<Sum>(
          p.n, [&](std::int64_t i) { return static_cast<Sum>(x[i]) * static_cast<Sum>(y[i]); });
      break;
    case Operation::norm2:
      *p.result = sum_of<Sum>(
          p.n, [&](std::int64_t i) { return static_cast<Sum>(x[i]) * static_cast<Sum>(x[i]); });
      break;
    case Operation::min: *p.result = extreme_of(x, p.n, kInfinity, std::less<>{}); break;
    case Operation::max: *p.result = extreme_of(x, p.n, -kInfinity, std::greater<>{}); break;
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.reproducible) return launch_reproducible(problem, stream);
  switch (problem.type) {
    case core::DataType::f64: return stream.run([problem] { reduce<double>(problem); });
    case core::DataType::f32: return stream.run([problem] { reduce<float>(problem); });
    default: return stream.run([problem] { reduce<std::int32_t>(problem); });
  }
}

}  // namespace

extern constinit Variant<Problem> const reference{
    {.name = "reference",
     .role = Role::reference,
     .where = Where::host,
     .types = kReductionTypes,
     .source = "own",
     .summary = "one thread, blocked sums in extended precision"},
    launch,
    {.notes = {.chain = chain_of_one}}};

}  // namespace quadrille::kernels::reduction
