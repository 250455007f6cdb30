// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/views.hpp"

#include <cstdint>

/// Kernels around the instructions of common/ptx/threads.cuh. Pointers are to device memory.
namespace quadrille::test {

/// What one thread saw.
struct Special {
  std::uint32_t elected, elected_of_some, lane, multiprocessor, cycles_advance, time_advances;
};
/// 64 threads; lanes 5 and 9 elect one among them.
void launch_special(Special* out, device::StreamView stream);
/// 384 threads; the second and third group of 128 get registers of the first. out[i] = i.
void launch_registers(int* out, device::StreamView stream);

/// out: prmt of (a, b) with each of the n selectors, then lop3 of (a, b, selector) for the tables
/// 0x96, 0xE8 and 0x1B.
void launch_bits(std::uint32_t a, std::uint32_t b, std::uint32_t const* selectors,
                 std::uint32_t* out, int n, device::StreamView stream);

/// out[i] = ex2(x[i]) for up to 32 of them.
void launch_powers(float const* x, float* out, int n, device::StreamView stream);

}  // namespace quadrille::test
