// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.hpp"
#include "device/views.hpp"

/// The two steps that experiments with overlap arrange: an integral over one interval as a long
/// array of partial sums, and the sum of that array.
namespace quadrille::kernels::pipeline {

/// Items of one partial sum where every item has a thread of its own.
inline constexpr std::int64_t kItemsPerPartial = 64;

/// partials[p] = amplitude h times the sum of sin^2(2x) cos^2(x) over some midpoints x = lower + (i
/// + 1/2) h of `cells` cells; together over all of them. Partial p takes items p kItemsPerPartial,
/// ... and goes on `count` partials further.
struct Interval {
  double lower = 0;
  double upper = 0;
  std::int64_t cells = 0;
  double amplitude = 1;
  core::DataType type = core::DataType::f64;  ///< of the evaluation, f64 or f32; sums are f64
  double* partials = nullptr;                 ///< device memory
  std::int64_t count = 0;                     ///< partial sums, at least 1 where there are cells
};

/// What becomes of what *sum was.
enum class Into { replaced, added_to };

/// Both enqueue on a stream of any device; in a build without CUDA a GPU's ends the job.
void integrate(Interval const& interval, device::StreamView stream);
/// *sum = values[0] + ... + values[n - 1], or more by as much, in device memory, by one block of 64
/// threads on a GPU: a kernel that leaves room for another.
void add_up(double const* values, std::int64_t n, double* sum, Into into,
            device::StreamView stream);

/// The functions behind them.
void launch_integrate_host(Interval const& interval, device::StreamView stream);
void launch_add_up_host(double const* values, std::int64_t n, double* sum, Into into,
                        device::StreamView stream);
void launch_integrate(Interval const& interval, device::StreamView stream);
void launch_add_up(double const* values, std::int64_t n, double* sum, Into into,
                   device::StreamView stream);

}  // namespace quadrille::kernels::pipeline
