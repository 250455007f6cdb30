// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/tensor_map.hpp"
#include "device/views.hpp"

#include <cstdint>
#include <span>

/// Kernels around the instructions of common/ptx/wgmma.cuh. Pointers are to device memory.
namespace quadrille::test {

/// D (64 x n) = C + A (64 x 256 bytes of K) B by wgmma. Elements are given as bits, row by row.
struct WgmmaProblem {
  std::uint32_t const* a;
  std::uint32_t const* b;
  std::uint32_t const* c;  ///< nullptr: zero, by wgmma without accumulation
  std::uint32_t* d;
};

enum class WgmmaType { f16, f16_in_f16, bf16, tf32, s8, e4m3, e5m2 };
/// Of an element.
QUAD_HD constexpr unsigned bytes_of(WgmmaType type) {
  return type == WgmmaType::tf32 ? 4 : type < WgmmaType::s8 ? 2 : 1;
}

struct WgmmaCase {
  WgmmaType type;
  int n;
  bool a_mn_major, b_mn_major;
  ptx::Swizzle swizzle;
  bool a_in_registers;
  void (*launch)(WgmmaProblem const&, device::StreamView);
};
/// Cases of f16 with sums in f32, and all others.
std::span<WgmmaCase const> wgmma_f16_cases();
std::span<WgmmaCase const> wgmma_other_cases();

/// What a wgmma does wrong on purpose.
enum class WgmmaMisuse {
  none,
  no_proxy_fence,
  no_fence,
  use_before_wait,  ///< of accumulators
  overwrite_operand,
};

/// One wgmma (f16, 64 x 64 x 16) with a fault.
void launch_wgmma_misuse(std::uint32_t const* a, std::uint32_t const* b, float* d,
                         WgmmaMisuse misuse, device::StreamView stream);

/// out[i] = the bits of values[i], and out[128 + i] = their halves swapped, by way of accumulators
/// and of A in registers that are fenced.
void launch_wgmma_fence_operand(float const* values, std::uint32_t* out, device::StreamView stream);

/// D (64 x 128, f32) = A (64 x k) B (k x 128), of f16 with B given transposed: a producer warp
/// loads tiles by tensor copies into a ring, a warpgroup multiplies with a group always in flight.
void launch_wgmma_pipeline(ptx::Tensor2d const& a, ptx::Tensor2d const& b, int k, float* d,
                           device::StreamView stream);

}  // namespace quadrille::test
