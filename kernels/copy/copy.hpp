// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/variant.hpp"

#include <span>

namespace quadrille::kernels::copy {

/// n bytes from `from` to `to`, not overlapping, both device accessible.
struct Problem {
  void* to = nullptr;
  void const* from = nullptr;
  std::int64_t bytes = 0;
};

std::span<Variant<Problem> const> variants();

}  // namespace quadrille::kernels::copy
