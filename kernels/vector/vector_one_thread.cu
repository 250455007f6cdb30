// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Element-wise operations by a single thread.
///
///   out[i] = x[i] + y[i];   out[i] = (a x[i] + b) x[i] + c
///
/// Technique    the loop of the host put unchanged into a kernel: one lane of one multiprocessor
///              works, and each element waits for memory before the next one is loaded
/// Shapes       x, y, out: n contiguous elements
/// Work         add: n flop, 3 n s bytes; quadratic: 4 n flop, 2 n s bytes
/// Launch       1 block of 1 thread
/// Accuracy     add: 1/2 ulp; quadratic: 2.5 eps (|a| x^2 + |b x| + |c|)
#include "vector/vector_operations.cuh"

namespace quadrille::kernels::vector {
namespace {

#ifdef QUAD_KERNELS

template <class T, class Operator>
__global__ void vector_one_thread_kernel(T const* x, T const* y, T* out, std::int64_t n,
                                         Operator operation) {
  for (std::int64_t i = 0; i < n; ++i) compute_element(x, y, out, i, operation);
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.n == 0) return;
  with_operation(problem,
                 [&]<class T, class Operator>(T const* x, T const* y, T* out, Operator operation) {
                   QUAD_LAUNCH((vector_one_thread_kernel<T, Operator>), dim3(1), dim3(1), 0, stream,
                               x, y, out, problem.n, operation);
                 });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const one_thread{
    {.name = "one_thread",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .preference = -1,
     .source = "PaddleJitLab/CUDATutorial, chapter 02",
     .summary = "1 block of 1 thread: the serial loop"},
    QUAD_KERNEL_LAUNCH(launch)};

}  // namespace quadrille::kernels::vector
