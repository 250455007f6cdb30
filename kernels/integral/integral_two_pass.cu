// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Integral in two passes, with memory instead of atomics.
///
///   s = amplitude * h * sum f(lower + (i + 1/2) h)   (or Simpson, or Gauss-Legendre, a cell)
///
/// Technique    a block stores its sum: no atomic, and the bits do not depend on the schedule. The
///              source's block is one wave of 64 lanes, which is two warps here. The partial sums are
///              added up on the host (a copy, a host function and a copy back in the stream), or by a
///              second kernel of one wave with 8-byte or, `_vector`, 16-byte loads. `_wide` has 1024
///              threads for it
/// Shapes       cells [first, first + count) of the interval
/// Work         1, 2 or 3 evaluations per cell (midpoint, Simpson, Gauss-Legendre), 8 bytes for
///              6400 cells written and read
/// Launch       64 threads per block, 100 cells each; second pass one block of 64 or 1024 threads;
///              partial sums in scratch memory, those of two_pass_host in pinned host_scratch too
/// Accuracy     error_bound(); sums in a fixed order
#include "device/device.hpp"
#include "integral/integral_device.cuh"

namespace quadrille::kernels::integral {
namespace {

constexpr unsigned kThreads = 64;
constexpr std::int64_t kCellsEach = 100;

#ifdef QUAD_KERNELS

template <class T>
__global__ void __launch_bounds__(kThreads) integral_two_pass_kernel(Task task, double* partials) {
  double const sum = reduction::block_reduce<reduction::Operation::sum, kThreads>(
      sum_of_thread<T, Functions::library>(task));
  if (threadIdx.x == 0) partials[blockIdx.x] = task.mesh.scale * sum;
}

/// Second pass: one block adds all partial sums, one or two of them per load.
template <bool kVector, unsigned kSumThreads>
__global__ void __launch_bounds__(kSumThreads)
    integral_sum_kernel(double const* partials, unsigned count, double* result) {
  double sum = 0;
  if constexpr (kVector) {
    auto const* pairs = reinterpret_cast<double2 const*>(partials);
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < count / 2; i += kSumThreads) {
      double2 const pair = pairs[i];
      sum += pair.x + pair.y;
    }
    if (threadIdx.x == 0 && count % 2 != 0) sum += partials[count - 1];
  } else {
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < count; i += kSumThreads) sum += partials[i];
  }
  sum = reduction::block_reduce<reduction::Operation::sum, kSumThreads>(sum);
  if (threadIdx.x == 0) *result = sum;
}

/// Enqueues the first pass and returns the number of partial sums.
unsigned launch_first_pass(Problem const& problem, device::StreamView stream) {
  require_scratch(problem);
  unsigned const blocks = blocks_for(problem.count, kCellsEach * kThreads);
  if (blocks == 0) {
    clear_result(problem, stream);
    return 0;
  }
  visit_type(problem, [&]<class T>() {
    QUAD_LAUNCH((integral_two_pass_kernel<T>), dim3(blocks), dim3(kThreads), 0, stream,
                task_of(problem), partials_of(problem));
  });
  return blocks;
}

void launch_on_host(Problem const& problem, device::StreamView stream) {
  QUAD_REQUIRE(problem.host_scratch != nullptr || problem.count == 0,
               "integral/two_pass_host: host_scratch is missing; take another variant");
  unsigned const count = launch_first_pass(problem, stream);
  if (count == 0) return;
  double* const host = problem.host_scratch;
  stream.copy(host, partials_of(problem), count * sizeof(double));
  stream.run([host, count] {
    double sum = 0;
    for (unsigned i = 0; i < count; ++i) sum += host[i];
    host[count] = sum;
  });
  stream.copy(problem.result, host + count, sizeof(double));
}

template <bool kVector, unsigned kSumThreads>
void launch_on_device(Problem const& problem, device::StreamView stream) {
  unsigned const count = launch_first_pass(problem, stream);
  if (count == 0) return;
  QUAD_LAUNCH((integral_sum_kernel<kVector, kSumThreads>), dim3(1), dim3(kSumThreads), 0, stream,
              partials_of(problem), count, problem.result);
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const two_pass_host{
    {.name = "two_pass_host",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.other = "not reproducible, up to 2^31 - 1 blocks"},
     .source = "DCU programming tutorial, integral",
     .summary = "no atomics: one sum per block, added on the host"},
    QUAD_KERNEL_LAUNCH(launch_on_host),
    {.unsupported = plain_grid<kCellsEach * kThreads>}};

extern constinit Variant<Problem> const two_pass_device{
    {.name = "two_pass_device",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.other = "not reproducible, up to 2^31 - 1 blocks"},
     .source = "DCU programming tutorial, integral",
     .summary = "the same, added by a second kernel of one block of 64 threads"},
    QUAD_KERNEL_LAUNCH(launch_on_device<false, 64>),
    {.unsupported = plain_grid<kCellsEach * kThreads>}};

extern constinit Variant<Problem> const two_pass_device_vector{
    {.name = "two_pass_device_vector",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.other = "not reproducible, up to 2^31 - 1 blocks"},
     .source = "DCU programming tutorial, integral",
     .summary = "the same with 16-byte loads"},
    QUAD_KERNEL_LAUNCH(launch_on_device<true, 64>),
    {.unsupported = plain_grid<kCellsEach * kThreads>}};

extern constinit Variant<Problem> const two_pass_device_wide{
    {.name = "two_pass_device_wide",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.other = "not reproducible, up to 2^31 - 1 blocks"},
     .source = "own",
     .summary = "the same with 1024 threads for the second kernel"},
    QUAD_KERNEL_LAUNCH(launch_on_device<true, 1024>),
    {.unsupported = plain_grid<kCellsEach * kThreads>}};

}  // namespace quadrille::kernels::integral
