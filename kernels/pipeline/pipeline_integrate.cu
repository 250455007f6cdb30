// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// One interval of an integral as an array of partial sums.
///
///   partials[p] = amplitude h sum_i sin^2(2 x_i) cos^2(x_i)
///
/// Technique    a block of two warps per partial sum, shuffles, no atomics: space for time, so that
///              the result is an array whose copy to the host takes as long as a kernel. After the
///              DCU programming tutorial, integral_async
/// Shapes       any number of cells; with count = ceil(cells / 64) one cell per thread, with fewer
///              a stride and a grid that does not fill the device. x and accumulators are f64, sine
///              and cosine of the phase f64 or f32
/// Work         one sine and one cosine per cell, 8 bytes written per partial sum
/// Launch       count blocks of 64 threads, 16 bytes of shared memory
/// Accuracy     2 eps of the type per cell, eps sqrt(cells) of f64 for the sum
#include "common/simt.cuh"
#include "pipeline/pipeline.hpp"

#include <cmath>

namespace quadrille::kernels::pipeline {
namespace {

constexpr int kThreads = static_cast<int>(kItemsPerPartial);
constexpr unsigned kWarp = 0xffffffffu;
constexpr double kPi = 3.14159265358979323846;

__device__ double integrand(double x, double) {
  double const value = sin(2 * x) * cos(x);
  return value * value;
}

// The phase is reduced in f64: f32 has none left at the upper limits.
__device__ double integrand(double x, float) {
  auto const t = static_cast<float>(x - floor(x * (1 / kPi)) * kPi);
  float const value = sinf(2 * t) * cosf(t);
  return static_cast<double>(value * value);
}

template <class T>
__global__ void pipeline_integrate_kernel(double lower, double h, std::int64_t cells, double factor,
                                          double* partials) {
  QUAD_SHARED(double, warp_sum, [2]);
  std::int64_t const stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  double sum = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < cells;
       i += stride) {
    sum += integrand(lower + (static_cast<double>(i) + 0.5) * h, T{});
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(kWarp, sum, lanes);
  if (threadIdx.x % 32 == 0) warp_sum[threadIdx.x / 32] = sum;
  __syncthreads();  // the second warp's sum is there
  if (threadIdx.x == 0) partials[blockIdx.x] = factor * (warp_sum[0] + warp_sum[1]);
}

}  // namespace

void launch_integrate(Interval const& p, device::StreamView stream) {
  double const h = p.cells > 0 ? (p.upper - p.lower) / static_cast<double>(p.cells) : 0;
  auto const blocks = static_cast<unsigned>(p.count);
  if (p.type == core::DataType::f64) {
    QUAD_LAUNCH((pipeline_integrate_kernel<double>), blocks, kThreads, 0, stream, p.lower, h,
                p.cells, p.amplitude * h, p.partials);
  } else {
    QUAD_LAUNCH((pipeline_integrate_kernel<float>), blocks, kThreads, 0, stream, p.lower, h,
                p.cells, p.amplitude * h, p.partials);
  }
}

}  // namespace quadrille::kernels::pipeline
