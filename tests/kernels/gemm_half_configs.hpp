// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/gemm.hpp"

#include <span>

namespace quadrille::test {

/// A configuration of the product of 16-bit matrices that no variant has, compiled with the tests, and
/// as `mma_tuned` takes it.
struct HalfCase {
  kernels::Variant<kernels::gemm::Problem> variant;
  kernels::Configuration configuration;
};

std::span<HalfCase const> half_cases();

}  // namespace quadrille::test
