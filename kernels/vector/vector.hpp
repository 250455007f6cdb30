// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"

#include <span>

namespace quadrille::kernels::vector {

enum class Operation {
  add,        ///< out = x + y
  quadratic,  ///< out = (a x + b) x + c
};

/// All vectors have n contiguous elements of `type` (f64 or f32) and do not overlap.
struct Problem {
  Operation operation = Operation::add;
  core::DataType type = core::DataType::f64;
  void const* x = nullptr;
  void const* y = nullptr;  ///< add only
  void* out = nullptr;
  std::int64_t n = 0;
  double a = 0.5, b = -1.25, c = 0.75;
};

constexpr double bytes(Operation operation, double n, double element_bytes) {
  return (operation == Operation::add ? 3 : 2) * n * element_bytes;
}
constexpr double flop(Operation operation, double n) {
  return (operation == Operation::add ? 1 : 4) * n;
}

std::span<Variant<Problem> const> variants();

}  // namespace quadrille::kernels::vector
