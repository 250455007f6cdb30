// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Integral by one atomic addition per cell.
///
///   s = amplitude * h * sum f(lower + (i + 1/2) h)   (or Simpson, or Gauss-Legendre, a cell)
///
/// Technique    the race removed in the plainest way: the addition is one indivisible step in
///              the L2 cache. All cells of the grid contend for one number
/// Before       race
/// Shapes       cells [first, first + count) of the interval
/// Work         1, 2 or 3 evaluations per cell (midpoint, Simpson, Gauss-Legendre), an atomic each
/// Launch       256 threads per block, one cell each
/// Accuracy     error_bound(); sums in any order
#include "integral/integral_device.cuh"

namespace quadrille::kernels::integral {
namespace {

constexpr unsigned kThreads = 256;

#ifdef QUAD_KERNELS

template <class T>
__global__ void __launch_bounds__(kThreads)
    integral_global_atomic_kernel(Task task, double* result) {
  std::int64_t const i = own_index();
  if (i >= task.count) return;
  // changed: load, sum and store are one
  atomicAdd(result, task.mesh.scale * sum_of_cell<T, Functions::library>(task, task.first + i));
}

void launch(Problem const& problem, device::StreamView stream) {
  clear_result(problem, stream);
  if (problem.count == 0) return;
  visit_type(problem, [&]<class T>() {
    QUAD_LAUNCH((integral_global_atomic_kernel<T>), dim3(blocks_for(problem.count, kThreads)),
                dim3(kThreads), 0, stream, task_of(problem), problem.result);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const global_atomic{
    {.name = "global_atomic",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.other = "not reproducible, up to 2^31 - 1 blocks"},
     .any_order = true,
     .source = "DCU programming tutorial, integral",
     .summary = "one atomic addition in global memory per cell"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = plain_grid<kThreads>, .notes = {.adds_serially = true}}};

}  // namespace quadrille::kernels::integral
