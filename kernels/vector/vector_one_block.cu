// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Element-wise operations by one block.
///
///   out[i] = x[i] + y[i];   out[i] = (a x[i] + b) x[i] + c
///
/// Technique    neighbouring threads take neighbouring elements, so that a warp reads whole
///              lines; the block strides over the vector. One multiprocessor works, the others
///              are idle
/// Shapes       x, y, out: n contiguous elements
/// Work         add: n flop, 3 n s bytes; quadratic: 4 n flop, 2 n s bytes
/// Launch       1 block of 256 threads
/// Accuracy     add: 1/2 ulp; quadratic: 2.5 eps (|a| x^2 + |b x| + |c|)
#include "vector/vector_operations.cuh"

namespace quadrille::kernels::vector {
namespace {

constexpr int kThreads = 256;

#ifdef QUAD_KERNELS

template <class T, class Operator>
__global__ void __launch_bounds__(kThreads)
    vector_one_block_kernel(T const* x, T const* y, T* out, std::int64_t n, Operator operation) {
  for (std::int64_t i = threadIdx.x; i < n; i += kThreads) {
    compute_element(x, y, out, i, operation);
  }
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.n == 0) return;
  with_operation(problem,
                 [&]<class T, class Operator>(T const* x, T const* y, T* out, Operator operation) {
                   QUAD_LAUNCH((vector_one_block_kernel<T, Operator>), dim3(1), dim3(kThreads), 0,
                               stream, x, y, out, problem.n, operation);
                 });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const one_block{
    {.name = "one_block",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .source = "PaddleJitLab/CUDATutorial, chapter 04",
     .summary = "1 block of 256 threads that strides"},
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::vector
