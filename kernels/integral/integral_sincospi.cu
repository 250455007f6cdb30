// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Integral by sinpi and cospi.
///
///   s = amplitude * h * sum f(lower + (i + 1/2) h)   (or Simpson, or Gauss-Legendre, a cell)
///
/// Technique    sin(a x) is sinpi(a x / pi): the range is reduced by a subtraction, where sin needs
///              pi in several pieces and a slow path for large arguments. Integrands without a sine
///              stay as they are
/// Before       grid_stride
/// Shapes       cells [first, first + count) of the interval
/// Work         1, 2 or 3 evaluations per cell (midpoint, Simpson, Gauss-Legendre)
/// Launch       1024 threads per block, at most 2 blocks per multiprocessor
/// Accuracy     error_bound(); sums in any order
#include "integral/integral_device.cuh"

namespace quadrille::kernels::integral {

namespace {

#ifdef QUAD_KERNELS

void launch(Problem const& problem, device::StreamView stream) {
  visit_type(problem,
             [&]<class T>() { launch_resident<T, Functions::half_turns>(problem, stream); });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const sincospi{
    {.name = "sincospi",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.other = "not reproducible"},
     .any_order = true,
     .source = "own",
     .summary = "grid_stride with sinpi and cospi, which need no reduction by pi"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = plain_only}};

}  // namespace quadrille::kernels::integral
