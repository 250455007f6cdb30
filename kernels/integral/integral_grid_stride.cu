// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Integral by a loop with the grid as stride.
///
///   s = amplitude * h * sum f(lower + (i + 1/2) h)   (or Simpson, or Gauss-Legendre, a cell)
///
/// Technique    a thread adds many cells in a register before any shuffle, barrier or atomic:
///              their cost is divided by the cells of a thread. One cell is warp_shuffle with a
///              loop around it; with 100 little of the cost is left; the third variant has as many
///              threads as are resident, so that no block starts late
/// Before       warp_shuffle
/// Shapes       cells [first, first + count) of the interval
/// Work         1, 2 or 3 evaluations per cell (midpoint, Simpson, Gauss-Legendre), an atomic
///              per warp and block
/// Launch       1024 threads per block; 1 or 100 cells each, or 2 blocks per multiprocessor
/// Accuracy     error_bound(); sums in any order
#include "integral/integral_device.cuh"

namespace quadrille::kernels::integral {
namespace {

#ifdef QUAD_KERNELS

/// With so many cells per thread that blocks of 1024 cover the interval.
template <std::int64_t each>
void launch(Problem const& problem, device::StreamView stream) {
  clear_result(problem, stream);
  if (problem.count == 0) return;
  visit_type(problem, [&]<class T>() {
    QUAD_LAUNCH((integral_grid_stride_kernel<T, Functions::library>),
                dim3(blocks_for(problem.count, 1024 * each)), dim3(1024), 0, stream,
                task_of(problem), problem.result);
  });
}

void launch_chosen(Problem const& problem, device::StreamView stream) {
  visit_type(problem, [&]<class T>() { launch_resident<T, Functions::library>(problem, stream); });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const grid_stride_1{
    {.name = "grid_stride_1",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.other = "not reproducible"},
     .any_order = true,
     .source = "DCU programming tutorial, integral",
     .summary = "loop with the grid as stride, one cell per thread"},
    QUAD_KERNEL_LAUNCH(launch<1>),
    {.unsupported = plain_only}};

extern constinit Variant<Problem> const grid_stride_100{
    {.name = "grid_stride_100",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.other = "not reproducible"},
     .any_order = true,
     .source = "DCU programming tutorial, integral",
     .summary = "the same with 100 cells per thread"},
    QUAD_KERNEL_LAUNCH(launch<100>),
    {.unsupported = plain_only}};

extern constinit Variant<Problem> const grid_stride{
    {.name = "grid_stride",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.other = "not reproducible"},
     .any_order = true,
     .source = "own",
     .summary = "the same with as many threads as are resident"},
    QUAD_KERNEL_LAUNCH(launch_chosen),
    {.unsupported = plain_only}};

}  // namespace quadrille::kernels::integral
