// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/gemm_access.hpp"

/// What products ask of memory whose threads have one element of C each, consecutive ones in a column.
namespace quadrille::kernels::gemm::naive_tile {

inline constexpr int kTile = 32;

constexpr Place of_a(int t, int) { return {t % kTile, 0}; }
constexpr Place of_b(int t, int) { return {0, t / kTile}; }
constexpr Place of_c(int t, int) { return {t % kTile, t / kTile}; }

/// Lanes are in rows of their own: all of a warp read other sectors of A, and one word of B.
inline constexpr Access kAccesses[]{
    {Memory::a, 1, 1, of_a}, {Memory::b, 1, 1, of_b}, {Memory::c, 1, 1, of_c}};
inline constexpr Pattern kPattern{kTile * kTile, kTile, kTile, 1, kAccesses};

}  // namespace quadrille::kernels::gemm::naive_tile
