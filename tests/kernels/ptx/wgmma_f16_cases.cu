// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ptx/wgmma_case.cuh"

namespace quadrille::test {
namespace {

constexpr WgmmaCase kCases[] = {
    QUAD_CASES(f16, k, k, false), QUAD_CASES(f16, mn, mn, false), QUAD_SOME(f16, k, mn, false),
    QUAD_SOME(f16, mn, k, false), QUAD_CASES(f16, k, k, true),    QUAD_SOME(f16, k, mn, true),
    QUAD_SWIZZLES(f16, 64, k, k), QUAD_SWIZZLES(f16, 32, mn, mn), QUAD_OTHER_N(f16),
};

}  // namespace

std::span<WgmmaCase const> wgmma_f16_cases() { return kCases; }

}  // namespace quadrille::test
