// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Element-wise operations with every index shifted by one element.
///
///   out[i] = x[i] + y[i];   out[i] = (a x[i] + b) x[i] + c
///
/// Technique    element i + 1 in place of i: each warp's 128 B (f32) start one element after the
///              start of a sector and touch 5 sectors in place of 4 (f64: 9 in place of 8). The
///              neighbour's sector is in the cache most of the time, so memory traffic grows less
/// Before       one_element
/// Shapes       x, y, out: n contiguous elements from the second of allocations of n + 1
/// Work         add: n flop, 3 n s bytes; quadratic: 4 n flop, 2 n s bytes; 5/4 of it (f64: 9/8)
///              from the caches
/// Launch       256 threads per block, n / 256 blocks
/// Accuracy     add: 1/2 ulp; quadratic: 2.5 eps (|a| x^2 + |b x| + |c|)
#include "vector/vector_operations.cuh"

namespace quadrille::kernels::vector {
namespace {

constexpr int kThreads = 256;
constexpr std::uintptr_t kSector = 32;

#ifdef QUAD_KERNELS

/// Arrays of n + 1 elements; the first of each is not touched.
template <class T, class Operator>
__global__ void __launch_bounds__(kThreads)
    vector_misaligned_kernel(T const* x, T const* y, T* out, std::int64_t n, Operator operation) {
  std::int64_t const i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  // changed: one element further on, across sectors
  if (i < n) compute_element(x, y, out, i + 1, operation);
}

void launch(Problem const& problem, device::StreamView stream) {
  if (problem.n == 0) return;
  unsigned const blocks = blocks_for(problem.n, kThreads);
  with_operation(problem, [&]<class T, class Operator>(T const* x, T const* y, T* out,
                                                       Operator operation) {
    QUAD_LAUNCH((vector_misaligned_kernel<T, Operator>), dim3(blocks), dim3(kThreads), 0, stream,
                x - 1, Operator::kReadsY ? y - 1 : nullptr, out - 1, problem.n, operation);
  });
}

#endif  // QUAD_KERNELS

std::string unsupported(Problem const& problem) {
  std::uintptr_t const element = core::size_of(problem.type);
  for (void const* array : {problem.x, problem.operation == Operation::add ? problem.y : problem.x,
                            static_cast<void const*>(problem.out)}) {
    // A problem that only has a size has no addresses yet.
    if (array == nullptr || reinterpret_cast<std::uintptr_t>(array) % kSector == element) continue;
    return "needs x, y and out to start one element after a multiple of 32 bytes (allocate n + 1 "
           "and pass the second)";
  }
  return {};
}

}  // namespace

extern constinit Variant<Problem> const misaligned{
    {.name = "misaligned",
     .where = Where::cuda,
     .types = {core::DataType::f64, core::DataType::f32},
     .needs = {.max_extent = kMaxBlocks * kThreads,
               .other = "x, y, out one element after 32 bytes"},
     .source = "note on Nsight Compute, add2",
     .summary = "one_element shifted by one; 5 sectors per request (f32)"},
    QUAD_KERNEL_LAUNCH(launch),
    {.unsupported = unsupported, .notes = {.shift = 1}}};

}  // namespace quadrille::kernels::vector
