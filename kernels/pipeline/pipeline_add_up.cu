// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// The sum of an array by two warps.
///
///   sum = values[0] + ... + values[n - 1], or sum += ...
///
/// Technique    one small block: slow by itself, and nearly free beside a kernel that fills the
///              rest of the device, which is what the experiment shows. After the DCU programming
///              tutorial, integral_async
/// Shapes       n contiguous elements of f64
/// Work         n flop, 8 n bytes read
/// Launch       1 block of 64 threads, 16 bytes of shared memory
/// Accuracy     eps (n / 64 + 7) of the sum of magnitudes, at most
#include "common/simt.cuh"
#include "pipeline/pipeline.hpp"

namespace quadrille::kernels::pipeline {
namespace {

constexpr int kThreads = 64;
constexpr unsigned kWarp = 0xffffffffu;

__global__ void pipeline_add_up_kernel(double const* values, std::int64_t n, double* result,
                                       Into into) {
  QUAD_SHARED(double, warp_sum, [2]);
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < n; i += kThreads) sum += values[i];
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(kWarp, sum, lanes);
  if (threadIdx.x % 32 == 0) warp_sum[threadIdx.x / 32] = sum;
  __syncthreads();  // the second warp's sum is there
  if (threadIdx.x > 0) return;
  double const before = into == Into::added_to ? *result : 0;
  *result = before + warp_sum[0] + warp_sum[1];
}

}  // namespace

void launch_add_up(double const* values, std::int64_t n, double* sum, Into into,
                   device::StreamView stream) {
  QUAD_LAUNCH(pipeline_add_up_kernel, 1, kThreads, 0, stream, values, n, sum, into);
}

}  // namespace quadrille::kernels::pipeline
