// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the kernels that multiply by mma share.

#include "common/ptx/matrix.cuh"
#include "conv2d/conv2d_cuda.cuh"

#include <type_traits>

namespace quadrille::kernels::conv2d {

#ifdef QUAD_KERNELS

/// d += a b, of f32 in tf32.
template <class T>
__device__ void multiply_add(float (&d)[4], std::uint32_t const (&a)[4],
                             std::uint32_t const (&b)[2]) {
  if constexpr (std::is_same_v<T, float>) {
    ptx::mma_m16n8k8_tf32(d, a, b);
  } else if constexpr (std::is_same_v<T, __half>) {
    ptx::mma_m16n8k16_f16(d, a, b);
  } else {
    ptx::mma_m16n8k16_bf16(d, a, b);
  }
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::conv2d
