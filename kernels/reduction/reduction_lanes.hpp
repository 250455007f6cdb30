// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reduction/reduction.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

/// The steps of a reduction for host and device, and their order on the host. Static for the reason
/// given in virtual_blocks.hpp.
namespace quadrille::kernels::reduction {

/// What an accumulator starts from; changes nothing when joined.
template <Operation op, class Acc>
QUAD_HD static inline constexpr Acc start() {
  if constexpr (op == Operation::min) return std::numeric_limits<Acc>::infinity();
  if constexpr (op == Operation::max) return -std::numeric_limits<Acc>::infinity();
  return Acc{0};
}

/// Two partial results in one. A NaN in either gives NaN, for min and max too.
template <Operation op, class Acc>
QUAD_HD static inline Acc join(Acc a, Acc b) {
  if constexpr (op == Operation::min) {
    return b < a || b != b ? b : a;
  } else if constexpr (op == Operation::max) {
    return b > a || b != b ? b : a;
  } else {
    return a + b;
  }
}

/// One element more. Products are rounded once, with the addition.
template <Operation op, class Acc, class T>
QUAD_HD static inline Acc absorb(Acc sum, T x, T y) {
  auto const a = static_cast<Acc>(x);
  auto const b = static_cast<Acc>(op == Operation::dot ? y : x);
  if constexpr (op == Operation::sum || op == Operation::min || op == Operation::max) {
    return join<op>(sum, a);
  } else if constexpr (std::is_integral_v<Acc>) {
    return sum + a * b;
  } else {
    return std::fma(a, b, sum);
  }
}

/// One NaN for all: which of two NaN an addition keeps differs between machines.
QUAD_HD static inline double canonical(double x) {
  return x == x ? x : std::numeric_limits<double>::quiet_NaN();
}

/// Elements [0, n) in lanes; absorb() reads y for dot only. The lanes are independent, so the loop
/// over them vectorises without any licence to reorder.
template <Operation op, class Acc, class T>
static inline Acc reduce_lanes(T const* x, T const* y, std::int64_t n) {
  Acc lane[kLanes];
  for (Acc& value : lane) value = start<op, Acc>();
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t l = 0; l < kLanes; ++l) {
      lane[l] = absorb<op>(lane[l], x[i + l], y[i + l]);
    }
  }
  for (std::int64_t l = 0; i + l < n; ++l) lane[l] = absorb<op>(lane[l], x[i + l], y[i + l]);
  return fold_halves(lane, n, kLanes, join<op, Acc>);
}

/// Value of the virtual block of elements [0, n).
template <Operation op, class T>
static inline double reduce_block(T const* x, T const* y, std::int64_t n) {
  return canonical(reduce_lanes<op, double>(x, y, n));
}

template <class T>
static inline T const* first_of(Problem const& p) {
  return static_cast<T const*>(p.x);
}
/// y for dot; elsewhere x, which is as long and never read twice.
template <Operation op, class T>
static inline T const* second_of(Problem const& p) {
  return static_cast<T const*>(op == Operation::dot ? p.y : p.x);
}

/// Calls f.operator()<op, T>() for the operation and type of the problem.
template <class F>
static void visit(Problem const& p, F const& f) {
  auto const with_type = [&]<Operation op>() {
    switch (p.type) {
      case core::DataType::f64: return f.template operator()<op, double>();
      case core::DataType::f32: return f.template operator()<op, float>();
      default: return f.template operator()<op, std::int32_t>();
    }
  };
  switch (p.operation) {
    case Operation::sum: return with_type.template operator()<Operation::sum>();
    case Operation::min: return with_type.template operator()<Operation::min>();
    case Operation::max: return with_type.template operator()<Operation::max>();
    case Operation::dot: return with_type.template operator()<Operation::dot>();
    case Operation::norm2: return with_type.template operator()<Operation::norm2>();
  }
}

}  // namespace quadrille::kernels::reduction
