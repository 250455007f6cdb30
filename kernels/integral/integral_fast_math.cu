// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Integral by the intrinsics of the special function units.
///
///   s = amplitude * h * sum f(lower + (i + 1/2) h)   (or Simpson, or Gauss-Legendre, a cell)
///
/// Technique    __sinf, __cosf, __expf and __fdividef are one or two instructions, with an absolute
///              error near 2^-21 where the library has an ulp; the argument is reduced in f64
///              first, since theirs must be small
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
  launch_resident<float, Functions::intrinsic>(problem, stream);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const fast_math{
    {.name = "fast_math",
     .where = Where::cuda,
     .types = {core::DataType::f32},
     .needs = {.other = "not reproducible"},
     .preference = -1,
     .any_order = true,
     .source = "DCU programming tutorial, integral",
     .summary = "grid_stride with the intrinsics __sinf, __cosf, __expf"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = plain_only}};

}  // namespace quadrille::kernels::integral
