// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Integral in f32 throughout, as a program computes it whose type is f32.
///
///   s = amplitude * h * sum f(lower + (i + 1/2) h)   (or Simpson, or Gauss-Legendre, a cell)
///
/// Technique    the mistake: x is rounded to f32 before the sine. Near 40000 pi, f32 numbers are 2^-7
///              apart, more than five cells of 1e8, whose values are then the same. Over whole periods
///              these errors average out, which hides them. The library's sine takes a slow path for
///              arguments that large
/// Before       grid_stride
/// Shapes       cells [first, first + count) of the interval
/// Work         1, 2 or 3 evaluations per cell (midpoint, Simpson, Gauss-Legendre)
/// Launch       256 threads per block, at most 8 blocks per multiprocessor: the slow path takes more
///              registers than 1024 threads have
/// Accuracy     none: 2^-24 times the largest |x| in each argument
#include "integral/integral_device.cuh"

namespace quadrille::kernels::integral {
namespace {

constexpr unsigned kThreads = 256;

#ifdef QUAD_KERNELS

__global__ void __launch_bounds__(kThreads)
    integral_single_precision_kernel(Task task, double* result) {
  add_to_result(task.mesh.scale * sum_of_thread<float, Functions::rounded>(task), result);
}

void launch(Problem const& problem, device::StreamView stream) {
  clear_result(problem, stream);
  if (problem.count == 0) return;
  unsigned const blocks =
      blocks_for(problem.count, kThreads, std::int64_t{8} * stream.facts().multiprocessors);
  QUAD_LAUNCH(integral_single_precision_kernel, dim3(blocks), dim3(kThreads), 0, stream,
              task_of(problem), problem.result);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const single_precision{
    {.name = "single_precision",
     .role = Role::demonstration,
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.other = "not reproducible"},
     .any_order = true,
     .source = "DCU programming tutorial, integral",
     .summary = "grid_stride with arguments rounded to f32: phases are lost"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = plain_only}};

}  // namespace quadrille::kernels::integral
