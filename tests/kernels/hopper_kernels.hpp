// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/tensor_map.hpp"
#include "device/device.hpp"

#include <cstdint>
#include <span>

/// Small kernels around the instructions of common/ptx for sm_90, for hopper_test.cpp.
namespace quadrille::test {

/// What a kernel does wrong on purpose.
enum class Misuse {
  none,
  wrong_parity,
  no_expect_tx,
  too_few_expected,
  odd_size,
  not_initialised,
  no_init_fence,
  no_wait_for_full,   ///< the ring reads what has not arrived
  no_wait_for_empty,  ///< the ring overwrites what has not been read
  no_proxy_fence,
  overwrite_source,  ///< of a store, before it has read
  no_store_wait,
  no_wgmma_fence,
  use_before_wait,  ///< of accumulators
  overwrite_operand,
};

/// to[i] = from[i] + 1 by one block: chunks of 256 floats through a ring of three.
void launch_bulk_ring(float const* from, float* to, int chunks, Misuse misuse,
                      device::StreamView stream);

/// to[i] = from[i] (or += with `add`): each block stores 256 floats of shared memory.
void launch_bulk_store(float const* from, float* to, int blocks, bool add, Misuse misuse,
                       device::StreamView stream);

/// Loads the box of the matrix at (row, column), then writes its `bytes` as they lie in shared
/// memory.
void launch_tensor_load(ptx::Tensor2d const& matrix, int row, int column, unsigned char* tile,
                        unsigned bytes, device::StreamView stream);

/// Stores (or adds) the box of the matrix at (row, column), of which the bytes in shared memory are
/// given.
void launch_tensor_store(ptx::Tensor2d const& matrix, int row, int column,
                         unsigned char const* tile, unsigned bytes, bool add,
                         device::StreamView stream);

/// D (64 x n) = C + A (64 x 256 bytes of K) B by wgmma. Elements are given as bits, row by row.
struct WgmmaProblem {
  std::uint32_t const* a;
  std::uint32_t const* b;
  std::uint32_t const* c;  ///< nullptr: zero, by wgmma without accumulation
  std::uint32_t* d;
};

enum class WgmmaType { f16, f16_in_f16, bf16, tf32 };

struct WgmmaCase {
  WgmmaType type;
  int n;
  bool a_mn_major, b_mn_major;
  ptx::Swizzle swizzle;
  bool a_in_registers;
  void (*launch)(WgmmaProblem const&, device::StreamView);
};
std::span<WgmmaCase const> wgmma_cases();

/// One wgmma (f16, 64 x 64 x 16) with a fault.
void launch_wgmma_misuse(std::uint32_t const* a, std::uint32_t const* b, float* d, Misuse misuse,
                         device::StreamView stream);

/// D (64 x 128, f32) = A (64 x k) B (k x 128), of f16 with B given transposed: a producer warp
/// loads tiles by tensor copies into a ring, a warpgroup multiplies with a group always in flight.
void launch_wgmma_pipeline(ptx::Tensor2d const& a, ptx::Tensor2d const& b, int k, float* d,
                           device::StreamView stream);

}  // namespace quadrille::test
