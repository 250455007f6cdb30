// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/gemm.hpp"

/// Configurations of the product of 16-bit matrices that no variant has.
namespace quadrille::test {

kernels::Variants<kernels::gemm::Problem> half_configs();

}  // namespace quadrille::test
