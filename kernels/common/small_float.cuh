// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/simt.cuh"

/// Elements of 16 bits, which are computed with in f32. Those of f32 and i32 pass unchanged, so that one
/// kernel serves all types.
#ifdef QUAD_KERNELS

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace quadrille::kernels {

__device__ inline float to_f32(float value) { return value; }
__device__ inline int to_f32(int value) { return value; }
__device__ inline float to_f32(__half value) { return __half2float(value); }
__device__ inline float to_f32(__nv_bfloat16 value) { return __bfloat162float(value); }

template <class T>
__device__ T from_f32(float value);
template <>
__device__ inline float from_f32<float>(float value) {
  return value;
}
template <>
__device__ inline __half from_f32<__half>(float value) {
  return __float2half(value);
}
template <>
__device__ inline __nv_bfloat16 from_f32<__nv_bfloat16>(float value) {
  return __float2bfloat16(value);
}

}  // namespace quadrille::kernels

#endif
