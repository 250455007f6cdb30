// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Integral by warp shuffles.
///
///   s = amplitude * h * sum f(lower + (i + 1/2) h)   (or Simpson, or Gauss-Legendre, a cell)
///
/// Technique    a warp adds its 32 cells in registers, so that only one lane in 32 needs the
///              shared atomic
/// Shapes       cells [first, first + count) of the interval
/// Work         1, 2 or 3 evaluations per cell (midpoint, Simpson, Gauss-Legendre), a shared
///              atomic per warp, a global one per block
/// Launch       1024 threads per block, one cell each
/// Accuracy     error_bound(); sums in any order
#include "integral/integral_device.cuh"

namespace quadrille::kernels::integral {
namespace {

constexpr unsigned kThreads = 1024;

#ifdef QUAD_KERNELS

template <class T>
__global__ void __launch_bounds__(kThreads)
    integral_warp_shuffle_kernel(Task task, double* result) {
  std::int64_t const i = own_index();
  double value = 0;
  // No early return: shuffles need whole warps.
  if (i < task.count) {
    value = task.mesh.scale * sum_of_cell<T, Functions::library>(task, task.first + i);
  }
  add_to_result(value, result);
}

void launch(Problem const& problem, device::StreamView stream) {
  clear_result(problem, stream);
  if (problem.count == 0) return;
  visit_type(problem, [&]<class T>() {
    QUAD_LAUNCH((integral_warp_shuffle_kernel<T>), dim3(blocks_for(problem.count, kThreads)),
                dim3(kThreads), 0, stream, task_of(problem), problem.result);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const warp_shuffle{
    {.name = "warp_shuffle",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.other = "not reproducible, up to 2^31 - 1 blocks"},
     .any_order = true,
     .source = "DCU programming tutorial, integral",
     .summary = "shuffles; one shared atomic per warp, one global per block"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = plain_grid<kThreads>}};

}  // namespace quadrille::kernels::integral
