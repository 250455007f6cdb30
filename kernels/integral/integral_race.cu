// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Integral with a data race, to show a wrong result.
///
///   s = amplitude * h * sum f(lower + (i + 1/2) h)   (or Simpson, or Gauss-Legendre, a cell)
///
/// Technique    every thread adds its cell to one number by an ordinary load, addition and
///              store. Updates are lost, so the result is wrong, and fast: the reason why no time
///              is reported without a check
/// Shapes       cells [first, first + count) of the interval
/// Work         1, 2 or 3 evaluations per cell (midpoint, Simpson, Gauss-Legendre)
/// Launch       256 threads per block, one cell each
/// Accuracy     none
#include "integral/integral_device.cuh"

namespace quadrille::kernels::integral {
namespace {

constexpr unsigned kThreads = 256;

#ifdef QUAD_KERNELS

template <class T>
__global__ void __launch_bounds__(kThreads) integral_race_kernel(Task task, double* result) {
  std::int64_t const i = own_index();
  if (i >= task.count) return;
  // The mistake: what others store between this thread's load and its store is lost.
  *result += task.mesh.scale * sum_of_cell<T, Functions::library>(task, task.first + i);
}

void launch(Problem const& problem, device::StreamView stream) {
  clear_result(problem, stream);
  if (problem.count == 0) return;
  visit_type(problem, [&]<class T>() {
    QUAD_LAUNCH((integral_race_kernel<T>), dim3(blocks_for(problem.count, kThreads)),
                dim3(kThreads), 0, stream, task_of(problem), problem.result);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const race{
    {.name = "race",
     .role = Role::demonstration,
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.other = "not reproducible, up to 2^31 - 1 blocks"},
     .source = "DCU programming tutorial, integral",
     .summary = "every thread adds to one number, unprotected: wrong"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = plain_grid<kThreads>}};

}  // namespace quadrille::kernels::integral
