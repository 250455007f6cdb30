// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Integral in one launch, deterministic.
///
///   s = amplitude * h * sum f(lower + (i + 1/2) h)   (or Simpson, or Gauss-Legendre, a cell)
///
/// Technique    each block counts itself done after storing its sum, and the last one adds all
///              sums in the order of the blocks: no second kernel, no copy, and the same bits every
///              time
/// Shapes       cells [first, first + count) of the interval
/// Work         1, 2 or 3 evaluations per cell (midpoint, Simpson, Gauss-Legendre)
/// Launch       256 threads per block, at most 8 blocks per multiprocessor; partial sums in scratch
///              memory
/// Accuracy     error_bound(); sums in a fixed order
#include "integral/integral_device.cuh"

namespace quadrille::kernels::integral {
namespace {

constexpr int kThreads = 256;

#ifdef QUAD_KERNELS

template <class T>
__global__ void __launch_bounds__(kThreads)
    integral_one_launch_kernel(Task task, double* partials, unsigned* finished, double* result) {
  double sum = task.mesh.scale * sum_of_thread<T, Functions::library>(task);
  sum = reduction::block_reduce<reduction::Operation::sum, kThreads>(sum);
  reduction::finish_in_last_block<reduction::Operation::sum, kThreads>(sum, partials, finished,
                                                                       task.count, result);
}

void launch(Problem const& problem, device::StreamView stream) {
  require_scratch(problem);
  int const resident = 8 * stream.facts().multiprocessors;
  unsigned const blocks = std::max(1U, blocks_for(problem.count, kThreads, resident));
  visit_type(problem, [&]<class T>() {
    QUAD_LAUNCH((integral_one_launch_kernel<T>), dim3(blocks), dim3(kThreads), 0, stream,
                task_of(problem), partials_of(problem), counter_of(problem), problem.result);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const one_launch{
    {.name = "one_launch",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.other = "not reproducible"},
     .preference = 20,
     .source = "own",
     .summary = "the last block to finish joins all, in a fixed order"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = plain_only}};

}  // namespace quadrille::kernels::integral
