// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/simt.cuh"
#include "vector/vector.hpp"

namespace quadrille::kernels::vector {

#ifdef QUAD_KERNELS

/// x + y
struct Add {
  static constexpr bool kReadsY = true;
  template <class T>
  QUAD_HD T operator()(T x, T y) const {
    return x + y;
  }
};

/// (a x + b) x + c
template <class T>
struct Quadratic {
  static constexpr bool kReadsY = false;
  T a, b, c;
  QUAD_HD T operator()(T x, T) const { return (a * x + b) * x + c; }
};

/// Computes out[i].
template <class T, class Operator>
__device__ inline void compute_element(T const* x, T const* y, T* out, std::int64_t i,
                                       Operator operation) {
  T second{};
  if constexpr (Operator::kReadsY) second = y[i];
  out[i] = operation(x[i], second);
}

/// Calls launch(x, y, out, operation) with the pointers and the operation in the problem's type.
template <class Launch>
void with_operation(Problem const& p, Launch&& launch) {
  auto const typed = [&](auto zero) {
    using T = decltype(zero);
    auto const* x = static_cast<T const*>(p.x);
    auto const* y = static_cast<T const*>(p.y);
    auto* out = static_cast<T*>(p.out);
    if (p.operation == Operation::add) return launch(x, y, out, Add{});
    launch(x, y, out, Quadratic<T>{static_cast<T>(p.a), static_cast<T>(p.b), static_cast<T>(p.c)});
  };
  if (p.type == core::DataType::f64) return typed(double{});
  typed(float{});
}

/// Blocks of `each` elements that cover n.
inline unsigned blocks_for(std::int64_t n, std::int64_t each) {
  return static_cast<unsigned>((n + each - 1) / each);
}

#endif  // QUAD_KERNELS

/// Of a grid.
inline constexpr std::int64_t kMaxBlocks = INT32_MAX;

}  // namespace quadrille::kernels::vector
