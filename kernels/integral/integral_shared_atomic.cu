// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Integral by an accumulator in shared memory.
///
///   s = amplitude * h * sum f(lower + (i + 1/2) h)   (or Simpson, or Gauss-Legendre, a cell)
///
/// Technique    cells of a block are added to a number in its shared memory, one atomic each;
///              the block adds that to the result. A larger block saves global additions and lets
///              more threads wait for the same shared number: 256 and 1024 threads show both
/// Shapes       cells [first, first + count) of the interval
/// Work         1, 2 or 3 evaluations per cell (midpoint, Simpson, Gauss-Legendre), a shared
///              atomic each, a global one per block
/// Launch       256 or 1024 threads per block, one cell each
/// Accuracy     error_bound(); sums in any order
#include "integral/integral_device.cuh"

namespace quadrille::kernels::integral {
namespace {

#ifdef QUAD_KERNELS

template <unsigned kThreads, class T>
__global__ void __launch_bounds__(kThreads)
    integral_shared_atomic_kernel(Task task, double* result) {
  QUAD_SHARED(double, of_block);
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();  // before any thread adds
  std::int64_t const i = own_index();
  if (i < task.count) {
    atomicAdd(&of_block,
              task.mesh.scale * sum_of_cell<T, Functions::library>(task, task.first + i));
  }
  __syncthreads();  // all have added
  if (threadIdx.x == 0) atomicAdd(result, of_block);
}

template <unsigned kThreads>
void launch(Problem const& problem, device::StreamView stream) {
  clear_result(problem, stream);
  if (problem.count == 0) return;
  visit_type(problem, [&]<class T>() {
    QUAD_LAUNCH((integral_shared_atomic_kernel<kThreads, T>),
                dim3(blocks_for(problem.count, kThreads)), dim3(kThreads), 0, stream,
                task_of(problem), problem.result);
  });
}

#endif  // QUAD_KERNELS

}  // namespace

extern constinit Variant<Problem> const shared_atomic_256{
    {.name = "shared_atomic_256",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.other = "not reproducible, up to 2^31 - 1 blocks"},
     .any_order = true,
     .source = "DCU programming tutorial, integral",
     .summary = "one atomic in shared memory per cell, one global per block"},
    QUAD_KERNEL_LAUNCH(launch<256>),
    {.unsupported = plain_grid<256>}};

extern constinit Variant<Problem> const shared_atomic_1024{
    {.name = "shared_atomic_1024",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.other = "not reproducible, up to 2^31 - 1 blocks"},
     .any_order = true,
     .source = "DCU programming tutorial, integral",
     .summary = "the same with four times fewer global additions"},
    QUAD_KERNEL_LAUNCH(launch<1024>),
    {.unsupported = plain_grid<1024>}};

}  // namespace quadrille::kernels::integral
