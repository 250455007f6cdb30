// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the CUDA kernels of rowwise share: a problem as they see it, sums of a block, activations.

#include "common/small_float.cuh"
#include "reduction/reduction_device.cuh"
#include "rowwise/rowwise.hpp"

namespace quadrille::kernels::rowwise {

#ifdef QUAD_KERNELS

template <class T>
struct Operands {
  T const *x, *residual, *gain, *bias;  ///< null where there is none
  T *sum, *y;
  std::int64_t features, ld_x;
  float const* cos_sin;
  std::int32_t const *positions, *rows;
  int head_size;
};

template <class T>
Operands<T> operands(Problem const& p) {
  auto const* const weights = p.weights.rows > 0 ? static_cast<T const*>(p.weights.data) : nullptr;
  bool const is_layer = p.action == Action::layer_norm;
  return {.x = static_cast<T const*>(p.x.data),
          .residual = p.has_residual() ? static_cast<T const*>(p.residual.data) : nullptr,
          .gain = weights,
          .bias = is_layer ? weights + p.features() : nullptr,
          .sum = static_cast<T*>(p.sum.data),
          .y = static_cast<T*>(p.y.data),
          .features = p.features(),
          .ld_x = p.x.ld,
          .cos_sin = static_cast<float const*>(p.cos_sin.data),
          .positions = p.positions,
          .rows = p.rows,
          .head_size = static_cast<int>(p.head_size)};
}

/// The sum over all threads of a block of up to 32 warps, in all of them, in a fixed order. `of_warps`:
/// 32 numbers that no other sum is using.
__device__ inline float block_sum(float value, float* of_warps) {
  constexpr auto kSum = reduction::Operation::sum;
  int const warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  value = reduction::warp_reduce<kSum>(value);
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();  // the sums of all warps are there
  bool const is_warp = lane < static_cast<int>(blockDim.x) / 32;
  return __shfl_sync(~0U, reduction::warp_reduce<kSum>(is_warp ? of_warps[lane] : 0), 0);
}

__device__ inline float gelu(float x) { return x * (1 + erff(x * 0.70710678F)) * 0.5F; }
__device__ inline float swiglu(float gate, float factor) {
  return gate / (1 + expf(-gate)) * factor;
}

/// Calls launch.operator()<T>() with the type of a problem that has tokens.
template <class Launch>
void with_type(Problem const& problem, Launch const& launch) {
  if (problem.tokens() == 0) return;
  switch (problem.y.type) {
    case core::DataType::f32: return launch.template operator()<float>();
    case core::DataType::f16: return launch.template operator()<__half>();
    default: return launch.template operator()<__nv_bfloat16>();
  }
}

#endif  // QUAD_KERNELS

}  // namespace quadrille::kernels::rowwise
