// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/small_float.hpp"

#include <cstdint>

namespace quadrille::kernels::conv2d {

/// Division by a number that is known before a launch, as a product and a shift: an integer division
/// takes a GPU some twenty instructions. For dividends below 2^31 and divisors from 1 to 2^31 - 1.
/// After Granlund and Montgomery, Division by Invariant Integers using Multiplication (1994).
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(int divisor) : divisor_{static_cast<std::uint32_t>(divisor)} {
    while ((std::uint64_t{1} << shift_) < divisor_) ++shift_;
    std::uint64_t const power = std::uint64_t{1} << shift_;
    factor_ = static_cast<std::uint32_t>(((power - divisor_) << 32) / divisor_ + 1);
  }

  QUAD_HD int quotient(int dividend) const {
    auto const n = static_cast<std::uint32_t>(dividend);
    auto const high = static_cast<std::uint32_t>(std::uint64_t{n} * factor_ >> 32);
    return static_cast<int>((high + n) >> shift_);
  }
  QUAD_HD int remainder(int dividend, int quotient) const {
    return dividend - quotient * static_cast<int>(divisor_);
  }

 private:
  std::uint32_t divisor_ = 1, factor_ = 1;
  int shift_ = 0;
};

}  // namespace quadrille::kernels::conv2d
