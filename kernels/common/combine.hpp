// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/small_float.hpp"
#include "core/types.hpp"
#include "device/views.hpp"

#include <type_traits>

namespace quadrille::kernels {

enum class Combine { sum, min, max };

template <Combine kOp, class T>
QUAD_HD inline T combine_element(T a, T b) {
  if constexpr (std::is_class_v<T>) {  // of 16 bits
    return T(combine_element<kOp>(static_cast<float>(a), static_cast<float>(b)));
  } else if constexpr (kOp == Combine::sum) {
    return static_cast<T>(a + b);
  } else {
    bool const is_nan = b != b;
    bool const is_taken = kOp == Combine::min ? b < a : a < b;
    return is_nan || is_taken ? b : a;
  }
}

/// out[i] = a[i] op b[i] for n elements of a type with arithmetic of its own, or of 16 bits, in f32; minimum and maximum keep a
/// NaN. `out` may be `a` or `b`. On any device.
void combine(void const* a, void const* b, void* out, std::int64_t n, core::DataType type,
             Combine op, device::StreamView stream);
/// The same on a GPU.
void launch_combine(void const* a, void const* b, void* out, std::int64_t n, core::DataType type,
                    Combine op, device::StreamView stream);

/// Calls f.operator()<T, kOp>().
template <class F>
void visit_combine(core::DataType type, Combine op, F const& f) {
  auto const visit = [&](auto zero) {
    using T = decltype(zero);
    switch (op) {
      case Combine::sum: return f.template operator()<T, Combine::sum>();
      case Combine::min: return f.template operator()<T, Combine::min>();
      case Combine::max: return f.template operator()<T, Combine::max>();
    }
  };
  switch (type) {
    case core::DataType::f16: return visit(core::f16{});
    case core::DataType::bf16: return visit(core::bf16{});
    default: return core::visit_arithmetic(type, visit);
  }
}

}  // namespace quadrille::kernels
