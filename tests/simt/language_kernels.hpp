// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/launch.cuh"
#include "device/views.hpp"

namespace quadrille::test {

/// What one warp computes with everything that its lanes do together: row r of out is result r of
/// the 32 lanes.
constexpr int kCollectives = 19;
void launch_collectives(unsigned* out, device::StreamView stream);

/// What one warp gets of its 32 words by each of the __reduce_*_sync() (redux.sync of sm_80), the odd
/// lanes and the even ones by themselves: row r of out is result r of the lanes.
constexpr int kReductions = 9;
void launch_reductions(unsigned const* words, unsigned* out, device::StreamView stream);

/// Atomics of each kind by 64 threads on one word of each type, all of which start at 5.
struct Words {
  int add, sub, exchange, min, max;
  unsigned bit_and, bit_or, bit_xor, increment, decrement, cas;
  unsigned long long wide;
  float real;
  double wide_real;
};
void launch_atomics(Words* words, device::StreamView stream);

/// Bits that integer intrinsics and conversions make of x and y.
constexpr int kIntrinsics = 18;
void launch_intrinsics(unsigned x, unsigned y, unsigned* out, device::StreamView stream);

/// sincospi, sinpi, cospi of x[i]: out[3 i], out[3 i + 1] and out[3 i + 2].
void launch_trigonometry(double const* x, int n, double* out, device::StreamView stream);

/// What block b knows of its cluster: its rank in out[4 b], then the blocks in x, y and z.
void launch_clusters(kernels::LaunchShape const& shape, unsigned* out, device::StreamView stream);

/// b[i] = a[i] + 1, a[i] = b[i] + 1 and so on, by kernels that may start before the one before ends.
/// n is a multiple of 64.
void launch_increments(int* a, int* b, int n, int times, device::StreamView stream);

}  // namespace quadrille::test
