// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Element-wise operations, one element per thread.
///
///   out[i] = x[i] + y[i];   out[i] = (a x[i] + b) x[i] + c
///
/// Technique    as many threads as elements: all multiprocessors work, and enough loads are in
///              flight to hide the latency of memory. A warp moves 128 B (f32) per instruction: 4
///              sectors
/// Shapes       x, y, out: n contiguous elements
/// Work         add: n flop, 3 n s bytes; quadratic: 4 n flop, 2 n s bytes
/// Launch       256 threads per block, n / 256 blocks
/// Accuracy     add: 1/2 ulp; quadratic: 2.5 eps (|a| x^2 + |b x| + |c|)
#include "vector/vector_operations.cuh"

namespace quadrille::kernels::vector {
namespace {

constexpr int kThreads = 256;

#ifdef QUAD_KERNELS

template <class T, class Operator>
__global__ void __launch_bounds__(kThreads)
    vector_one_element_kernel(T const* x, T const* y, T* out, std::int64_t n, Operator operation) {
  std::int64_t const i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) compute_element(x, y, out, i, operation);
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.n == 0) return;
  unsigned const blocks = blocks_for(problem.n, kThreads);
  with_operation(problem,
                 [&]<class T, class Operator>(T const* x, T const* y, T* out, Operator operation) {
                   QUAD_LAUNCH((vector_one_element_kernel<T, Operator>), dim3(blocks),
                               dim3(kThreads), 0, stream, x, y, out, problem.n, operation);
                 });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const one_element{
    {.name = "one_element",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.max_extent = kMaxBlocks * kThreads},
     .source = "PaddleJitLab/CUDATutorial, chapter 04; DCU programming tutorial, quadFunc",
     .summary = "one element per thread; 4 sectors per request (f32)"},
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::vector
