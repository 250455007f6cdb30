// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Element-wise operations whose warps take their elements in another order.
///
///   out[i] = x[i] + y[i];   out[i] = (a x[i] + b) x[i] + c
///
/// Technique    the same elements as `one_element` in other lanes. `permuted_lanes` permutes them within
///              a warp: a request is for the same 128 bytes (f32), and coalesces as before, since only
///              the set of addresses counts. `segments_64` and `segments_32` give a warp segments of 64
///              and 32 bytes that lie in lines of their own: every sector is used whole, but a request
///              is for two or four lines (f32) in place of one
/// Before       one_element
/// Shapes       x, y, out: n contiguous elements; a last block that is not full is not permuted
/// Work         add: n flop, 3 n s bytes; quadratic: 4 n flop, 2 n s bytes
/// Launch       256 threads per block, n / 256 blocks
/// Accuracy     add: 1/2 ulp; quadratic: 2.5 eps (|a| x^2 + |b x| + |c|)
#include "vector/vector_operations.cuh"

namespace quadrille::kernels::vector {
namespace {

constexpr int kThreads = 256;
constexpr int kLanesPermuted = 0;  // in place of the bytes of a segment

#ifdef QUAD_KERNELS

/// The element of a full block that a thread takes.
template <class T, int kSegmentBytes>
__device__ int element_of(int thread) {
  if constexpr (kSegmentBytes == kLanesPermuted) {
    return thread / 32 * 32 + thread * 13 % 32;
  } else {
    constexpr int kElements = kSegmentBytes / static_cast<int>(sizeof(T));
    constexpr int kOfWarp = 32 / kElements, kWarps = kThreads / 32;
    int const segment = thread / kElements;
    return (segment % kOfWarp * kWarps + segment / kOfWarp) * kElements + thread % kElements;
  }
}

template <int kSegmentBytes, class T, class Operator>
__global__ void __launch_bounds__(kThreads)
    vector_permuted_kernel(T const* x, T const* y, T* out, std::int64_t n, Operator operation) {
  std::int64_t const first = std::int64_t{blockIdx.x} * kThreads;
  int const thread = static_cast<int>(threadIdx.x);
  bool const is_full = first + kThreads <= n;
  std::int64_t const i = first + (is_full ? element_of<T, kSegmentBytes>(thread) : thread);
  if (i < n) compute_element(x, y, out, i, operation);
}

template <int kSegmentBytes>
void launch(Problem const& problem, device::StreamView stream) {
  if (problem.n == 0) return;
  unsigned const blocks = blocks_for(problem.n, kThreads);
  with_operation(problem,
                 [&]<class T, class Operator>(T const* x, T const* y, T* out, Operator operation) {
                   QUAD_LAUNCH((vector_permuted_kernel<kSegmentBytes, T, Operator>), dim3(blocks),
                               dim3(kThreads), 0, stream, x, y, out, problem.n, operation);
                 });
}

#endif  // QUAD_KERNELS

constexpr VariantInfo row(std::string_view name, std::string_view summary) {
  return {.name = name,
          .where = Where::cuda,
          .types = {core::DataType::f64, core::DataType::f32},
          .needs = {.max_extent = kMaxBlocks * kThreads},
          .source = "after Boehm 2022",
          .summary = summary};
}

}  // namespace

extern constinit Variant<Problem> const permuted_lanes{
    row("permuted_lanes", "one_element with the lanes of a warp permuted: coalesces the same"),
    QUAD_KERNEL_LAUNCH(launch<kLanesPermuted>)};

extern constinit Variant<Problem> const segments_64{
    row("segments_64", "one_element with segments of 64 bytes, each in a line of its own"),
    QUAD_KERNEL_LAUNCH(launch<64>)};

extern constinit Variant<Problem> const segments_32{
    row("segments_32", "one_element with segments of 32 bytes, each in a line of its own"),
    QUAD_KERNEL_LAUNCH(launch<32>)};

}  // namespace quadrille::kernels::vector
