// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Element-wise operations by a grid that fits the device.
///
///   out[i] = x[i] + y[i];   out[i] = (a x[i] + b) x[i] + c
///
/// Technique    as many blocks as are resident, each striding over the vector:
///              blocks start once, and any n fits. Little is gained where starting blocks was not
///              the limit
/// Shapes       x, y, out: n contiguous elements
/// Work         add: n flop, 3 n s bytes; quadratic: 4 n flop, 2 n s bytes
/// Launch       256 threads per block, at most 8 blocks (2048 threads) per multiprocessor
/// Accuracy     add: 1/2 ulp; quadratic: 2.5 eps (|a| x^2 + |b x| + |c|)
#include "vector/vector_operations.cuh"

#include <algorithm>

namespace quadrille::kernels::vector {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kBlocksPerMultiprocessor = 8;

#ifdef QUAD_KERNELS

template <class T, class Operator>
__global__ void __launch_bounds__(kThreads)
    vector_grid_stride_kernel(T const* x, T const* y, T* out, std::int64_t n, Operator operation) {
  std::int64_t const stride = std::int64_t{gridDim.x} * kThreads;
  // Four independent elements per iteration, so that their loads are in flight together.
#pragma unroll 4
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += stride) {
    compute_element(x, y, out, i, operation);
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.n == 0) return;
  std::int64_t const needed = (problem.n + kThreads - 1) / kThreads;
  auto const blocks = static_cast<unsigned>(
      std::min(needed, kBlocksPerMultiprocessor * stream.facts().multiprocessors));
  with_operation(problem,
                 [&]<class T, class Operator>(T const* x, T const* y, T* out, Operator operation) {
                   QUAD_LAUNCH((vector_grid_stride_kernel<T, Operator>), dim3(blocks),
                               dim3(kThreads), 0, stream, x, y, out, problem.n, operation);
                 });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const grid_stride{
    {.name = "grid_stride",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .source = "own",
     .summary = "grid-stride loop with as many blocks as are resident"},
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::vector
