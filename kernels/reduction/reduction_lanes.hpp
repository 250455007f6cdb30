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

// Constants because device code may not call numeric_limits.
template <class Acc>
inline constexpr Acc kInfinity = std::numeric_limits<Acc>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// What an accumulator starts from; changes nothing when joined.
template <Operation op, class Acc>
QUAD_HD static inline constexpr Acc start() {
  return op == Operation::min ? kInfinity<Acc> : op == Operation::max ? -kInfinity<Acc> : Acc{0};
}

/// Two partial results in one. A NaN in either gives NaN, for min and max too.
template <Operation op, class Acc>
QUAD_HD static inline Acc combine(Acc a, Acc b) {
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
QUAD_HD static inline Acc accumulate(Acc sum, T x, T y) {
  auto const a = static_cast<Acc>(x);
  auto const b = static_cast<Acc>(op == Operation::dot ? y : x);
  if constexpr (op == Operation::sum || op == Operation::min || op == Operation::max) {
    return combine<op>(sum, a);
  } else if constexpr (std::is_integral_v<Acc>) {
    return sum + a * b;
  } else {
    return std::fma(a, b, sum);
  }
}

/// One NaN for all: which of two NaN an addition keeps differs between machines.
QUAD_HD static inline double canonical(double x) { return x == x ? x : kNan; }

/// Lanes that the registers of a core hold.
inline constexpr std::int64_t kRegisterLanes = 32;

/// Elements [0, n) in kCount independent lanes, so that the loop over them vectorises without any
/// licence to reorder; accumulate() reads y for dot only.
template <Operation op, class Acc, std::int64_t kCount, class T>
static inline Acc reduce_lanes(T const* x, T const* y, std::int64_t n) {
  // Where the lanes live in the cache, their stores fill the core's queues and few loads are in
  // flight: without the prefetch half the rate of memory is lost.
  constexpr std::int64_t kAhead = 4096 / sizeof(T);
  constexpr std::int64_t kLine = 64 / sizeof(T);
  Acc lane[kCount];
  for (Acc& value : lane) value = start<op, Acc>();
  std::int64_t i = 0;
  for (; i + kCount <= n; i += kCount) {
    for (std::int64_t strip = 0; strip < kCount; strip += kRegisterLanes) {
      for (std::int64_t l = 0; l < kRegisterLanes; l += kLine) {
        __builtin_prefetch(x + i + strip + l + kAhead);
        if constexpr (op == Operation::dot) __builtin_prefetch(y + i + strip + l + kAhead);
      }
      for (std::int64_t l = strip; l < strip + kRegisterLanes; ++l) {
        lane[l] = accumulate<op>(lane[l], x[i + l], y[i + l]);
      }
    }
  }
  for (std::int64_t l = 0; i + l < n; ++l) lane[l] = accumulate<op>(lane[l], x[i + l], y[i + l]);
  return fold_halves(lane, n, kCount, combine<op, Acc>);
}

/// Value of the virtual block of elements [0, n).
template <Operation op, class T>
static inline double reduce_block(T const* x, T const* y, std::int64_t n) {
  return canonical(reduce_lanes<op, double, kLanes>(x, y, n));
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

/// Calls f.operator()<Acc>() for what elements of type T accumulate in.
template <Operation op, class T, class F>
static void visit_accumulator(Problem const& p, F const& f) {
  constexpr bool kExtreme = op == Operation::min || op == Operation::max;
  if constexpr (std::is_integral_v<T>) {
    f.template operator()<std::conditional_t<kExtreme, double, std::int64_t>>();
  } else if constexpr (kExtreme) {
    f.template operator()<T>();
  } else if (p.accumulator == core::DataType::f64) {
    f.template operator()<double>();
  } else if constexpr (std::is_same_v<T, float>) {
    f.template operator()<float>();
  }
}

}  // namespace quadrille::kernels::reduction
